import { AppError } from '#shared/errors.ts';
import { unlessAborted } from '#shared/unless-aborted.ts';
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

/** What each statement may take, whatever the role has set for itself; and nobody keeps a transaction open who says nothing. */
export async function limitStatements(connection: PostgresConnection, ms: number): Promise<void> {
  await connection.query(
    `set statement_timeout = ${Math.round(ms)}; set lock_timeout = 0; set idle_in_transaction_session_timeout = 60000`,
  );
}

/** Beyond the server's own limit, which ends the statement alone and leaves the connection whole. */
const GRACE_MS = 500;

/** For statements that somebody else has written: they may have told the server to forget its limit. */
export async function withinLimit<T>(connection: PostgresConnection, ms: number, work: () => Promise<T>): Promise<T> {
  const limit = AbortSignal.timeout(Math.round(ms) + GRACE_MS);
  try {
    return await unlessAborted(limit, work());
  } catch (error) {
    if (error !== limit.reason) throw error;
    // That it could not be told to stop changes nothing for whoever waits.
    await connection.cancel().catch(() => undefined);
    connection.close();
    throw new AppError('UPSTREAM_TIMEOUT', 'It took longer than it may and was cancelled', {
      cause: error,
      retry: false,
    });
  }
}
