import { createPace, type Pace } from '../../concurrency/pace.ts';
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
  readonly pace: Pace;
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

export function createEventIngestion({ pool, secrets, producer, logger }: Dependencies): EventIngestion {
  const recorder = createEventRecorder({ pool, producer, logger });
  return {
    reader: createListenerReader({ pool, secrets }),
    recorder,
    pace: createPace(),
    events: createCountedQuota(pool, 'listenerEvents'),
    bytes: createCountedQuota(pool, 'listenerEventBytes'),
    [Symbol.asyncDispose]: () => recorder[Symbol.asyncDispose](),
  };
}
