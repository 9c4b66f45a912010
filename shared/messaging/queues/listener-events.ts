import { z } from 'zod';
import { defineQueue } from './define-queue.ts';

/** Process one event of a listener. Its row in Postgres says what is left to do; a job for a finished event does nothing. */
export const listenerEvents = defineQueue({
  name: 'listener.events',
  payload: z.object({
    tenantID: z.uuid(),
    eventID: z.uuid(),
    /** Attempts that have ended before: a further one needs an id that no earlier job has. */
    attempt: z.int().min(0).default(0),
  }),
  result: z.object({ outcome: z.enum(['pending', 'done', 'filtered', 'dead', 'nothing to do']) }),
  attempts: 1, // The row says when it is tried again; the queue's own retry would know nothing of it.
  backoffMs: 0,
  maxStalledCount: 10, // An event is finished once, however often it is delivered.
  // An event that stays pending may get a job with the same id, which a retained job would block.
  isRetained: ({ outcome }) => outcome !== 'pending',
  // Many more than slots, because a job is short and mostly waits for statements that it shares with other jobs of the process.
  concurrency: 200,
  deadLetters: 'listener.events.dlq',
  jobID: ({ eventID, attempt }) => `${eventID}.${attempt}`,
});
