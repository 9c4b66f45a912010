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
