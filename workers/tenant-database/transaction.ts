import { AppError } from '#shared/errors.ts';
import { unlessAborted } from '../outbound/unless-aborted.ts';
import type { PostgresConnection } from '../postgresql/connection.ts';

/** Runs `work` in a transaction of its own. */
export async function inTenantTransaction<T>(connection: PostgresConnection, work: () => Promise<T>): Promise<T> {
  await connection.query('begin');
  try {
    const result = await work();
    await connection.query('commit');
    return result;
  } catch (error) {
    // If this fails, the reset of the connection rolls back.
    await connection.query('rollback').catch(() => undefined);
    throw error;
  }
}

/** Sets time limits for statements and idle transactions, in the place of the role's own settings. */
export async function limitStatements(connection: PostgresConnection, ms: number): Promise<void> {
  await connection.query(
    `set statement_timeout = ${Math.round(ms)}; set lock_timeout = 0; set idle_in_transaction_session_timeout = 60000`,
  );
}

/** Time after the server's own limit, which ends only the statement and keeps the connection usable. */
const GRACE_MS = 500;

/** Limits the time of a client's statements, which may have changed the server's limit. */
export async function withinLimit<T>(connection: PostgresConnection, ms: number, work: () => Promise<T>): Promise<T> {
  const limit = AbortSignal.timeout(Math.round(ms) + GRACE_MS);
  try {
    return await unlessAborted(limit, work());
  } catch (error) {
    if (error !== limit.reason) throw error;
    // A failed cancel changes nothing for the caller.
    await connection.cancel().catch(() => undefined);
    connection.close();
    throw new AppError('UPSTREAM_TIMEOUT', `Execution took longer than the limit of ${ms / 1000} s and was cancelled`, {
      cause: error,
      retry: false,
    });
  }
}
