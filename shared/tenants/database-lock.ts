import type { Pool, PoolClient } from '../db/pool.ts';

const LOCK = 7_265_016;

/** Lets one process at a time create or drop the database of a tenant; neither can run in a transaction. */
export async function withTenantDatabaseLock<T>(
  pool: Pool,
  tenantID: string,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  return await onConnection(pool, async (client) => {
    await client.query('select pg_advisory_lock($1, hashtext($2))', [LOCK, tenantID]);
    return await thenUnlock(client, tenantID, work);
  });
}

/** Like `withTenantDatabaseLock`; does nothing and answers false while another process has the lock. */
export async function tryTenantDatabaseLock(
  pool: Pool,
  tenantID: string,
  work: () => Promise<unknown>,
): Promise<boolean> {
  return await onConnection(pool, async (client) => {
    const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1, hashtext($2)) as taken', [
      LOCK,
      tenantID,
    ]);
    if (!rows[0]?.taken) return false;
    await thenUnlock(client, tenantID, work);
    return true;
  });
}

async function thenUnlock<T>(
  client: PoolClient,
  tenantID: string,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  try {
    return await work(client);
  } finally {
    await client.query('select pg_advisory_unlock($1, hashtext($2))', [LOCK, tenantID]);
  }
}

/** A connection that could not release the lock is closed, which releases it. */
async function onConnection<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    return await work(client);
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    client.release(failure);
  }
}
