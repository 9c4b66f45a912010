import type { Pool } from '#shared/db/pool.ts';

/** Locks by what may be done once at a time in a deployment. */
const LOCKS = { backup: 7_265_031, restore: 7_265_032 };

/** Throws if another process does the same in this deployment. */
export async function withLock<T>(pool: Pool, what: keyof typeof LOCKS, work: () => Promise<T>): Promise<T> {
  const lock = await pool.connect();
  try {
    const { rows } = await lock.query<{ isFree: boolean }>('select pg_try_advisory_lock($1) as "isFree"', [
      LOCKS[what],
    ]);
    if (!rows[0]?.isFree) throw new Error(`Another ${what} of this deployment is running`);
    return await work();
  } finally {
    // The lock ends with its connection.
    lock.release(true);
  }
}
