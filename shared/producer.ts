import type { z } from 'zod';
import type { Backplane } from './backplane/index.ts';
import { AppError } from './errors.ts';
import type { QueueDefinition } from './queues/define-queue.ts';
import type { AnyQueue } from './queues/index.ts';

/** The queue does not answer for longer than this: give up. What was to be done is a row, and the sweep finds it. */
const ENQUEUE_PATIENCE_MS = 250;

export interface Producer {
  enqueue<D extends AnyQueue>(
    queue: D,
    payloads: readonly z.input<D['payload']>[],
    options?: { patienceMs?: number },
  ): Promise<void>;
}

/** Puts jobs into queues: payloads parsed, ids, attempts and what is kept taken from the queue's definition. */
export function createProducer(backplane: Backplane): Producer {
  return {
    async enqueue(definition, payloads, { patienceMs = ENQUEUE_PATIENCE_MS } = {}) {
      if (payloads.length === 0) return;
      // The id is made from the payload that the definition itself has parsed.
      const { jobID }: QueueDefinition = definition;
      const jobs = payloads.map((raw) => {
        const payload = definition.payload.parse(raw);
        const { keepFailed } = definition;
        return {
          name: definition.name,
          data: payload,
          opts: {
            attempts: definition.attempts,
            ...(definition.backoffMs > 0 && {
              backoff: { type: 'exponential', delay: definition.backoffMs, jitter: 0.5 },
            }),
            ...(jobID && { jobId: jobID(payload) }),
            removeOnComplete: true,
            removeOnFail: keepFailed === 'nothing' ? true : { age: keepFailed.ageSeconds, count: keepFailed.count },
          },
        };
      });
      await withPatience(backplane.add(definition.name, jobs).catch(unavailable), patienceMs);
    },
  };
}

async function withPatience<T>(work: Promise<T>, patienceMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(away()), patienceMs);
  });
  work.catch(() => undefined);
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

/** A queue that refuses is as far away as one that says nothing; its words are for the log. */
function unavailable(cause: unknown): never {
  throw away(cause);
}

function away(cause?: unknown): AppError {
  return new AppError('UNAVAILABLE', 'The queue does not answer', { cause, retryAfter: 1 });
}
