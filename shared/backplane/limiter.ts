import { type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import { batched } from '../batched.ts';
import { AppError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Allowance, Limit, Limiter } from './types.ts';

/** A store that has failed is left alone for so long: requests neither wait for it nor pile up before it. */
const restMs = 1000;
/** Nobody's request hangs on a limit; a login would rather wait a little than be refused. */
const patienceMs = { allow: 250, refuse: 2000 };

/** The library counts; ours is that requests of one moment count together, and what happens when the store is away. */
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

  const count = batched(async (takes: Take[]) => {
    const sums = new Map<string, number>();
    // What each adds up to, with those of its key before it.
    const upTo = takes.map(({ key, points }) => {
      const sum = (sums.get(key) ?? 0) + points;
      sums.set(key, sum);
      return sum;
    });
    const counted = await ask(async () => {
      const all = [...sums].map(async ([key, sum]) => [key, await store.consume(key, sum).catch(asCounted)] as const);
      return new Map(await Promise.all(all));
    });
    return takes.map(({ key }, index) => {
      const result = counted === away ? undefined : counted.get(key);
      if (!result) return away;
      const later = (sums.get(key) ?? 0) - (upTo[index] ?? 0);
      return allowanceOf(result, most, later);
    });
  });

  return {
    async consume(key, points = 1) {
      const answer = await count({ key, points });
      if (answer !== away) return answer;
      if (whenAway === 'allow') return { allowed: true, limit: most, remaining: most, resetSeconds: 0 };
      throw new AppError('UNAVAILABLE', 'The service is temporarily unavailable', { retryAfter: 2 });
    },
    async reset(key) {
      await ask(() => store.delete(key));
    },
  };
}

interface Take {
  key: string;
  points: number;
}

const away = Symbol('away');

/** The library throws what it has counted when it is too much, and errors when it could not count. */
function asCounted(thrown: unknown): RateLimiterRes {
  if (thrown instanceof RateLimiterRes) return thrown;
  throw thrown;
}

/** `later`: what others took in the same call, behind this one. */
function allowanceOf({ consumedPoints, msBeforeNext }: RateLimiterRes, limit: number, later: number): Allowance {
  const consumed = consumedPoints - later;
  return {
    allowed: consumed <= limit,
    limit,
    remaining: Math.max(limit - consumed, 0),
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
