import { createBatcher } from '../../concurrency/batcher.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import type { Producer } from '../../messaging/producer.ts';
import { listenerEvents } from '../../messaging/queues/listener-events.ts';
import { RELEASE_NEXT } from './deferred-events.ts';

/** Key by which events of a listener are ordered: those with the same key are processed one after the other. */
export interface OrderingKey {
  listenerID: string;
  orderKey: string;
}

/**
 * Releases the first event of a key if it is deferred. To be called after a commit that has added an event of the key or has finished
 * one. Never rejects: if the process dies before the call or the database is away, the leading worker releases the event later.
 */
export type ReleaseNext = (key: OrderingKey) => Promise<void>;

interface Needs {
  pool: Pool;
  producer: Producer;
}

const ENQUEUE_TIMEOUT_MS = 2_000;

export function createReleaseNext({ logger, ...needs }: Needs & { logger: Logger }): ReleaseNext {
  return createBatcher(async (keys: OrderingKey[]) => {
    await releaseNextOf(needs, keys).catch((error) => logger.warn({ err: error, lines: keys.length }, 'turns left'));
    return keys.map(() => undefined);
  });
}

interface Released {
  eventID: string;
  tenantID: string;
  attempt: number;
  isDispatched: boolean;
  isFirst: boolean;
}

/** Answers with the number of events that were released. */
export async function releaseNextOf({ pool, producer }: Needs, keys: readonly OrderingKey[]): Promise<number> {
  const values = [keys.map(({ listenerID }) => listenerID), keys.map(({ orderKey }) => orderKey)];
  const { rows } = await onceMore(() => pool.query<Released>({ name: 'release_next', text: RELEASE_NEXT, values }));
  const dispatched = rows.filter(({ isDispatched }) => isDispatched);
  await enqueueEvents(producer, dispatched, { timeoutMs: ENQUEUE_TIMEOUT_MS });
  return rows.length;
}

interface Job {
  tenantID: string;
  eventID: string;
  attempt?: number;
  isFirst: boolean;
}

/** Enqueues the jobs of events that are dispatched. Jobs of tenants that have few of them get a higher priority. */
export async function enqueueEvents(
  producer: Producer,
  jobs: readonly Job[],
  options: { timeoutMs?: number } = {},
): Promise<void> {
  for (const [isFirst, group] of Map.groupBy(jobs, (job) => job.isFirst)) {
    const payloads = group.map(({ tenantID, eventID, attempt = 0 }) => ({ tenantID, eventID, attempt }));
    await producer.enqueue(listenerEvents, payloads, { ...options, priority: isFirst ? 1 : 2 });
  }
}

/**
 * Repeats a dispatching statement if a concurrent one, which it could not see, has just dispatched an event of the same ordering key: a
 * unique index lets only one event of a key have a job. The second time the statement sees that job.
 */
export async function onceMore<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Error) || Reflect.get(error, 'constraint') !== 'listener_event_turn') throw error;
    return run();
  }
}
