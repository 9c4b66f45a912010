import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startRedis } from '../../../servers/redis.ts';
import { redisURL } from '../../../support/backplane.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aCronJob } from '../../../support/cron.ts';
import { aTenant, aWorkflow, type TestTenant } from '../../../support/factories.ts';
import { spawnNode } from '../../../support/process.ts';
import { eventually } from '../../../support/settle.ts';

const JOBS = 45;
/** Ticks of each job that are due at the start. */
const MINUTES = 3;

let cluster: Cluster;
let tenant: TestTenant;
/** A Redis for this file alone, because it loses its data. */
let redis: Awaited<ReturnType<typeof startRedis>> | undefined;
const resources = new AsyncDisposableStack();
beforeAll(async () => {
  const dir = await mkdtemp(join(tmpdir(), 'gantry-cron-'));
  resources.defer(() => rm(dir, { recursive: true, force: true }));
  redis = redisURL ? resources.use(await startRedis({ dir })) : undefined;
  const settings = { WORKER_SESSION_SECONDS: '2', WORKER_SLOTS: '20', ...(redis && { REDIS_URL: redis.url }) };
  cluster = resources.use(await startCluster({ workers: false, settings }));
  tenant = await aTenant(cluster);
});
afterAll(() => resources.disposeAsync());

async function flush(): Promise<void> {
  if (!redis) return;
  const client = new Redis(redis.url);
  await client.flushall();
  client.disconnect();
}

const count = async (sql: string) =>
  (await cluster.pool.query<{ n: number }>(`select count(*)::int as n from ${sql}`)).rows[0]?.n ?? 0;

test('over workers of which two are killed, and with a Redis that loses its data, every tick of many jobs happens exactly once', async () => {
  const { pool } = cluster;
  // Rows of a first try are removed.
  await pool.query('truncate cron_tick, cron_job, workflow_instance cascade');
  const { id: workflowID } = await aWorkflow(cluster, { tenant });
  const columns = { creator_id: tenant.creator.id, missed_run_policy: 'all' };
  const settings = { tenantID: tenant.id, workflowID, schedule: '* * * * *', dueAgo: 60 * (MINUTES - 1), columns };
  await Promise.all(Array.from({ length: JOBS }, () => aCronJob(cluster, settings)));
  await pool.query(`update cron_job set due_at = 'infinity'`);
  /** Lets a third of them be polled. */
  const release = async () => {
    const next = 'select id from cron_job where not isfinite(due_at) order by id limit $1';
    await pool.query(`update cron_job set due_at = now() where id in (${next})`, [JOBS / 3]);
  };
  const due = await pool.query<{ id: string; first: Date }>('select id, next_at as first from cron_job');
  const firstOf = new Map(due.rows.map(({ id, first }) => [id, first.getTime()]));

  await using stack = new AsyncDisposableStack();
  const queues = ['cron.ticks', 'workflow.runs'] as const;
  stack.use(await cluster.startWorker({}, queues));
  for (let death = 0; death < 2; death += 1) {
    const victim = stack.use(spawnNode(['workers/main.ts', ...queues], cluster.env));
    await eventually(async () => expect(await count('worker_session where ended_at is null')).toBe(2));
    const before = await count('cron_tick');
    await release();
    await eventually(async () => expect(await count('cron_tick')).toBeGreaterThan(before));
    await flush();
    await victim.kill('SIGKILL');
  }
  await release();
  await eventually(async () => expect(await count('cron_job where next_at > now()')).toBe(JOBS));
  await pool.query('update cron_job set cron_job_enabled = false, next_at = null, due_at = null');
  await eventually(async () => expect(await count(`cron_tick where status = 'SCHEDULED'`)).toBe(0));

  // Disabled above: a minute that begins while ticks are read would bring others.
  const { rows } = await pool.query<{ id: string; minutes: number; ticks: number; first: Date; last: Date }>(
    `select cron_job_id as id, count(*)::int as ticks, count(distinct scheduled_at)::int as minutes,
       min(scheduled_at) as first, max(scheduled_at) as last from cron_tick group by cron_job_id`,
  );
  expect(rows).toHaveLength(JOBS);
  for (const { id, minutes, ticks, first, last } of rows) {
    const span = (last.getTime() - first.getTime()) / 60_000 + 1;
    expect([first.getTime(), ticks, span, ticks >= MINUTES]).toEqual([firstOf.get(id), minutes, minutes, true]);
  }
  expect(await count(`cron_tick where status <> 'SUCCESS' or attempts <> 1`)).toBe(0);
  const runs = await pool.query(
    'select cron_tick_id, count(*) from workflow_instance group by 1 having count(*) <> 1 or cron_tick_id is null',
  );
  expect(runs.rows).toEqual([]);
  expect(await count('workflow_instance')).toBe(await count('cron_tick'));
});

test('accounting knows the runs of cron jobs by their origin', async () => {
  const { body } = await cluster.as(tenant.creator).in(tenant).get('T/accounting');
  const ofCron = JSON.stringify(body);
  expect(ofCron).toContain('"origin":"cron"');
});
