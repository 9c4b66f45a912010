import { describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { workflowRuns } from '#shared/messaging/queues/workflow-runs.ts';
import { cutIntoJobs, type RunWithJob } from '#shared/runs/dispatch/job-batches.ts';
import type { WorkerCapacity } from '#shared/runs/dispatch/worker-capacity.ts';

const tenantID = newID();

function runs(count: number, more: Partial<RunWithJob> = {}): RunWithJob[] {
  return Array.from({ length: count }, () => ({ id: newID(), tenantID, class: 'interactive', epoch: 4, ...more }));
}

/** How many runs each job has. */
function sizes(dispatched: readonly RunWithJob[], fleet: WorkerCapacity): number[] {
  return cutIntoJobs(dispatched, fleet).map(({ more = [] }) => 1 + more.length);
}

test('a single run has a job as before there were jobs of several: with its id, for its next epoch', () => {
  const [run] = runs(1);

  const jobs = cutIntoJobs(run ? [run] : [], { workers: 2, slots: 100 });

  expect(jobs).toEqual([{ tenantID, instanceID: run?.id, epoch: 5 }]);
  expect(jobs.map((job) => workflowRuns.jobID?.(workflowRuns.payload.parse(job)))).toEqual([`${run?.id}.5`]);
});

test('every run is in one job, and a job of several has an id of its own', () => {
  const dispatched = runs(30);

  const jobs = cutIntoJobs(dispatched, { workers: 1, slots: 50 });

  const inJobs = jobs.flatMap(({ instanceID, epoch, more = [] }) => [{ instanceID, epoch }, ...more]);
  expect(inJobs).toEqual(dispatched.map(({ id }) => ({ instanceID: id, epoch: 5 })));
  expect(jobs.map((job) => workflowRuns.jobID?.(workflowRuns.payload.parse(job)))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test('a job has the runs of one tenant and class', () => {
  const other = newID();
  const dispatched = [...runs(3), ...runs(2, { class: 'batch' }), ...runs(4, { tenantID: other }), ...runs(1)];

  const jobs = cutIntoJobs(dispatched, { workers: 1, slots: 200 });

  expect(jobs.map(({ tenantID: id, more = [] }) => [id, 1 + more.length])).toEqual([
    [tenantID, 4],
    [tenantID, 2],
    [other, 4],
  ]);
});

describe('the runs of a job are', () => {
  test.each<[string, number, WorkerCapacity, number[]]>([
    ['all of them, for one worker', 5, { workers: 1, slots: 50 }, [5]],
    ['so few that every worker gets a job', 5, { workers: 3, slots: 150 }, [2, 2, 1]],
    ['one, while there are more workers than runs', 3, { workers: 4, slots: 200 }, [1, 1, 1]],
    ['at most a quarter of the slots of a worker', 12, { workers: 2, slots: 40 }, [5, 5, 2]],
    ['one, for workers with few slots', 3, { workers: 1, slots: 3 }, [1, 1, 1]],
    ['at most sixteen', 40, { workers: 1, slots: 1000 }, [16, 16, 8]],
    ['one, without a live worker', 2, { workers: 0, slots: 0 }, [1, 1]],
  ])('%s', (_, count, fleet, expected) => {
    expect(sizes(runs(count), fleet)).toEqual(expected);
  });
});
