import type { Pool } from '#shared/db/pool.ts';

const MAX_AGE_MS = 10_000;
const counts = new WeakMap<Pool, { at: number; count: Promise<number> }>();

/** Counted once in ten seconds: anyone may ask. */
export function activeListeners(pool: Pool): Promise<number> {
  const known = counts.get(pool);
  if (known && performance.now() - known.at < MAX_AGE_MS) return known.count;
  const count = pool
    .query<{ n: number }>(`select count(*)::int as n from listener where status = 'active'`)
    .then(({ rows }) => rows[0]?.n ?? 0);
  counts.set(pool, { at: performance.now(), count });
  count.catch(() => counts.delete(pool));
  return count;
}
