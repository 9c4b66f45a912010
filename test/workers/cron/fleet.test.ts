import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aCronJob, minuteAgo } from '../../support/cron.ts';
import { aTenant, aWorkflow, type TestTenant } from '../../support/factories.ts';
import { type Spawned, spawnNode } from '../../support/process.ts';
import { eventually } from '../../support/settle.ts';

const JOBS = 200;
/** Ticks of each job that are due at the start. */
const MINUTES = 3;

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: false, settings: { WORKER_SESSION_SECONDS: '2', WORKER_SLOTS: '20' } });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const count = async (sql: string) =>
  (await cluster.pool.query<{ n: number }>(`select count(*)::int as n from ${sql}`)).rows[0]?.n ?? 0;

test('over three workers that are killed at random, every tick of 200 jobs happens exactly once', async () => {
  const { pool } = cluster;
  const { id: workflowID } = await aWorkflow(cluster, { tenant });
  const columns = { creator_id: tenant.creator.id, missed_run_policy: 'all' };
  const settings = { tenantID: tenant.id, workflowID, schedule: '* * * * *', dueAgo: 60 * (MINUTES - 1), columns };
  for (let n = 0; n < JOBS; n += 1) await aCronJob(cluster, settings);
  // Disabled once its ticks are looked at: a minute that begins meanwhile brings others.
  const first = minuteAgo(60 * (MINUTES - 1));

  await using stack = new AsyncDisposableStack();
  const workers: Spawned[] = [1, 2, 3].map(() => stack.use(spawnNode(['workers/main.ts'], cluster.env)));
  for (const killAt of [1, JOBS]) {
    await eventually(async () => expect(await count('cron_tick')).toBeGreaterThanOrEqual(killAt), 30_000);
    const [victim] = workers.splice(Math.floor(Math.random() * workers.length), 1);
    await victim?.kill('SIGKILL');
    workers.push(stack.use(spawnNode(['workers/main.ts'], cluster.env)));
  }
  await eventually(async () => expect(await count('cron_job where next_at > now()')).toBe(JOBS), 30_000);
  await pool.query('update cron_job set cron_job_enabled = false, next_at = null, due_at = null');
  await eventually(async () => expect(await count(`cron_tick where status = 'SCHEDULED'`)).toBe(0), 45_000);

  const { rows } = await pool.query<{ minutes: number; ticks: number; holes: number }>(
    `select count(*)::int as ticks, count(distinct scheduled_at)::int as minutes,
       (extract(epoch from max(scheduled_at) - $1) / 60)::int + 1 - count(*)::int as holes from cron_tick group by cron_job_id`,
    [first],
  );
  expect(rows).toHaveLength(JOBS);
  for (const { minutes, ticks, holes } of rows) expect([ticks, holes, ticks >= MINUTES]).toEqual([minutes, 0, true]);
  expect(await count(`cron_tick where status <> 'SUCCESS' or attempts <> 1`)).toBe(0);
  const runs = await pool.query(
    'select cron_tick_id, count(*) from workflow_instance group by 1 having count(*) <> 1 or cron_tick_id is null',
  );
  expect(runs.rows).toEqual([]);
  expect(await count('workflow_instance')).toBe(await count('cron_tick'));
}, 120_000);

test('accounting knows the runs of cron jobs by their origin', async () => {
  const { body } = await cluster.as(tenant.creator).in(tenant).get('T/accounting');
  const ofCron = JSON.stringify(body);
  expect(ofCron).toContain('"origin":"cron"');
});
