import type { z } from 'zod';
import { MAX_RUNS_PER_JOB, type workflowRuns } from '../../messaging/queues/workflow-runs.ts';
import type { DispatchedRun } from './dispatcher.ts';
import type { WorkerCapacity } from './worker-capacity.ts';

/** A run whose row says that it has a job. `epoch` is that of the row; the claim raises it, so the job names the next one. */
export type RunWithJob = Omit<DispatchedRun, 'priority'>;

type RunJob = z.input<(typeof workflowRuns)['payload']>;

/** Share of a worker's slots that one job may fill. With more, most of its runs would wait at one worker while another is idle. */
const SHARE_OF_SLOTS = 1 / 4;

/**
 * Cuts runs that are dispatched together into jobs of one tenant and class. A job for each run costs more than claiming it: 0.1 ms on
 * Redis, 1.2 ms on Postgres. There are at least as many jobs as live workers, so that a few runs do not end up in one of them.
 */
export function cutIntoJobs(runs: readonly RunWithJob[], { workers, slots }: WorkerCapacity): RunJob[] {
  const workerCount = Math.max(1, workers);
  const maxSize = Math.floor((slots / workerCount) * SHARE_OF_SLOTS);
  const size = Math.max(1, Math.min(MAX_RUNS_PER_JOB, maxSize, Math.ceil(runs.length / workerCount)));
  const groups = Map.groupBy(runs, (run) => `${run.tenantID} ${run.class}`);
  return [...groups.values()].flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / size) }, (_, n) =>
      toJob(group.slice(n * size, (n + 1) * size)),
    ).flat(),
  );
}

function toJob(runs: readonly RunWithJob[]): RunJob[] {
  const [first, ...more] = runs.map(({ id, epoch }) => ({ instanceID: id, epoch: epoch + 1 }));
  return first ? [{ tenantID: runs[0]?.tenantID, ...first, ...(more.length > 0 && { more }) }] : [];
}
