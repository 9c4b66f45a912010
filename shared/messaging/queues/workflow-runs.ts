import { z } from 'zod';
import { defineQueue } from './define-queue.ts';

export const MAX_RUNS_PER_JOB = 16;

const Claimable = z.object({ instanceID: z.uuid(), epoch: z.int().min(1) });

/** A run and the epoch of its next claim. */
export type Claimable = z.infer<typeof Claimable>;

/** Advance these runs as far as they will go. Their rows in Postgres say from where. The job is done when they are claimed. */
export const workflowRuns = defineQueue({
  name: 'workflow.runs',
  payload: z.object({
    tenantID: z.uuid().optional(),
    ...Claimable.shape,
    /** From 1: a further job for this claim, whose id an earlier job cannot block. */
    again: z.int().min(1).optional(),
    /** Runs of the same tenant and class. A worker of an earlier version does not see them; the sweep adds a job for each of them. */
    more: z
      .array(Claimable)
      .max(MAX_RUNS_PER_JOB - 1)
      .optional(),
  }),
  /** `runs`: how many the job has claimed. `put back`: it has claimed none, for want of places. */
  result: z.object({ outcome: z.enum(['claimed', 'not claimed', 'put back', 'drained']), runs: z.int() }),
  attempts: 1, // The sweep brings a lost run back; the queue's own retry would hide the loss.
  backoffMs: 0,
  maxStalledCount: 10, // Given to another worker as it is: the claim is fenced, so a second delivery does nothing.
  // After the claim the row has an epoch that no later job of the run has in its id.
  isRetained: ({ outcome }) => outcome === 'claimed',
  deadLetters: null,
  // Jobs of several runs have ids of their own: after a dispatch that is repeated, their runs may be grouped in another way.
  jobID: ({ instanceID, epoch, again, more }) =>
    more ? undefined : `${instanceID}.${epoch}${again ? `.${again}` : ''}`,
});
