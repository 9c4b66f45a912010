import { newID } from '#shared/core/ids.ts';
import { inTransaction, type Pool, type PoolClient } from '#shared/db/pool.ts';

/** Users of the built-in sign-in are stored under this name, since its address may change. */
export const STORED_AS = 'gantry:accounts';

/** An account, as a sign-in reads it. */
export interface Account {
  accountID: string;
  email: string;
  /** Null: invited, and the invitation is not accepted yet. */
  passwordHash: string | null;
  /** Seconds since 1970. A sign-in of an earlier time has ended. */
  validAfter: number;
  /** Sealed. */
  totpSecret: string | null;
  /** Step of the last code that was accepted; null: the secret was never confirmed. */
  totpStep: number | null;
  isDisabled: boolean;
  hasPasskeys: boolean;
}

const COLUMNS = `
a.id as "accountID", a.email, a.password_hash as "passwordHash", a.valid_after::float8 as "validAfter",
a.totp_secret as "totpSecret", a.totp_step::float8 as "totpStep", a.is_disabled as "isDisabled",
exists (select from sign_in_passkey p where p.account_id = a.id) as "hasPasskeys"`;

/** `isKnownHere`: whether this account was signed in to from this network in the last 90 days. */
export async function findByEmail(
  pool: Pool,
  email: string,
  network: string,
): Promise<(Account & { isKnownHere: boolean }) | undefined> {
  const { rows } = await pool.query<Account & { isKnownHere: boolean }>(
    `select ${COLUMNS},
       exists (select from sign_in_audit s where s.account_id = a.id and s.network = $2 and s.action = 'SIGNED_IN'
                 and s.created_at > now() - interval '90 days') as "isKnownHere"
     from sign_in_account a where a.email = $1`,
    [email, network],
  );
  return rows[0];
}

export async function findAccount(pool: Pool, accountID: string): Promise<Account | undefined> {
  const { rows } = await pool.query<Account>(`select ${COLUMNS} from sign_in_account a where a.id = $1`, [accountID]);
  return rows[0];
}

/** Answers with the id of the account of this address, which is made if there is none. */
export async function ensureAccount(pool: Pool | PoolClient, email: string): Promise<string> {
  // The update without effect returns the row of an account that was there.
  const { rows } = await pool.query<{ id: string }>(
    `insert into sign_in_account (id, email) values ($1, $2)
     on conflict (email) do update set email = excluded.email returning id`,
    [newID(), email],
  );
  const [account] = rows;
  if (!account) throw new Error('An upsert returns its row');
  return account.id;
}

/**
 * Sets a password and ends every sign-in, but for the session that is named. A sign-in that is under way has read the row before,
 * and is then too old.
 */
export async function setPassword(
  client: PoolClient,
  { accountID, passwordHash, except }: { accountID: string; passwordHash: string; except?: string },
): Promise<void> {
  // Who has guessed at codes knew the password before.
  await client.query(
    'update sign_in_account set password_hash = $2, wrong_codes = 0, updated_at = now() where id = $1',
    [accountID, passwordHash],
  );
  await client.query('delete from sign_in_link where account_id = $1', [accountID]);
  await endSignIns(client, accountID, except);
}

/**
 * Ends every session of an account, its codes and tokens, and the sign-ins under way; `except`: the uid of the session that stays,
 * whose user has just given the password.
 */
export async function endSignIns(client: PoolClient, accountID: string, except?: string): Promise<void> {
  await client.query(
    'update sign_in_account set valid_after = extract(epoch from now())::bigint + 1, updated_at = now() where id = $1',
    [accountID],
  );
  await client.query(
    `delete from sign_in_record
     where account_id = $1 and ($2::text is null or (coalesce(session_uid, uid) is distinct from $2 and (kind <> 'Grant' or resource is not null)))`,
    [accountID, except ?? null],
  );
  if (except !== undefined) await client.query(SIGN_IN_ANEW, [accountID, except]);
}

/** The times at which a session and its tokens say that the password was given. Text of a client within has its quotes escaped. */
const SIGN_IN_ANEW = `
update sign_in_record r set payload = regexp_replace(payload, '"(loginTs|authTime)":\\d+', '"\\1":' || a.valid_after, 'g')
from sign_in_account a
where a.id = $1 and r.account_id = a.id and coalesce(r.session_uid, r.uid) = $2`;

/** Stores the same password hashed anew, unless it has been changed meanwhile. */
export async function saveRehashed(pool: Pool, account: Account, passwordHash: string): Promise<void> {
  await pool.query('update sign_in_account set password_hash = $3 where id = $1 and password_hash = $2', [
    account.accountID,
    account.passwordHash,
    passwordHash,
  ]);
}

/** Disabled, an account has no sign-in any more and gets no new one. */
export async function setDisabled(pool: Pool, accountID: string, isDisabled: boolean): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query('update sign_in_account set is_disabled = $2, updated_at = now() where id = $1', [
      accountID,
      isDisabled,
    ]);
    if (isDisabled) await endSignIns(client, accountID);
  });
}
