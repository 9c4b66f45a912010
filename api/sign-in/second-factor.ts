import { hash, randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import type { KeyRing } from '#shared/core/key-ring.ts';
import { inTransaction, type Pool, type PoolClient } from '#shared/db/pool.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import type { Account } from './accounts.ts';

const PERIOD_SECONDS = 30;
const RECOVERY_CODES = 10;

/** The address that an app for codes reads, as text or from a QR code. */
export function totpAddress(email: string, secret: string): string {
  return totpOf(secret, email).toString();
}

export function newTOTPSecret(): string {
  return new Secret({ size: 20 }).base32;
}

/** The step of a code that is valid now, one step ago or one step ahead; undefined for a wrong code. */
export function stepOf(secret: string, code: string): number | undefined {
  const delta = totpOf(secret).validate({ token: code, window: 1 });
  return delta === null ? undefined : Math.floor(Date.now() / 1_000 / PERIOD_SECONDS) + delta;
}

function totpOf(secret: string, label = ''): TOTP {
  return new TOTP({ issuer: 'Gantry', label, secret: Secret.fromBase32(secret), period: PERIOD_SECONDS });
}

/** So many wrong codes in a row, and codes open nothing until a new password or another app: six digits can be guessed. */
export const MAX_WRONG_CODES = 100;

/** Counts a code before it is checked; undefined if there were too many wrong ones before. */
export async function countCode(pool: Pool, accountID: string): Promise<number | undefined> {
  const { rows } = await pool.query<{ count: number }>(
    `update sign_in_account set wrong_codes = wrong_codes + 1 where id = $1 and wrong_codes < $2
     returning wrong_codes as count`,
    [accountID, MAX_WRONG_CODES],
  );
  return rows[0]?.count;
}

/** Accepts a code once: its step must be later than that of the last one. */
export async function useTOTP(
  pool: Pool,
  { account, code, secrets }: { account: Account; code: string; secrets: KeyRing },
): Promise<boolean> {
  if (account.totpSecret === null || account.totpStep === null) return false;
  const context = sealedColumns.totpSecret.context(account.accountID);
  const step = stepOf(secrets.open(account.totpSecret, context, 'The second factor'), code);
  if (step === undefined) return false;
  const { rowCount } = await pool.query(
    'update sign_in_account set totp_step = $2, wrong_codes = 0 where id = $1 and totp_step < $2 and totp_secret = $3',
    [account.accountID, step, account.totpSecret],
  );
  return rowCount === 1;
}

/** Stores a secret that the user has confirmed with a code, which counts as used. */
export async function saveTOTP(
  client: PoolClient,
  { accountID, secret, step, secrets }: { accountID: string; secret: string; step: number; secrets: KeyRing },
): Promise<void> {
  const sealed = secrets.seal(secret, sealedColumns.totpSecret.context(accountID));
  await client.query(
    'update sign_in_account set totp_secret = $2, totp_step = $3, wrong_codes = 0, updated_at = now() where id = $1',
    [accountID, sealed, step],
  );
}

export async function removeTOTP(client: PoolClient, accountID: string): Promise<void> {
  await client.query(
    'update sign_in_account set totp_secret = null, totp_step = null, wrong_codes = 0, updated_at = now() where id = $1',
    [accountID],
  );
  await dropUnneededCodes(client, accountID);
}

/** Recovery codes stand in for a second factor; without one they would open nothing. */
export async function dropUnneededCodes(client: PoolClient, accountID: string): Promise<void> {
  await client.query(
    `delete from sign_in_recovery_code where account_id = $1
     and not exists (select from sign_in_passkey where account_id = $1)
     and not exists (select from sign_in_account where id = $1 and totp_step is not null)`,
    [accountID],
  );
}

/** Replaces all recovery codes. They are shown once. */
export async function makeRecoveryCodes(client: PoolClient, accountID: string): Promise<string[]> {
  const codes = Array.from({ length: RECOVERY_CODES }, () =>
    (randomBytes(10).toString('hex').match(/.{5}/g) ?? []).join('-'),
  );
  await client.query('delete from sign_in_recovery_code where account_id = $1', [accountID]);
  await client.query('insert into sign_in_recovery_code (account_id, code_hash) select $1, unnest($2::bytea[])', [
    accountID,
    codes.map(hashOf),
  ]);
  return codes;
}

/** Accepts a recovery code once. */
export async function useRecoveryCode(pool: Pool, accountID: string, code: string): Promise<boolean> {
  const { rowCount } = await pool.query('delete from sign_in_recovery_code where account_id = $1 and code_hash = $2', [
    accountID,
    hashOf(code),
  ]);
  return rowCount === 1;
}

export async function countRecoveryCodes(pool: Pool, accountID: string): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    'select count(*)::int as count from sign_in_recovery_code where account_id = $1',
    [accountID],
  );
  return rows[0]?.count ?? 0;
}

/** Removes every second factor: for an owner who has lost them all, by an operator's command. */
export async function removeSecondFactors(pool: Pool, accountID: string): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query('delete from sign_in_passkey where account_id = $1', [accountID]);
    await removeTOTP(client, accountID);
  });
}

/** 80 random bits need no slow hash. Spaces and dashes are as people write them. */
function hashOf(code: string): Buffer {
  return hash('sha256', code.toLowerCase().replace(/[^0-9a-f]/g, ''), 'buffer');
}
