import { batched } from '../../concurrency/batcher.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import type { Producer } from '../../messaging/producer.ts';
import { listenerEvents } from '../../messaging/queues/listener-events.ts';
import { FREE_TURNS } from './deferred-events.ts';

/** Events of one key of a listener are processed one after the other. */
export interface Line {
  listenerID: string;
  orderKey: string;
}

/**
 * Frees the first event of a line if it waits for its turn. To be called after a commit that has added to the line or has finished an
 * event of it. Never rejects: if the process dies before it or the database is away, the worker that leads frees it.
 */
export type FreeTurn = (line: Line) => Promise<void>;

interface Needs {
  pool: Pool;
  producer: Producer;
}

const HAND_OVER_PATIENCE_MS = 2_000;

export function createFreeTurn({ logger, ...needs }: Needs & { logger: Logger }): FreeTurn {
  return batched(async (lines: Line[]) => {
    await freeTurns(needs, lines).catch((error) => logger.warn({ err: error, lines: lines.length }, 'turns left'));
    return lines.map(() => undefined);
  });
}

interface Freed {
  eventID: string;
  tenantID: string;
  attempt: number;
  isDispatched: boolean;
  isFirst: boolean;
}

/** Answers with the number of events that were freed. */
export async function freeTurns({ pool, producer }: Needs, lines: readonly Line[]): Promise<number> {
  const values = [lines.map(({ listenerID }) => listenerID), lines.map(({ orderKey }) => orderKey)];
  const { rows } = await onceMore(() => pool.query<Freed>({ name: 'free_turns', text: FREE_TURNS, values }));
  const dispatched = rows.filter(({ isDispatched }) => isDispatched);
  await giveJobs(producer, dispatched, { patienceMs: HAND_OVER_PATIENCE_MS });
  return rows.length;
}

interface Job {
  tenantID: string;
  eventID: string;
  attempt?: number;
  isFirst: boolean;
}

/** Adds the jobs of events that are dispatched, those of tenants that have few before the others. */
export async function giveJobs(
  producer: Producer,
  jobs: readonly Job[],
  options: { patienceMs?: number } = {},
): Promise<void> {
  for (const [isFirst, group] of Map.groupBy(jobs, (job) => job.isFirst)) {
    const payloads = group.map(({ tenantID, eventID, attempt = 0 }) => ({ tenantID, eventID, attempt }));
    await producer.enqueue(listenerEvents, payloads, { ...options, priority: isFirst ? 1 : 2 });
  }
}

/**
 * Repeats a statement that gives out events if another one, which it did not see, has just given out an event of the same key. The
 * second time it sees it.
 */
export async function onceMore<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Error) || Reflect.get(error, 'constraint') !== 'listener_event_turn') throw error;
    return run();
  }
}
