import { createEventLoopScheduler, type EventLoopScheduler } from '../../concurrency/event-loop-scheduler.ts';
import type { KeyRing } from '../../core/key-ring.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import type { Producer } from '../../messaging/producer.ts';
import { type CountedQuota, createCountedQuota } from '../../tenants/counted-quotas.ts';
import { createEventRecorder, type EventRecorder } from './event-recorder.ts';
import { createListenerReader, type ListenerReader } from './listener-reader.ts';

/** Parts of a process that receives events: readers, recorder and quotas. */
export interface EventIngestion extends AsyncDisposable {
  readonly reader: ListenerReader;
  readonly recorder: EventRecorder;
  /** The scheduler of deliveries. It has rounds of its own: those of requests have ended when a delivery begins. */
  readonly deliveries: EventLoopScheduler;
  /** The quota of events that wait to be processed. */
  readonly events: CountedQuota;
  /** The quota of bytes. */
  readonly bytes: CountedQuota;
}

interface Dependencies {
  pool: Pool;
  secrets: KeyRing;
  producer: Producer;
  logger: Logger;
}

/**
 * Deliveries of 0.3 ms each. Those of one statement, of which there may be hundreds, would otherwise go on together, and their senders
 * would send the next ones together: a request that comes meanwhile would wait for all of them.
 */
const DELIVERIES_PER_ROUND = 20;

export function createEventIngestion({ pool, secrets, producer, logger }: Dependencies): EventIngestion {
  const recorder = createEventRecorder({ pool, producer, logger });
  return {
    reader: createListenerReader({ pool, secrets }),
    recorder,
    deliveries: createEventLoopScheduler(DELIVERIES_PER_ROUND),
    events: createCountedQuota(pool, 'listenerEvents'),
    bytes: createCountedQuota(pool, 'listenerEventBytes'),
    [Symbol.asyncDispose]: () => recorder[Symbol.asyncDispose](),
  };
}
