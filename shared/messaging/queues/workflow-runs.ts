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
    /** Number of a further job for the same claim, from 1. It is a part of the job's id, so that an earlier job cannot block it. */
    again: z.int().min(1).optional(),
    /** Runs of the same tenant and class. A worker of an earlier version does not see them; the sweep adds a job for each of them. */
    more: z
      .array(Claimable)
      .max(MAX_RUNS_PER_JOB - 1)
      .optional(),
  }),
  /** `runs`: how many the job has claimed. `put back`: none, because no permit was free; `drained`: none, because the worker stops. */
  result: z.object({ outcome: z.enum(['claimed', 'not claimed', 'put back', 'drained']), runs: z.int() }),
  attempts: 1, // The sweep brings a lost run back; the queue's own retry would hide the loss.
  backoffMs: 0,
  maxStalledCount: 10, // A stalled job goes to another worker unchanged: the claim is fenced, so a second delivery does nothing.
  // The claim raises the epoch of the row, so no later job of the run has this id, and a retained job blocks none.
  isRetained: ({ outcome }) => outcome === 'claimed',
  deadLetters: null,
  // Jobs of several runs have ids of their own: after a dispatch that is repeated, their runs may be grouped in another way.
  jobID: ({ instanceID, epoch, again, more }) =>
    more ? undefined : `${instanceID}.${epoch}${again ? `.${again}` : ''}`,
});
