import { expect, test } from 'vitest';
import type { Pool } from '#shared/db/pool.ts';
import { createRunCount } from '#workers/process/run-gauge.ts';
import { type Deployment, startDeployment } from '../../support/deployment.ts';
import { explaining } from '../../support/explaining.ts';
import { eventually } from '../../support/settle.ts';
import { addWaitingRuns } from '../../support/waiting-runs.ts';

/** With fewer runs the planner rather reads all and sorts them. */
const RUNS = 40_000;

async function deploymentWithRuns(): Promise<Deployment> {
  const deployment = await startDeployment();
  await addWaitingRuns(deployment, RUNS);
  await deployment.pool.query(
    `update workflow_instance set held_by = uuidv7(), ready_at = null where id in (select id from workflow_instance where ready_at is not null limit 7)`,
  );
  await deployment.pool.query(`update workflow_instance set class = 'cron' where held_by is not null`);
  await deployment.pool.query('vacuum analyze workflow_instance');
  return deployment;
}

async function countAll(pool: Pool): Promise<Record<string, number>> {
  const { rows } = await pool.query<{ series: string; n: number }>(
    `select case when held_by is not null then 'held' when ready_at is not null then 'ready' else 'waiting' end || ' ' || class as series, count(*)::int as n
     from workflow_instance where completed_at is null group by 1`,
  );
  return Object.fromEntries(rows.map(({ series, n }) => [series, n]));
}

async function counted(count: ReturnType<typeof createRunCount>): Promise<Record<string, number>> {
  const samples = await count();
  return Object.fromEntries(samples.map(({ labels, value }) => [`${labels?.state} ${labels?.class}`, value]));
}

test('runs are counted by state and class, in one scrape or several, no scrape reads them all, and the next count sees changes', async () => {
  await using deployment = await deploymentWithRuns();
  const rowsRead = new Map<string, number>();
  const count = createRunCount(explaining(deployment.pool, rowsRead));
  const expected = await countAll(deployment.pool);
  expect(expected).toMatchObject({ 'held cron': 7 });

  await eventually(async () => expect(await counted(count)).toEqual(expected));

  expect(rowsRead.size).toBeGreaterThan(0);
  expect([...rowsRead].filter(([, rows]) => rows > 10_100)).toEqual([]);

  await deployment.pool.query(
    `update workflow_instance set completed_at = now(), held_by = null where held_by is not null`,
  );

  await eventually(async () => {
    const now = await counted(count);
    expect(now['held cron']).toBeUndefined();
    expect(now).toEqual(await countAll(deployment.pool));
  });
});
