import { creatorOf } from '../concurrency/dynamic-limit.ts';
import type { FlowKey } from '../concurrency/fair-queue.ts';
import { createSemaphore } from '../concurrency/semaphore.ts';
import { currentFlow, requestSignal } from '../concurrency/work-context.ts';
import { CountMap } from '../core/count-map.ts';
import { AppError } from '../core/errors.ts';
import type { Pool, PoolClient } from './pool.ts';

interface Limits {
  maxWaitMs?: number;
  /** Waiting statements of one caller. */
  maxWaiting?: number;
}

/** Connections of a creator for each free one: one creator alone gets seven of ten, two get four each, and a third finds one free. */
const PER_FREE = 2;

/**
 * Checks connections of a pool out fairly between flows. The pool itself does so in the order of arrival: a caller with hundreds of slow
 * requests made those of all others wait until they failed. The flow of the work is read from its asynchronous context.
 */
export function checkOutFairly(pool: Pool, { maxWaitMs = 5_000, maxWaiting = 500 }: Limits = {}): void {
  const permits = createSemaphore({ permits: pool.options.max, dynamicLimit: PER_FREE });
  const waiting = new CountMap();
  const flows = new WeakMap<PoolClient, FlowKey>();
  const open: () => Promise<PoolClient> = pool.connect.bind(pool);

  async function acquirePermit(flow: FlowKey): Promise<void> {
    const key = creatorOf(flow);
    if (waiting.of(key) >= maxWaiting) throw tooMany(maxWaiting);
    waiting.add(key, 1);
    const end = new AbortController();
    const giveUp = () => end.abort();
    const timer = setTimeout(giveUp, maxWaitMs);
    const signal = requestSignal();
    signal?.addEventListener('abort', giveUp);
    const isAcquired = !signal?.aborted && (await permits.acquire(flow, end.signal));
    signal?.removeEventListener('abort', giveUp);
    clearTimeout(timer);
    waiting.add(key, -1);
    if (isAcquired) return;
    signal?.throwIfAborted();
    throw new AppError('UNAVAILABLE', 'The database is busy with other requests', { retryAfter: 2 });
  }

  async function checkOut(): Promise<PoolClient> {
    const flow = currentFlow();
    if (!permits.tryAcquire(flow)) await acquirePermit(flow);
    try {
      const client = await open();
      flows.set(client, flow);
      return client;
    } catch (error) {
      permits.release(flow);
      throw error;
    }
  }

  pool.on('release', (_error, client) => {
    const flow = flows.get(client);
    if (flows.delete(client) && flow) permits.release(flow);
  });
  // Both forms of the method: the pool's own `query` uses the second.
  pool.connect = ((callback?: Callback) => {
    const checkedOut = checkOut();
    if (!callback) return checkedOut;
    checkedOut.then(
      (client) => callback(undefined, client, client.release),
      (error: Error) => callback(error),
    );
    return undefined;
  }) as Pool['connect'];
  // For the metrics.
  Object.defineProperty(pool, 'waitingCount', { get: () => permits.waiting });
}

type Callback = (error: Error | undefined, client?: PoolClient, done?: PoolClient['release']) => void;

function tooMany(count: number): AppError {
  return new AppError('RATE_LIMITED', `${count} requests of this caller wait for the database`, {
    retryAfter: 1,
    reason: 'waiting line',
  });
}
