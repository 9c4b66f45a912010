import { CountMap } from '../core/count-map.ts';
import { AppError } from '../core/errors.ts';
import { createDynamicLimit } from './dynamic-limit.ts';
import { createFairQueue, type FlowKey } from './fair-queue.ts';
import { currentPermit, type PermitSource } from './work-context.ts';

/** Permits for work, limited in number. Work that finds none free waits in a fair queue. */
export interface Semaphore extends PermitSource {
  /** Acquires a permit at once, or returns false. */
  tryAcquire(flow: FlowKey): boolean;
  /**
   * Waits for a permit; false if the signal aborts first. Throws when too many wait. Work that has a permit of another semaphore (`Permit`)
   * releases that permit while it waits. `isFirst` puts the work before other work of its tenant.
   */
  acquire(flow: FlowKey, signal?: AbortSignal, options?: { isFirst?: boolean }): Promise<boolean>;
  /** Releases a permit of the flow that acquired it. */
  release(flow: FlowKey): void;
  /** Whether a permit is free for the flow, or would be if the permits of `released` were released. */
  canAcquire(flow: FlowKey, released?: readonly FlowKey[]): boolean;
  /** Whether work waits that would get a permit if the permits of `released` were released. */
  hasWaiterFor(released: readonly FlowKey[]): boolean;
  /** Acquires a permit, or waits for one. Returns the function that releases it; undefined if the signal aborts first. */
  acquirePermit(flow: FlowKey, signal?: AbortSignal): Promise<(() => void) | undefined>;
  /** Does the work with a permit. */
  run<T>(flow: FlowKey, work: () => Promise<T>): Promise<T>;
  readonly used: number;
  readonly waiting: number;
}

interface SemaphoreOptions {
  permits: number;
  /** Permits that only short work may acquire. */
  permitsForShort?: number;
  /** Permits that one tenant may have at once. */
  maxPerTenant?: number;
  /** Permits that one creator may have for each free one (`createDynamicLimit`). Default: any number. */
  dynamicLimit?: number;
  /** Limit of pieces of work that wait. Further ones are refused. */
  maxWaiting?: number;
  /** Makes the error of a refusal. */
  tooMany?: (semaphore: { permits: number; waiting: number }) => AppError;
}

const NONE: readonly FlowKey[] = [];

/** The flow of work without tenants: first come, first served. */
export const IN_ORDER: FlowKey = { tenantID: '' };

export function createSemaphore({
  permits,
  permitsForShort = 0,
  maxPerTenant = Number.POSITIVE_INFINITY,
  dynamicLimit,
  maxWaiting = Number.POSITIVE_INFINITY,
  tooMany = rateLimited,
}: SemaphoreOptions): Semaphore {
  const queue = createFairQueue<Waiter>();
  const byTenant = new CountMap();
  const countsTenants = maxPerTenant !== Number.POSITIVE_INFINITY;
  const byCreator = dynamicLimit === undefined ? undefined : createDynamicLimit(dynamicLimit);
  let used = 0;
  /** Permits of work that is not short. */
  let usedByLong = 0;

  function canAcquire(flow: FlowKey, released: readonly FlowKey[] = NONE): boolean {
    const { tenantID, isShort = false } = flow;
    const unused = permits - used + released.length;
    const releasedLong = released.length === 0 ? 0 : released.filter((other) => !other.isShort).length;
    const free = isShort ? unused : Math.min(unused, permits - permitsForShort - usedByLong + releasedLong);
    if (free <= 0 || byCreator?.isReached(flow, free, released)) return false;
    if (!countsTenants) return true;
    return byTenant.of(tenantID) - released.filter((other) => other.tenantID === tenantID).length < maxPerTenant;
  }

  function count(flow: FlowKey, change: 1 | -1): void {
    const { tenantID, isShort = false } = flow;
    used += change;
    if (!isShort) usedByLong += change;
    byCreator?.count(flow, change);
    if (countsTenants) byTenant.add(tenantID, change);
  }

  /** Gives free permits to queued work at once, before work that comes later can acquire them. */
  function serve(): void {
    for (let next = nextWaiter(); next; next = nextWaiter()) {
      count(next.flow, 1);
      next.settle(true);
    }
  }

  function nextWaiter(): Waiter | undefined {
    return queue.size > 0 && used < permits ? queue.dequeue(({ flow }) => canAcquire(flow)) : undefined;
  }

  const semaphore: Semaphore = {
    get used() {
      return used;
    },
    get waiting() {
      return queue.size;
    },
    // Does not look at the queue: work waits only if it cannot get any of the free permits, so this overtakes none.
    tryAcquire(flow) {
      if (!canAcquire(flow)) return false;
      count(flow, 1);
      return true;
    },
    async acquire(flow, signal, options) {
      if (signal?.aborted) return false;
      if (queue.size >= maxWaiting) throw tooMany({ permits, waiting: queue.size });
      const { promise, resolve } = Promise.withResolvers<boolean>();
      let isSettled = false;
      const waiter: Waiter = {
        flow,
        settle(isAcquired) {
          isSettled = true;
          signal?.removeEventListener('abort', giveUp);
          resolve(isAcquired);
        },
      };
      const giveUp = () => {
        queue.remove(flow, waiter);
        waiter.settle(false);
      };
      signal?.addEventListener('abort', giveUp);
      queue.enqueue(flow, waiter, options);
      serve();
      const permit = isSettled ? undefined : currentPermit();
      return await (permit ? permit.releaseWhile(promise, signal) : promise);
    },
    release(flow) {
      count(flow, -1);
      serve();
    },
    canAcquire,
    hasWaiterFor: (released) => queue.size > 0 && queue.has(({ flow }) => canAcquire(flow, released)),
    async run(flow, work) {
      if (!semaphore.tryAcquire(flow)) await semaphore.acquire(flow);
      try {
        return await work();
      } finally {
        semaphore.release(flow);
      }
    },
    async acquirePermit(flow, signal) {
      if (signal?.aborted) return undefined;
      if (!semaphore.tryAcquire(flow) && !(await semaphore.acquire(flow, signal))) return undefined;
      let isAcquired = true;
      return () => {
        if (isAcquired) semaphore.release(flow);
        isAcquired = false;
      };
    },
  };
  return semaphore;
}

interface Waiter {
  flow: FlowKey;
  settle(isAcquired: boolean): void;
}

/** Semaphores by key, each of which exists while it is used. */
export interface KeyedSemaphores {
  acquirePermit(semaphore: KeyedOptions, flow: FlowKey, signal: AbortSignal): Promise<(() => void) | undefined>;
}

interface KeyedOptions extends Pick<SemaphoreOptions, 'maxPerTenant' | 'dynamicLimit'> {
  key: string;
  permits: number;
}

/** At most `maxWaitingPerPermit` wait for each permit of a semaphore. */
export function createKeyedSemaphores({
  maxWaitingPerPermit = 20,
}: {
  maxWaitingPerPermit?: number;
} = {}): KeyedSemaphores {
  const semaphores = new Map<string, Semaphore>();

  return {
    async acquirePermit({ key, ...options }, flow, signal) {
      const semaphore =
        semaphores.get(key) ?? createSemaphore({ ...options, maxWaiting: options.permits * maxWaitingPerPermit });
      semaphores.set(key, semaphore);
      const release = await semaphore.acquirePermit(flow, signal);
      const deleteUnused = () => void (semaphore.used + semaphore.waiting === 0 && semaphores.delete(key));
      if (!release) deleteUnused();
      return (
        release &&
        (() => {
          release();
          deleteUnused();
        })
      );
    },
  };
}

function rateLimited({ permits, waiting }: { permits: number; waiting: number }): AppError {
  return new AppError('RATE_LIMITED', `${permits} of these are under way and ${waiting} wait`, {
    retryAfter: 1,
    reason: 'waiting line',
  });
}
