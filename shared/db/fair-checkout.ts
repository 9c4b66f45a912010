import { creatorOf } from '../concurrency/dynamic-share.ts';
import type { Turn } from '../concurrency/fair-queue.ts';
import { createLane } from '../concurrency/semaphore.ts';
import { goneOfWork, turnOfWork } from '../concurrency/work-context.ts';
import { AppError } from '../core/errors.ts';
import type { Pool, PoolClient } from './pool.ts';

interface Limits {
  maxWaitMs?: number;
  /** Statements of one caller that wait. */
  maxWaiting?: number;
}

/** Of ten connections a caller alone gets seven, two get four each, and the next one finds a connection. */
const PER_FREE = 2;

/**
 * Lends the connections of a pool in turns. The pool itself lends them in the order of arrival, so that a caller with hundreds of slow
 * requests kept those of all others waiting until they failed. Whose turn it is, is found in the asynchronous context of the work.
 */
export function lendInTurns(pool: Pool, { maxWaitMs = 5_000, maxWaiting = 500 }: Limits = {}): void {
  const places = pool.options.max;
  const lane = createLane({ places, sharesByCreator: PER_FREE });
  const waiting = new Map<string, number>();
  const turns = new WeakMap<PoolClient, Turn>();
  const open: () => Promise<PoolClient> = pool.connect.bind(pool);

  function count(key: string, change: 1 | -1): number {
    const others = waiting.get(key) ?? 0;
    if (others + change > 0) waiting.set(key, others + change);
    else waiting.delete(key);
    return others;
  }

  async function waitForPlace(turn: Turn): Promise<void> {
    const key = creatorOf(turn);
    if ((waiting.get(key) ?? 0) >= maxWaiting) throw tooMany(maxWaiting);
    count(key, 1);
    const end = new AbortController();
    const leave = () => end.abort();
    const timer = setTimeout(leave, maxWaitMs);
    const gone = goneOfWork();
    gone?.addEventListener('abort', leave);
    const hasPlace = !gone?.aborted && (await lane.wait(turn, end.signal));
    gone?.removeEventListener('abort', leave);
    clearTimeout(timer);
    count(key, -1);
    if (hasPlace) return;
    gone?.throwIfAborted();
    throw new AppError('UNAVAILABLE', 'The database is busy with other requests', { retryAfter: 2 });
  }

  async function lend(): Promise<PoolClient> {
    const turn = turnOfWork();
    if (!lane.take(turn)) await waitForPlace(turn);
    try {
      const client = await open();
      turns.set(client, turn);
      return client;
    } catch (error) {
      lane.leave(turn);
      throw error;
    }
  }

  pool.on('release', (_error, client) => {
    const turn = turns.get(client);
    if (turns.delete(client) && turn) lane.leave(turn);
  });
  // Both forms of the method: the pool's own `query` uses the second.
  pool.connect = ((callback?: Callback) => {
    const lent = lend();
    if (!callback) return lent;
    lent.then(
      (client) => callback(undefined, client, client.release),
      (error: Error) => callback(error),
    );
    return undefined;
  }) as Pool['connect'];
  // For the metrics.
  Object.defineProperty(pool, 'waitingCount', { get: () => lane.waiting });
}

type Callback = (error: Error | undefined, client?: PoolClient, done?: PoolClient['release']) => void;

function tooMany(count: number): AppError {
  return new AppError('RATE_LIMITED', `${count} requests of this caller wait for the database`, {
    retryAfter: 1,
    reason: 'waiting line',
  });
}
