import { z } from 'zod';
import { defineQueue } from './define-queue.ts';

/** Advance one run as far as it will go. The row in Postgres says from where. */
export const workflowRuns = defineQueue({
  name: 'workflow.runs',
  payload: z.object({
    instanceID: z.uuid(),
    epoch: z.int().min(1),
    /** From 1: a further job for this claim, whose id an earlier job cannot block. */
    again: z.int().min(1).optional(),
  }),
  result: z.object({}),
  attempts: 1, // The sweep brings a lost run back; the queue's own retry would hide the loss.
  backoffMs: 0,
  maxStalledCount: 10, // Given to another worker as it is: the claim is fenced, so a second delivery does nothing.
  keepFailed: 'nothing', // A kept job would block its id; the row is the record.
  deadLetters: null,
  jobID: ({ instanceID, epoch, again }) => `${instanceID}.${epoch}${again ? `.${again}` : ''}`,
});
