import type { z } from 'zod';
import { AppError } from '../core/errors.ts';
import type { Backplane } from './backplane/index.ts';
import type { QueueDefinition } from './queues/define-queue.ts';
import type { AnyQueue } from './queues/index.ts';

/** Time limit for adding jobs. The record of the work is a row, which the sweep finds if its job was not added. */
const ENQUEUE_TIMEOUT_MS = 250;

interface EnqueueOptions {
  timeoutMs?: number;
  /** Priority of the jobs: 0 before 1 before 2; within a priority, the order in which they were added. */
  priority?: number;
  /** Removes jobs with the same ids that have ended and are retained for the board, because they would block the new ones. */
  replacesEnded?: boolean;
}

export interface Producer {
  enqueue<D extends AnyQueue>(
    queue: D,
    payloads: readonly z.input<D['payload']>[],
    options?: EnqueueOptions,
  ): Promise<void>;
}

/** Adds jobs to queues. Parses payloads; ids, attempts and retention of jobs come from the queue's definition. */
export function createProducer(backplane: Backplane): Producer {
  return {
    async enqueue(definition, payloads, { timeoutMs = ENQUEUE_TIMEOUT_MS, replacesEnded = false, priority = 0 } = {}) {
      if (payloads.length === 0) return;
      // Safe: `jobID` gets the payload that the same definition has parsed.
      const { jobID }: QueueDefinition = definition;
      const jobs = payloads.map((raw) => {
        const payload = definition.payload.parse(raw);
        const id = jobID?.(payload);
        return {
          name: definition.name,
          data: payload,
          opts: {
            attempts: definition.attempts,
            ...(priority > 0 && { priority }),
            ...(definition.backoffMs > 0 && {
              backoff: { type: 'exponential', delay: definition.backoffMs, jitter: 0.5 },
            }),
            ...(id && { jobId: id }),
            // The worker keeps some for the board (`createRetention`). A job whose worker vanished is removed with its payload.
            removeOnComplete: true,
            removeOnFail: true,
          },
        };
      });
      const { name } = definition;
      const add = async () => {
        if (replacesEnded)
          await backplane.removeEnded(
            name,
            jobs.flatMap(({ opts }) => opts.jobId ?? []),
          );
        await backplane.add(name, jobs);
      };
      await withTimeout(add().catch(throwUnavailable), timeoutMs);
    },
  };
}

async function withTimeout<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(queueUnavailable()), timeoutMs);
  });
  work.catch(() => undefined);
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

/** Reports an error of the queue like a timeout; the error itself is for the log. */
function throwUnavailable(cause: unknown): never {
  throw queueUnavailable(cause);
}

function queueUnavailable(cause?: unknown): AppError {
  return new AppError('UNAVAILABLE', 'The queue does not answer', { cause, retryAfter: 1 });
}
