import type { Pool, PoolClient } from './pool.ts';

const LOCK = 7_265_016;

/** One process at a time makes or drops the database of a tenant; neither can be done in a transaction. */
export async function withTenantDatabaseLock<T>(
  pool: Pool,
  tenantID: string,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  // A connection that cannot give the lock back is closed, which gives it back.
  let broken: Error | undefined = new Error('the lock is not given back');
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
