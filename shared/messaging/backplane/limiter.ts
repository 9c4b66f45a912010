import { type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import { createBatcher } from '../../concurrency/batcher.ts';
import { AppError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { type Counted, createLocalCount } from './local-count.ts';
import { countLoosely } from './loose-limiter.ts';
import type { Allowance, Limit, Limiter } from './types.ts';

/** Interval between attempts after the store has failed. */
const retryMs = 1000;
const timeoutMs = 2000;
const tickMs = 100;

/**
 * Extends rate-limiter-flexible: concurrent requests count in one call, and an outage of the store is handled. With `countHere`
 * each process then counts locally, and adds its points to the store when that is back.
 */
export function createLimiter(store: RateLimiterAbstract, limit: Limit, logger: Logger): Limiter {
  const exact = createExactLimiter(store, limit, logger);
  return limit.addEveryMs === undefined ? exact : countLoosely(exact, limit, limit.addEveryMs);
}

function createExactLimiter(store: RateLimiterAbstract, limit: Limit, logger: Logger): Limiter {
  const { name, points: maxPoints, seconds, whenAway } = limit;
  const local = createLocalCount(seconds);
  let isAway = false;
  let retryAt = 0;

  /** Runs `work` on the store. Returns whether it succeeded. */
  async function tryStore(work: () => Promise<unknown>): Promise<boolean> {
    if (isAway && performance.now() < retryAt) return false;
    // One attempt at a time; other requests do not wait for its result.
    if (isAway) retryAt = Number.POSITIVE_INFINITY;
    try {
      await withTimeout(work());
      if (isAway) logger.info({ limit: name }, 'rate limit store is back');
      isAway = false;
    } catch (error) {
      if (!isAway) logger.warn({ err: error, limit: name, whenAway }, 'rate limit store does not answer');
      isAway = true;
      retryAt = performance.now() + retryMs;
    }
    return !isAway;
  }

  /** Counts in the store, together with the points that were counted locally while the store was away. */
  async function countInStore(key: string, points: number): Promise<[string, Counted]> {
    const owed = local.takeOwed(key);
    try {
      const counted = await store.consume(key, points + owed).catch(asCounted);
      local.learn(key, counted);
      return [key, counted];
    } catch (error) {
      local.owe(key, owed);
      throw error;
    }
  }

  async function countBatch(sums: ReadonlyMap<string, number>): Promise<Map<string, Counted> | undefined> {
    const counted = new Map<string, Counted>();
    const count = async () => {
      const all = await Promise.all([...sums].map(([key, sum]) => countInStore(key, sum)));
      for (const [key, result] of all) counted.set(key, result);
    };
    if (isAway && whenAway === 'countHere') {
      const here = countHere(sums);
      // The request does not wait for a store that is away; this attempt adds the points owed to it.
      void tryStore(() => Promise.all([...sums.keys()].map((key) => countInStore(key, 0))));
      return here;
    }
    if (await tryStore(count)) return counted;
    return whenAway === 'countHere' ? countHere(sums) : undefined;
  }

  function countHere(sums: ReadonlyMap<string, number>): Map<string, Counted> {
    return new Map([...sums].map(([key, sum]) => [key, local.add(key, sum)]));
  }

  const count = createBatcher(async (takes: Take[]) => {
    const sums = new Map<string, number>();
    // For each take, the sum of its points and those of earlier takes with the same key.
    const sumsSoFar = takes.map(({ key, points }) => {
      const sum = (sums.get(key) ?? 0) + points;
      sums.set(key, sum);
      return sum;
    });
    const counted = await countBatch(sums);
    return takes.map(({ key }, index) => {
      const result = counted?.get(key);
      const later = (sums.get(key) ?? 0) - (sumsSoFar[index] ?? 0);
      return result && allowanceOf(result, maxPoints, later);
    });
  });

  return {
    async consume(key, points = 1) {
      const answer = await count({ key, points });
      if (answer) return answer;
      throw new AppError('UNAVAILABLE', 'The service is temporarily unavailable', { retryAfter: 2 });
    },
    async reset(key) {
      local.forget(key);
      await tryStore(() => store.delete(key));
    },
    async close() {},
  };
}

interface Take {
  key: string;
  points: number;
}

/** The library throws its count when the limit is exceeded, and an error when it could not count. */
function asCounted(thrown: unknown): RateLimiterRes {
  if (thrown instanceof RateLimiterRes) return thrown;
  throw thrown;
}

/** `later`: points that takes after this one consumed in the same call. */
function allowanceOf({ consumedPoints, msBeforeNext }: Counted, limit: number, later: number): Allowance {
  const consumed = consumedPoints - later;
  return {
    allowed: consumed <= limit,
    limit,
    remaining: Math.max(limit - consumed, 0),
    resetSeconds: Math.max(Math.ceil(msBeforeNext / 1000), 0),
  };
}

/**
 * Rejects after two seconds without an answer. The time is counted in ticks of this process: a process too busy to tick is also
 * too busy to read an answer, which the store may have given long ago.
 */
async function withTimeout(work: Promise<unknown>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  let waitedMs = 0;
  const timer = setInterval(() => {
    waitedMs += tickMs;
    if (waitedMs >= timeoutMs) reject(new Error(`no answer within ${timeoutMs} ms`));
  }, tickMs);
  // The loser of the race must not end the process.
  work.catch(() => undefined);
  await Promise.race([work, promise]).finally(() => clearInterval(timer));
}
