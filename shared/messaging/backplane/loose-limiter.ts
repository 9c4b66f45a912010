import { createLocalCount } from './local-count.ts';
import type { Limit, Limiter } from './types.ts';

/**
 * Counts in this process, and adds the points to the shared count once every `addEveryMs`, so that no request waits for the store. Several
 * processes together may allow more than the limit, by what they count in that time.
 */
export function countLoosely(exact: Limiter, { points: limit, seconds }: Limit, addEveryMs: number): Limiter {
  const local = createLocalCount(seconds);
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let adding: Promise<unknown> = Promise.resolve();

  async function addOne(key: string): Promise<void> {
    const owed = local.takeOwed(key);
    try {
      const { allowed, remaining, resetSeconds } = await exact.consume(key, owed);
      // Above the limit the exact number does not matter.
      const consumedPoints = allowed ? limit - remaining : limit + 1;
      local.learn(key, { consumedPoints, msBeforeNext: resetSeconds * 1_000 });
    } catch {
      local.owe(key, owed);
    }
  }

  function addAll(): void {
    clearTimeout(timer);
    timer = undefined;
    const keys = [...changed];
    changed.clear();
    adding = Promise.all([adding, ...keys.map(addOne)]);
  }

  return {
    async consume(key, points = 1) {
      changed.add(key);
      timer ??= setTimeout(addAll, addEveryMs).unref();
      const { consumedPoints, msBeforeNext } = local.add(key, points);
      return {
        allowed: consumedPoints <= limit,
        limit,
        remaining: Math.max(limit - consumedPoints, 0),
        resetSeconds: Math.max(Math.ceil(msBeforeNext / 1_000), 0),
      };
    },
    async reset(key) {
      local.forget(key);
      await exact.reset(key);
    },
    async close() {
      addAll();
      await adding;
    },
  };
}
