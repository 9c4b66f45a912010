import type { Pool, PoolClient } from './pool.ts';

const LOCK = 7_265_016;

/** Lets one process at a time create or drop the database of a tenant; neither can run in a transaction. */
export async function withTenantDatabaseLock<T>(
  pool: Pool,
  tenantID: string,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  // A connection that cannot release the lock is closed, which releases it.
  let broken: Error | undefined = new Error('the lock was not released');
  try {
    await client.query('select pg_advisory_lock($1, hashtext($2))', [LOCK, tenantID]);
    try {
      return await work(client);
    } finally {
      await client.query('select pg_advisory_unlock($1, hashtext($2))', [LOCK, tenantID]);
      broken = undefined;
    }
  } finally {
    client.release(broken);
  }
}
