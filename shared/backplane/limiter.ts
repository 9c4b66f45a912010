import { setTimeout as sleep } from 'node:timers/promises';
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
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
  const { name, points: most, seconds, whenAway } = limit;
  /** What passed through this process, which is all there is to go by while the store is away. */
  const own = new RateLimiterMemory({ points: most, duration: seconds });
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
    const countIn = async (counter: RateLimiterAbstract) => {
      const all = [...sums].map(async ([key, sum]) => [key, await counter.consume(key, sum).catch(asCounted)] as const);
      return new Map(await Promise.all(all));
    };
    const ownCount = whenAway === 'allow' ? await countIn(own) : undefined;
    const answer = await ask(() => countIn(store));
    const counted = answer === away ? ownCount : answer;
    return takes.map(({ key }, index) => {
      const result = counted?.get(key);
      if (!result) return away;
      const later = (sums.get(key) ?? 0) - (upTo[index] ?? 0);
      return allowanceOf(result, most, later);
    });
  });

  return {
    async consume(key, points = 1) {
      const answer = await count({ key, points });
      if (answer !== away) return answer;
      throw new AppError('UNAVAILABLE', 'The service is temporarily unavailable', { retryAfter: 2 });
    },
    async reset(key) {
      await own.delete(key);
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

/** A silence counts only while this process had time to listen: the answer may be waiting for its turn behind our own work. */
async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  // The loser of the race must not end the process.
  work.catch(() => undefined);
  const done = new AbortController();
  const silence = async (): Promise<never> => {
    for (let heard = 0; heard < ms; heard += LISTEN_MS) await sleep(LISTEN_MS, undefined, { signal: done.signal });
    throw new Error(`no answer within ${ms} ms`);
  };
  try {
    return await Promise.race([work, silence()]);
  } finally {
    done.abort();
  }
}

const LISTEN_MS = 25;
