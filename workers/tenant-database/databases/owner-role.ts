import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { AppError } from '#shared/core/errors.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import { inTransaction, type Pool, type PoolClient } from '#shared/db/pool.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import { quoteLiteral, quoteName } from '../quote.ts';
import type { TenantServers } from '../servers/servers.ts';

/** The role that requests get in place of the owner while the database is over its quota. */
export function roleWhenFull(roleName: string): string {
  return `${roleName}_full`;
}

export function newPassword(): string {
  return randomBytes(24).toString('base64url');
}

/** A database that Gantry has created for a tenant. */
export interface OwnDatabase {
  id: string;
  server: string;
  databaseName: string;
  roleName: string;
  password: string;
}

/** The columns of `tenant_database` for it. */
export interface OwnDatabaseRow {
  id: string;
  server: string;
  database_name: string;
  role_name: string;
  /** Sealed. */
  password: string;
}

interface Needs {
  pool: Pool;
  secrets: KeyRing;
  servers: Pick<TenantServers, 'get'>;
}

/** The database of a row, with the password of its owner in clear text. */
export async function openDatabase(row: OwnDatabaseRow, needs: Needs): Promise<OwnDatabase> {
  const { id, server, database_name: databaseName, role_name: roleName } = row;
  return { id, server, databaseName, roleName, password: await openPassword(row, needs) };
}

/**
 * Opens the password of the owner of a database. One that was sealed with a key that is not here is replaced: the deployment's role may
 * give the owner another. Refused while the database is moved to another server.
 */
async function openPassword(row: OwnDatabaseRow, needs: Needs): Promise<string> {
  const context = sealedColumns.tenantDatabasePassword.context(row.id);
  return needs.secrets.tryOpen(row.password, context) ?? (await replacePassword(row, context, needs));
}

/** Another process may have replaced it meanwhile. If this is interrupted before the commit, the next use replaces it again. */
async function replacePassword(
  { id, server, role_name: owner }: OwnDatabaseRow,
  context: string,
  { pool, secrets, servers }: Needs,
): Promise<string> {
  const password = newPassword();
  const sealed = secrets.seal(password, context);
  const verifier = quoteLiteral(await scramVerifier(password));
  return await inTransaction(pool, async (client) => {
    const replaced = secrets.tryOpen(await lockRow(client, id), context);
    if (replaced !== undefined) return replaced;
    const { admin } = servers.get(server);
    const roles = await admin.query<{ name: string }>('select rolname as name from pg_roles where rolname = any($1)', [
      [owner, roleWhenFull(owner)],
    ]);
    for (const { name } of roles.rows) await admin.query(`alter role ${quoteName(name)} password ${verifier}`);
    await client.query('update tenant_database set password = $2 where id = $1', [id, sealed]);
    return password;
  });
}

/**
 * Locks the row of a database, so that no move of it begins before the commit, and returns the sealed password. Refused while it is moved
 * to another server.
 */
export async function lockRow(client: PoolClient, id: string): Promise<string> {
  const { rows } = await client.query<{ password: string; moving: boolean }>(LOCK, [id]);
  const [row] = rows;
  if (!row || row.moving) throw beingMoved();
  return row.password;
}

const LOCK = `
select password, coalesce(moving_until > clock_timestamp(), false) as moving from tenant_database where id = $1 for update`;

export function beingMoved(): AppError {
  return new AppError('UNAVAILABLE', "The tenant's database is being moved to another server; nothing was done", {
    retryAfter: 10,
    details: { begun: false },
  });
}

const derive = promisify(pbkdf2);
const ITERATIONS = 4096;

/** Computes what Postgres stores for a password (SCRAM-SHA-256, RFC 5803). */
export async function scramVerifier(password: string): Promise<string> {
  const salt = randomBytes(16);
  const salted = await derive(password, salt, ITERATIONS, 32, 'sha256');
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(keyed('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${keyed('Server Key').toString('base64')}`;
}
