import { AppError } from '#shared/errors.ts';
import { unlessAborted } from '#shared/unless-aborted.ts';
import type { PostgresClient } from '../postgresql/session.ts';

/** Runs `work` in a transaction of its own. */
export async function inTenantTransaction<T>(client: PostgresClient, work: () => Promise<T>): Promise<T> {
  await client.query('begin');
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    // Whoever gives the connection back rolls back what this could not.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

/** What each statement may take, whatever the role has set for itself; and nobody keeps a transaction open who says nothing. */
export async function limitStatements(client: PostgresClient, ms: number): Promise<void> {
  await client.query(
    `set statement_timeout = ${Math.round(ms)}; set lock_timeout = 0; set idle_in_transaction_session_timeout = 60000`,
  );
}

/** Beyond the server's own limit, which ends the statement alone and leaves the connection whole. */
const GRACE_MS = 500;

/** For statements that somebody else has written: they may have told the server to forget its limit. */
export async function withinLimit<T>(client: PostgresClient, ms: number, work: () => Promise<T>): Promise<T> {
  const limit = AbortSignal.timeout(Math.round(ms) + GRACE_MS);
  try {
    return await unlessAborted(limit, work());
  } catch (error) {
    if (error !== limit.reason) throw error;
    // That it could not be told to stop changes nothing for whoever waits.
    await client.cancel().catch(() => undefined);
    client.close();
    throw new AppError('UPSTREAM_TIMEOUT', 'It took longer than it may and was cancelled', {
      cause: error,
      retry: false,
    });
  }
}
