import { newID } from '#shared/core/ids.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { OperatorAction } from '#shared/entities/tables/operator-audit.ts';

/** An account, as a login reads it. */
export interface Account {
  operatorID: string;
  email: string;
  operatorTitle: string | null;
  passwordHash: string;
  passwordVersion: number;
  isDisabled: boolean;
  /** Whether this account was signed in to from this network in the last 90 days. */
  isKnownHere: boolean;
}

export async function findAccount(pool: Pool, email: string, network: string): Promise<Account | undefined> {
  const { rows } = await pool.query<Account>(ACCOUNT, [email, network]);
  return rows[0];
}

export interface NewSession {
  operatorID: string;
  passwordVersion: number;
  tokenHash: Buffer;
  ipAddress: string;
  network: string;
  userAgent: string | null;
  hours: number;
}

export interface OpenedSession {
  sessionID: string;
  expiresAt: Date;
}

/** Undefined when the password has been reset or the operator disabled since they were read. */
export async function openSession(pool: Pool, session: NewSession): Promise<OpenedSession | undefined> {
  const { operatorID, passwordVersion, tokenHash, ipAddress, network, userAgent, hours } = session;
  const { rows } = await pool.query<OpenedSession>(OPEN_SESSION, [
    newID(),
    operatorID,
    passwordVersion,
    tokenHash,
    ipAddress,
    network,
    userAgent,
    hours,
  ]);
  return rows[0];
}

export interface SessionStatus {
  sessionID: string;
  operatorID: string;
  email: string;
  operatorTitle: string | null;
  isExpired: boolean;
}

/** Finds a session that is not revoked, of an operator who is not disabled. */
export async function findSession(pool: Pool, tokenHash: Buffer): Promise<SessionStatus | undefined> {
  const { rows } = await pool.query<SessionStatus>(SESSION, [tokenHash]);
  return rows[0];
}

export async function revokeSession(pool: Pool, sessionID: string): Promise<void> {
  await pool.query('update operator_session set revoked_at = now() where id = $1 and revoked_at is null', [sessionID]);
}

/** Stores the same password hashed anew, unless it has been changed meanwhile. */
export async function saveRehashed(pool: Pool, account: Account, passwordHash: string): Promise<void> {
  await pool.query('update operator set password_hash = $3 where id = $1 and password_version = $2', [
    account.operatorID,
    account.passwordVersion,
    passwordHash,
  ]);
}

export interface OperatorEntry {
  operatorID: string | null;
  sessionID: string | null;
  action: OperatorAction;
  method: string;
  path: string;
  status: number | null;
  ipAddress: string;
  userAgent: string | null;
}

/** Answers with the entry's id. */
export async function writeOperatorEntry(pool: Pool, entry: OperatorEntry): Promise<string> {
  const id = newID();
  const { operatorID, sessionID, action, method, path, status, ipAddress, userAgent } = entry;
  await pool.query(ENTRY, [id, operatorID, sessionID, action, method, path, status, ipAddress, userAgent]);
  return id;
}

export async function saveOutcome(pool: Pool, entryID: string, status: number): Promise<void> {
  await pool.query('update operator_audit set status = $2 where id = $1', [entryID, status]);
}

const ACCOUNT = `
select o.id as "operatorID", o.email, o.operator_title as "operatorTitle", o.password_hash as "passwordHash",
       o.password_version as "passwordVersion", o.is_disabled as "isDisabled",
       exists (select from operator_session s
               where s.operator_id = o.id and s.network = $2 and s.created_at > now() - interval '90 days') as "isKnownHere"
from operator o where o.email = $1`;

// The lock waits for a reset that is under way; a reset that comes later waits for us and then finds this session to revoke.
const OPEN_SESSION = `
with account as (
  select id from operator where id = $2 and password_version = $3 and not is_disabled for share
)
insert into operator_session (id, operator_id, token_hash, ip_address, network, user_agent, expires_at)
select $1, account.id, $4, $5, $6, $7, now() + make_interval(hours => $8) from account
returning id as "sessionID", expires_at as "expiresAt"`;

const SESSION = `
select s.id as "sessionID", o.id as "operatorID", o.email, o.operator_title as "operatorTitle",
       s.expires_at <= now() as "isExpired"
from operator_session s join operator o on o.id = s.operator_id and not o.is_disabled
where s.token_hash = $1 and s.revoked_at is null`;

const ENTRY = `
insert into operator_audit (id, operator_id, session_id, action, method, path, status, ip_address, user_agent)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`;
