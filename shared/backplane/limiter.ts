import { type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import { AppError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Allowance, Limit, Limiter } from './types.ts';

/** A store that has failed is left alone for so long: requests neither wait for it nor pile up before it. */
const restMs = 1000;
/** Nobody's request hangs on a limit; a login would rather wait a little than be refused. */
const patienceMs = { allow: 250, refuse: 2000 };

/** The library counts; what is ours is what happens when its store is away. */
export function createLimiter(store: RateLimiterAbstract, limit: Limit, logger: Logger): Limiter {
  const { name, points: most, whenAway } = limit;
  let awayUntil = 0;
  let isAway = false;

  async function ask<T>(work: () => Promise<T>): Promise<T | typeof away> {
    if (performance.now() < awayUntil) return away;
    try {
      const answer = await within(patienceMs[whenAway], work());
      if (isAway) logger.info({ limit: name }, 'the limit counts again');
      isAway = false;
      return answer;
    } catch (error) {
      if (!isAway) logger.warn({ err: error, limit: name, whenAway }, 'the store of a limit does not answer');
      isAway = true;
      awayUntil = performance.now() + restMs;
      return away;
    }
  }

  return {
    async consume(key, points = 1) {
      const answer = await ask(() => store.consume(key, points).catch(asCounted));
      if (answer !== away) return allowanceOf(answer, most);
      if (whenAway === 'allow') return { allowed: true, limit: most, remaining: most, resetSeconds: 0 };
      throw new AppError('UNAVAILABLE', 'The service is temporarily unavailable', { retryAfter: 2 });
    },
    async reset(key) {
      await ask(() => store.delete(key));
    },
  };
}

const away = Symbol('away');

/** The library throws what it has counted when it is too much, and errors when it could not count. */
function asCounted(thrown: unknown): RateLimiterRes {
  if (thrown instanceof RateLimiterRes) return thrown;
  throw thrown;
}

function allowanceOf({ consumedPoints, msBeforeNext }: RateLimiterRes, limit: number): Allowance {
  return {
    allowed: consumedPoints <= limit,
    limit,
    remaining: Math.max(limit - consumedPoints, 0),
    resetSeconds: Math.max(Math.ceil(msBeforeNext / 1000), 0),
  };
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  // The loser of the race must not end the process.
  work.catch(() => undefined);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}
