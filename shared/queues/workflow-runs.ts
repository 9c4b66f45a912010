import { z } from 'zod';
import { defineQueue } from './define-queue.ts';

/** How a run left the worker that took the job. */
const RunJobEnd = z.enum(['done', 'parked', 'yielded', 'fenced', 'drained', 'not claimed']);

/** Advance one run as far as it will go. The row in Postgres says from where. */
export const workflowRuns = defineQueue({
  name: 'workflow.runs',
  payload: z.object({
    tenantID: z.uuid().optional(),
    instanceID: z.uuid(),
    epoch: z.int().min(1),
    /** From 1: a further job for this claim, whose id an earlier job cannot block. */
    again: z.int().min(1).optional(),
  }),
  result: z.object({ outcome: RunJobEnd }),
  attempts: 1, // The sweep brings a lost run back; the queue's own retry would hide the loss.
  backoffMs: 0,
  maxStalledCount: 10, // Given to another worker as it is: the claim is fenced, so a second delivery does nothing.
  // After these the row has an epoch that no later job of the run has in its id.
  isKept: ({ outcome }) => outcome === 'done' || outcome === 'parked' || outcome === 'yielded',
  deadLetters: null,
  jobID: ({ instanceID, epoch, again }) => `${instanceID}.${epoch}${again ? `.${again}` : ''}`,
});
