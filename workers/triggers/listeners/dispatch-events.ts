import { startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import { FIRST_ID } from '#shared/core/ids.ts';
import type { Logger } from '#shared/core/logger.ts';
import { keysetPages } from '#shared/db/keyset-pages.ts';
import type { Pool } from '#shared/db/pool.ts';
import type { Producer } from '#shared/messaging/producer.ts';
import { listenerEvents } from '#shared/messaging/queues/listener-events.ts';
import { DISPATCHED, WAITING } from '#shared/triggers/listeners/deferred-events.ts';
import { DISPATCH_EVENTS, DISPATCHED_LONG_AGO, tenantsWith } from '#shared/triggers/listeners/event-rows.ts';
import { enqueueEvents, onceMore, releaseNextOf } from '#shared/triggers/listeners/release-next.ts';

/** Tenants of one round. */
const TENANTS = 200;
/** Age after which a job may be lost and is added again, which has no effect while it is still queued. */
const LOST_SECONDS = 10;
const REPAIR_TIMEOUT_MS = 2_000;
/** Priority of jobs that are added again: after those of tenants with few events. */
const PRIORITY = 2;

interface Needs {
  pool: Pool;
  producer: Producer;
  logger: Logger;
}

export interface EventDispatch extends AsyncDisposable {
  /** Is called when an event is finished, so that its tenant may have headroom for another. */
  onFinished(): void;
}

interface Job {
  eventID: string;
  attempt: number;
}

interface Picked extends Job {
  /** Whether the event was deferred behind another event of its ordering key, instead of being dispatched. */
  isBehind: boolean;
  isFirst: boolean;
  listenerID: string;
  orderKey: string | null;
}

/**
 * Enqueues jobs of events that have none, because their tenant had enough jobs or because they are retried; and enqueues jobs again
 * that were lost with the data of Redis. Every worker does so; they share the work by rows that they lock.
 */
export function createEventDispatch({ logger, ...needs }: Needs): EventDispatch {
  let isMore = false;
  const waiting = startPeriodicTask(
    {
      name: 'dispatch events',
      everyMs: 1_000,
      async run() {
        isMore = await dispatchWaiting(needs);
      },
    },
    logger,
  );
  const lost = startPeriodicTask(
    { name: 'add jobs of events again', everyMs: 5_000, run: () => dispatchLost(needs) },
    logger,
  );
  return {
    onFinished() {
      if (isMore) waiting.trigger();
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([waiting, lost].map((step) => step[Symbol.asyncDispose]()));
    },
  };
}

/** Enqueues for each tenant in turn as many jobs as it has headroom for. Returns whether any tenant had events to dispatch. */
export async function dispatchWaiting({ pool, producer }: Omit<Needs, 'logger'>): Promise<boolean> {
  let isMore = false;
  for await (const tenantID of dueTenants(pool, { statement: OF_WAITING, olderThanSeconds: 0 })) {
    const { rows } = await onceMore(() =>
      pool.query<Picked>({ name: 'dispatch_events', text: DISPATCH_EVENTS, values: [tenantID] }),
    );
    isMore = true;
    const jobs = rows.filter(({ isBehind }) => !isBehind);
    await enqueueEvents(
      producer,
      jobs.map((job) => ({ ...job, tenantID })),
    );
    // The event ahead of a deferred one may have finished in the meantime, when nothing was deferred behind it yet.
    const keys = rows.flatMap(({ isBehind, listenerID, orderKey }) =>
      isBehind && orderKey !== null ? [{ listenerID, orderKey }] : [],
    );
    if (keys.length > 0) await releaseNextOf({ pool, producer }, keys);
  }
  return isMore;
}

/** Adds jobs again that were added longer ago. */
export async function dispatchLost(
  { pool, producer }: Omit<Needs, 'logger'>,
  olderThanSeconds = LOST_SECONDS,
): Promise<void> {
  for await (const tenantID of dueTenants(pool, { statement: OF_DISPATCHED, olderThanSeconds })) {
    const { rows } = await pool.query<Job>({
      name: 'events_dispatched_long_ago',
      text: DISPATCHED_LONG_AGO,
      values: [tenantID, olderThanSeconds],
    });
    await producer.enqueue(
      listenerEvents,
      rows.map((job) => ({ tenantID, ...job })),
      { priority: PRIORITY, replacesEnded: true, timeoutMs: REPAIR_TIMEOUT_MS },
    );
  }
}

const OF_WAITING = { name: 'tenants_with_waiting_events', text: tenantsWith(WAITING, 'ready_at') };
const OF_DISPATCHED = { name: 'tenants_with_dispatched_events', text: tenantsWith(DISPATCHED, 'dispatched_at') };

interface Visited {
  tenantID: string;
  isDue: boolean;
}

interface Due {
  statement: { name: string; text: string };
  olderThanSeconds: number;
}

async function* dueTenants(pool: Pool, { statement, olderThanSeconds }: Due): AsyncGenerator<string> {
  const pages = keysetPages({
    from: FIRST_ID,
    size: TENANTS,
    read: async (after) =>
      (await pool.query<Visited>({ ...statement, values: [after, TENANTS, olderThanSeconds] })).rows,
    keyOf: ({ tenantID }) => tenantID,
  });
  for await (const rows of pages) for (const { tenantID, isDue } of rows) if (isDue) yield tenantID;
}
