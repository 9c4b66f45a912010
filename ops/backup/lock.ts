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
    try {
      return await work();
    } finally {
      // A server notices the end of a connection, which ends its locks too, only some time after us.
      await lock.query('select pg_advisory_unlock($1)', [LOCKS[what]]).catch(() => undefined);
    }
  } finally {
    lock.release(true);
  }
}
