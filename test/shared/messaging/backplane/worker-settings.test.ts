import { describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { workerSettings } from '#shared/messaging/backplane/types.ts';
import { createProducer } from '#shared/messaging/producer.ts';
import { workflowRuns } from '#shared/messaging/queues/workflow-runs.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';
import { eventually } from '#test/support/settle.ts';

describe('settings of a consumer', () => {
  test.each([1_000, 8_000, 10_001, 12_345, 30_000])('with a lease of %i ms are whole numbers', (leaseMs) => {
    const { autorun, ...numbers } = workerSettings({ concurrency: 1, maxStalledCount: 1, leaseMs });

    expect(Object.values(numbers).every(Number.isSafeInteger)).toBe(true);
    expect(numbers.stalledInterval).toBeGreaterThanOrEqual(1_000);
    expect(numbers.stalledInterval).toBeLessThanOrEqual(Math.max(1_000, leaseMs / 2));
    expect(numbers.lockRenewTime).toBeLessThan(leaseMs);
  });

  test.each([
    { what: 'a lease of 2666.67 ms', leaseMs: 2666.67, concurrency: 1 },
    { what: 'half a place', leaseMs: 1000, concurrency: 0.5 },
    { what: 'no place', leaseMs: 1000, concurrency: 0 },
  ])('are refused with $what', (options) => {
    expect(() => workerSettings({ maxStalledCount: 1, ...options })).toThrow(/must be a whole number/);
  });
});

/** A lease whose third and half are no whole numbers. */
const LEASE_MS = 3_001;

test('jobs of a consumer that has lost its connection go to another one', async () => {
  await using deployment = await startDeployment();
  const taken: string[] = [];
  const hanging = Promise.withResolvers<void>();
  await using lost = await createBackplane(deployment.config.backplane, testLogger);
  const consumer = lost.worker(workflowRuns.name, () => hanging.promise, {
    concurrency: 3,
    maxStalledCount: 10,
    leaseMs: LEASE_MS,
  });
  void consumer.run();
  const jobs = Array.from({ length: 3 }, () => ({ instanceID: newID(), epoch: 1 }));
  await createProducer(deployment.backplane).enqueue(workflowRuns, jobs);
  await eventually(async () => expect(await counts(deployment)).toMatchObject({ active: 3 }));

  await consumer.close(true);
  const other = deployment.backplane.worker(
    workflowRuns.name,
    async (job) => void taken.push(String(job.data.instanceID)),
    { concurrency: 3, maxStalledCount: 10, leaseMs: LEASE_MS },
  );
  void other.run();

  await eventually(() => expect(taken.sort()).toEqual(jobs.map(({ instanceID }) => instanceID).sort()));
  hanging.resolve();
  await other.close();
});

function counts({ backplane }: Deployment): Promise<Record<string, number>> {
  return backplane.queue(workflowRuns.name).getJobCounts();
}
