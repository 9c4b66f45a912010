import { createEventLoopScheduler, type EventLoopScheduler } from '../../concurrency/event-loop-scheduler.ts';
import type { KeyRing } from '../../core/key-ring.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import type { Producer } from '../../messaging/producer.ts';
import { type CountedQuota, createCountedQuota } from '../../tenants/counted-quotas.ts';
import { createEventRecorder, type EventRecorder } from './event-recorder.ts';
import { createListenerReader, type ListenerReader } from './listener-reader.ts';
import { createRefusalRecorder, type RefusalRecorder } from './refusal-recorder.ts';

/** Parts of a process that receives events: readers, recorder and quotas. */
export interface EventIngestion extends AsyncDisposable {
  readonly reader: ListenerReader;
  readonly recorder: EventRecorder;
  readonly refusals: RefusalRecorder;
  /** Limits the deliveries that go on in one round of the event loop; the scheduler of requests has let them through before. */
  readonly deliveries: EventLoopScheduler;
  /** The quota of events that wait to be processed. */
  readonly events: CountedQuota;
  /** The quota of bytes of received events. */
  readonly bytes: CountedQuota;
}

interface Dependencies {
  pool: Pool;
  secrets: KeyRing;
  producer: Producer;
  logger: Logger;
}

/**
 * Deliveries take 0.3 ms each. One statement may record hundreds of them. If all went on in one round of the event loop, a request that
 * arrives meanwhile would wait for all, and so on, because their senders would also send the next ones at the same time.
 */
const DELIVERIES_PER_ROUND = 20;

export function createEventIngestion({ pool, secrets, producer, logger }: Dependencies): EventIngestion {
  const recorder = createEventRecorder({ pool, producer, logger });
  const refusals = createRefusalRecorder({ pool, logger });
  return {
    reader: createListenerReader({ pool, secrets }),
    recorder,
    refusals,
    deliveries: createEventLoopScheduler(DELIVERIES_PER_ROUND),
    events: createCountedQuota(pool, 'listenerEvents'),
    bytes: createCountedQuota(pool, 'listenerEventBytes'),
    async [Symbol.asyncDispose]() {
      await refusals[Symbol.asyncDispose]();
      await recorder[Symbol.asyncDispose]();
    },
  };
}
