import { AppError } from '#shared/core/errors.ts';
import type { PostgresConnection } from '../connections/postgresql/connection.ts';
import { unlessAborted } from '../outbound/unless-aborted.ts';

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

/** Sets timeouts for statements and idle transactions, which replace the role's own settings. */
export async function setStatementTimeout(connection: PostgresConnection, timeoutMs: number): Promise<void> {
  await connection.query(
    `set statement_timeout = ${Math.round(timeoutMs)}; set lock_timeout = 0; set idle_in_transaction_session_timeout = 60000`,
  );
}

/** Time after the server's own timeout, which ends only the statement and keeps the connection usable. */
const GRACE_MS = 500;

/** Cancels statements of a client that exceed the time limit; their SQL may have switched off the server's own timeout. */
export async function withStatementTimeout<T>(
  connection: PostgresConnection,
  timeoutMs: number,
  work: () => Promise<T>,
): Promise<T> {
  const timeout = AbortSignal.timeout(Math.round(timeoutMs) + GRACE_MS);
  try {
    return await unlessAborted(timeout, work());
  } catch (error) {
    if (error !== timeout.reason) throw error;
    // A failed cancel changes nothing for the caller.
    await connection.cancel().catch(() => undefined);
    connection.close();
    throw new AppError(
      'UPSTREAM_TIMEOUT',
      `Execution took longer than the limit of ${timeoutMs / 1000} s and was cancelled`,
      {
        cause: error,
        retry: false,
      },
    );
  }
}
