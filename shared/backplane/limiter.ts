import { type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import { batched } from '../batched.ts';
import { AppError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { type Counted, createLocalCount } from './local-count.ts';
import type { Allowance, Limit, Limiter } from './types.ts';

/** A store that has failed is asked again this often. */
const restMs = 1000;
const silenceMs = 2000;
const tickMs = 100;

/**
 * The library counts; ours is that requests of one moment count together, and what happens while the store is away: each
 * process then counts for itself, and tells the store when it is back.
 */
export function createLimiter(store: RateLimiterAbstract, limit: Limit, logger: Logger): Limiter {
  const { name, points: maxPoints, seconds, whenAway } = limit;
  const local = createLocalCount(seconds);
  let isAway = false;
  let askAgainAt = 0;

  /** Whether the store has done it. */
  async function ask(work: () => Promise<unknown>): Promise<boolean> {
    if (isAway && performance.now() < askAgainAt) return false;
    // Whoever comes meanwhile need not find out too.
    if (isAway) askAgainAt = Number.POSITIVE_INFINITY;
    try {
      await answered(work());
      if (isAway) logger.info({ limit: name }, 'the limit counts again');
      isAway = false;
    } catch (error) {
      if (!isAway) logger.warn({ err: error, limit: name, whenAway }, 'the store of a limit does not answer');
      isAway = true;
      askAgainAt = performance.now() + restMs;
    }
    return !isAway;
  }

  /** With what passed here while the store was away. */
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

  async function countTogether(sums: ReadonlyMap<string, number>): Promise<Map<string, Counted> | undefined> {
    const counted = new Map<string, Counted>();
    const count = async () => {
      const all = await Promise.all([...sums].map(([key, sum]) => countInStore(key, sum)));
      for (const [key, result] of all) counted.set(key, result);
    };
    if (isAway && whenAway === 'countHere') {
      const here = countHere(sums);
      // Nobody waits for a store that is away: what is owed is what it is asked with.
      void ask(() => Promise.all([...sums.keys()].map((key) => countInStore(key, 0))));
      return here;
    }
    if (await ask(count)) return counted;
    return whenAway === 'countHere' ? countHere(sums) : undefined;
  }

  function countHere(sums: ReadonlyMap<string, number>): Map<string, Counted> {
    return new Map([...sums].map(([key, sum]) => [key, local.add(key, sum)]));
  }

  const count = batched(async (takes: Take[]) => {
    const sums = new Map<string, number>();
    // What each adds up to, with those of its key before it.
    const upTo = takes.map(({ key, points }) => {
      const sum = (sums.get(key) ?? 0) + points;
      sums.set(key, sum);
      return sum;
    });
    const counted = await countTogether(sums);
    return takes.map(({ key }, index) => {
      const result = counted?.get(key);
      const later = (sums.get(key) ?? 0) - (upTo[index] ?? 0);
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
      await ask(() => store.delete(key));
    },
  };
}

interface Take {
  key: string;
  points: number;
}

/** The library throws what it has counted when it is too much, and errors when it could not count. */
function asCounted(thrown: unknown): RateLimiterRes {
  if (thrown instanceof RateLimiterRes) return thrown;
  throw thrown;
}

/** `later`: what others took in the same call, behind this one. */
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
 * Rejects after two seconds of silence. They are counted in ticks of this process: while it is too busy to tick it is too busy
 * to listen as well, and the store may have answered long ago.
 */
async function answered(work: Promise<unknown>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  let silence = 0;
  const timer = setInterval(() => {
    silence += tickMs;
    if (silence >= silenceMs) reject(new Error(`no answer within ${silenceMs} ms`));
  }, tickMs);
  // The loser of the race must not end the process.
  work.catch(() => undefined);
  await Promise.race([work, promise]).finally(() => clearInterval(timer));
}
