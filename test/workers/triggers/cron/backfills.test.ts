import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { createBackfilling, NEXT_TENANT, OLDEST_BACKFILL } from '#workers/triggers/cron/fill-backfills.ts';
import { aCronJob, aCronScheduler, ticksOf } from '../../../support/cron.ts';
import { type Deployment, startDeployment } from '../../../support/deployment.ts';
import { explaining } from '../../../support/explaining.ts';
import { noops } from '../../../support/graphs.ts';
import { eventually } from '../../../support/settle.ts';

let deployment: Deployment;
let workflowID: string;
beforeAll(async () => {
  deployment = await startDeployment();
  ({ workflowID } = await deployment.saveWorkflow(noops(1)));
});
afterAll(() => deployment[Symbol.asyncDispose]());
beforeEach(async () => {
  for (const table of ['cron_job', 'cron_end', 'workflow_instance'])
    await deployment.pool.query(`delete from ${table}`);
});

const aJob = (columns: JsonObject = {}, tenantID = deployment.tenantID) =>
  aCronJob(deployment, {
    tenantID,
    workflowID,
    schedule: '0 * * * *',
    columns: { cron_job_config: { workflowID, inputValues: { at: '{{cron.scheduledAt}}' } }, ...columns },
  });

async function aBackfill(cronJobID: string, from: string, to: string, tenantID = deployment.tenantID): Promise<string> {
  const id = newID();
  await deployment.pool.query(
    'insert into cron_backfill (id, tenant_id, cron_job_id, from_at, to_at, creator_id) values ($1, $2, $3, $4, $5, $1)',
    [id, tenantID, cronJobID, from, to],
  );
  return id;
}

async function fillAll(): Promise<void> {
  const fill = createBackfilling(deployment.pool);
  while (await fill());
}

async function backfill(id: string) {
  const { rows } = await deployment.pool.query(
    'select found, left_out, is_cut, filled_at is not null as is_filled from cron_backfill where id = $1',
    [id],
  );
  return rows[0];
}

const poll = () => aCronScheduler(deployment).poll();
const inputs = async () =>
  (
    await deployment.pool.query<{ at: string }>(`select input ->> 'at' as at from workflow_instance order by id`)
  ).rows.map(({ at }) => at.slice(0, 16));

async function endAll(): Promise<void> {
  await deployment.pool.query(
    `update workflow_instance set status = 'COMPLETED', started_at = now(), completed_at = now(), ready_at = null, dispatched_at = null where completed_at is null`,
  );
}

test('the ticks of a range are started one after the other, in their order, with the time of each', async () => {
  const id = await aJob({ cron_job_enabled: false, overlap_policy: 'skip' });
  await deployment.pool.query(
    `insert into cron_tick (id, tenant_id, cron_job_id, scheduled_at, trigger_type, status, outcome) values
     (uuidv7(), $1, $2, '2026-03-02T01:00Z', 'SCHEDULED', 'SUCCESS', 'fired'), (uuidv7(), $1, $2, '2026-03-02T02:00Z', 'SCHEDULED', 'FAILURE', 'missed')`,
    [deployment.tenantID, id],
  );
  const asked = await aBackfill(id, '2026-03-02T00:00Z', '2026-03-02T03:00Z');

  await fillAll();
  expect(await backfill(asked)).toEqual({ found: 3, left_out: 1, is_cut: false, is_filled: true });
  for (let n = 1; n <= 3; n += 1) {
    await poll();
    await poll();
    expect(await inputs()).toHaveLength(n);
    await endAll();
  }
  await poll();

  expect(await inputs()).toEqual(['2026-03-02T00:00', '2026-03-02T02:00', '2026-03-02T03:00']);
  expect((await ticksOf(deployment, id)).map(({ trigger_type, status }) => `${trigger_type} ${status}`)).toEqual([
    'BACKFILL SUCCESS',
    'SCHEDULED SUCCESS',
    'BACKFILL SUCCESS',
    'BACKFILL SUCCESS',
  ]);
});

test('if the work of ticks may overlap, ten ticks of a range run at once, the oldest first', async () => {
  const id = await aJob({ cron_job_enabled: false, overlap_policy: 'allow' });
  await aBackfill(id, '2026-03-02T00:00Z', '2026-03-02T11:00Z');
  await fillAll();

  await poll();
  await poll();
  const hours = Array.from({ length: 12 }, (_, hour) => `2026-03-02T${String(hour).padStart(2, '0')}:00`);
  expect(await inputs()).toEqual(hours.slice(0, 10));
  await endAll();
  await poll();

  expect(await inputs()).toEqual(hours);
});

test.each(['skip', 'allow'])(
  'with %s, the end of a tick starts the next, without the poll of each second',
  async (policy) => {
    const id = await aJob({ cron_job_enabled: false, overlap_policy: policy });
    await aBackfill(id, '2026-03-02T00:00Z', '2026-03-02T23:00Z');
    await fillAll();
    const { messages } = deployment.backplane;
    using scheduler = aCronScheduler(deployment, { messages });
    await scheduler.poll();

    // The worker that ends a run tells the process that has started it.
    const told = new Set<string>();
    await eventually(async () => {
      await endAll();
      const { rows } = await deployment.pool.query<{ id: string; awaited_by: string; has_ended: boolean }>(
        'select id, awaited_by, completed_at is not null as has_ended from workflow_instance',
      );
      // One that has begun since `endAll` ends the next time.
      for (const { id: instanceID, awaited_by } of rows.filter((row) => row.has_ended && !told.has(row.id))) {
        told.add(instanceID);
        await messages.publish(awaited_by, [{ instanceID }]);
      }
      expect(rows).toHaveLength(24);
    });
  },
);

test('a long range is filled page by page as its ticks are worked off, up to a thousand', async () => {
  const id = await aJob();
  const asked = await aBackfill(id, '2026-01-01T00:00Z', '2026-03-15T00:00Z');

  await fillAll();
  expect(await backfill(asked)).toEqual({ found: 100, left_out: 0, is_cut: false, is_filled: false });
  await fillAll();
  expect(await backfill(asked)).toMatchObject({ found: 100 });
  for (let page = 2; page <= 10; page += 1) {
    await deployment.pool.query(`update cron_tick set status = 'SUCCESS', outcome = 'fired'`);
    await fillAll();
  }

  expect(await backfill(asked)).toEqual({ found: 1_000, left_out: 0, is_cut: true, is_filled: true });
  expect(new Set((await ticksOf(deployment, id)).map(({ scheduled_at }) => scheduled_at.getTime())).size).toBe(1_000);
});

test('a backfill waits neither for those of another tenant, nor for those of its own whose jobs have waiting ticks', async () => {
  const { pool } = deployment;
  const range = ['2026-03-01T00:00Z', '2026-03-31T00:00Z'] as const;
  for (let n = 0; n < 25; n += 1) await aBackfill(await aJob(), ...range);
  await fillAll();
  const fill = createBackfilling(pool);
  const own = await aBackfill(await aJob(), ...range);
  const others = [];
  for (const tenantID of [newID(), newID()]) {
    await pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'Another', $1)`, [tenantID]);
    others.push(await aBackfill(await aJob({}, tenantID), ...range, tenantID));
  }

  for (let n = 0; n < 3; n += 1) await fill();

  expect(await Promise.all(others.map(backfill))).toMatchObject([{ found: 100 }, { found: 100 }]);
  // Two rounds examine all backfills of the tenant.
  while (await fill());
  await fill();
  expect(await backfill(own)).toMatchObject({ found: 100 });
});

test('the ticks of the job itself come before those of a backfill, and wait for the one that runs', async () => {
  const id = await aJob({ overlap_policy: 'skip' });
  await aBackfill(id, '2026-03-02T00:00Z', '2026-03-02T05:00Z');
  await fillAll();
  await poll();
  await deployment.pool.query(
    `update cron_job set next_at = date_trunc('hour', now()), due_at = now(), missed_run_policy = 'last' where id = $1`,
    [id],
  );

  await poll();
  expect((await ticksOf(deployment, id)).at(-1)).toMatchObject({ trigger_type: 'SCHEDULED', outcome: 'queued' });
  await endAll();
  await poll();

  expect((await ticksOf(deployment, id)).at(-1)).toMatchObject({ attempts: 1, status: 'SCHEDULED' });
  expect(await inputs()).toHaveLength(2);
});

test('looking for backfills reads the open ones alone, also with a plan made beside an empty table', async () => {
  const { pool } = deployment;
  // The locks are taken on what was found.
  const texts = [NEXT_TENANT, OLDEST_BACKFILL.replace(/for no key update.*/, '')];
  for (const text of texts) {
    const { rows } = await pool.query<{ 'QUERY PLAN': string }>(`explain ${text}`, [deployment.tenantID]);
    expect(rows.map((row) => row['QUERY PLAN']).join(' ')).toContain('using cron_backfill_open');
  }

  const id = await aJob();
  await pool.query(
    `insert into cron_backfill (id, tenant_id, cron_job_id, from_at, to_at, creator_id, filled_at) select uuidv7(), $1, $2, now(), now(), $1, now() from generate_series(1, 2000)`,
    [deployment.tenantID, id],
  );
  const rowsRead = new Map<string, number>();
  for (const text of texts) await explaining(pool, rowsRead).query(text, [deployment.tenantID]);
  for (const read of rowsRead.values()) expect(read).toBeLessThan(10);
});
