import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { minuteAgo } from '../../../support/cron.ts';
import { testServers } from '../../../support/environment.ts';
import { aDataQuery, aTenant, aWorkflow, type TestTenant } from '../../../support/factories.ts';
import { eventually } from '../../../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

test('a job of a data query runs it, and its history says when', async () => {
  const table = `reports_${newID().replaceAll('-', '').slice(-12)}`;
  const server = new pg.Client({ connectionString: testServers.datasourceURL });
  await server.connect();
  await using _server = { [Symbol.asyncDispose]: () => server.end() };
  await server.query(`create table ${table} (region text, due timestamptz)`);
  const query = {
    query: `insert into ${table} values ({{inputs.region}}, {{inputs.due}}::timestamptz)`,
    inputDefinitions: [{ key: 'region' }, { key: 'due' }],
  };
  const { id: dataQueryID } = await aDataQuery(cluster, { tenant, query });
  const api = cluster.as(tenant.creator).in(tenant);
  const scheduledAt = minuteAgo(0);
  const created = await api.post('T/cronjobs', {
    cronJobTitle: 'A report',
    cronJobSchedule: `${scheduledAt.getUTCMinutes()} ${scheduledAt.getUTCHours()} * * *`,
    cronJobType: 'dataQuery',
    cronJobConfig: { dataQueryID, inputValues: { region: 'north', due: '{{cron.scheduledAt}}' } },
  });
  const { id } = created.body.cronJob;
  await cluster.pool.query('update cron_job set next_at = $2, due_at = $2 where id = $1', [id, scheduledAt]);
  // The tick is up to a minute old before the worker starts. By default it would then be missed.
  await cluster.startWorker({ CRON_LATE_SECONDS: '120' }, ['cron.ticks', 'workflow.runs']);

  await eventually(async () => {
    const { cronJobHistory } = (await api.get(`T/cronjobs/${id}/history`)).body;
    expect(cronJobHistory).toMatchObject([
      { status: 'SUCCESS', outcome: 'fired', triggerType: 'SCHEDULED', attempts: 1 },
    ]);
    const [tick] = cronJobHistory;
    expect(tick.scheduledAt).toBe(scheduledAt.toISOString());
    const times = [tick.scheduledAt, tick.firedAt, tick.startedAt, tick.finishedAt].map((at) => Date.parse(at));
    expect(times).toEqual(times.toSorted((one, other) => one - other));
  });
  const { rows } = await server.query(`select * from ${table}`);
  await server.query(`drop table ${table}`);
  expect(rows).toEqual([{ region: 'north', due: scheduledAt }]);
});

test('the runs of a backfill tell the worker that starts its ticks when they end', async () => {
  const { id: workflowID } = await aWorkflow(cluster, { tenant });
  const api = cluster.as(tenant.creator).in(tenant);
  const created = await api.post('T/cronjobs', {
    cronJobTitle: 'Hourly',
    cronJobSchedule: '0 * * * *',
    cronJobType: 'workflow',
    cronJobConfig: { workflowID },
    cronJobEnabled: false,
  });
  const path = `T/cronjobs/${created.body.cronJob.id}/backfills`;
  await cluster.startWorker({}, ['cron.ticks', 'workflow.runs']);

  const { backfill } = (await api.post(path, { from: '2026-03-02T00:00:00Z', to: '2026-03-02T01:00:00Z' })).body;

  await eventually(async () =>
    expect((await api.get(`${path}/${backfill.id}`)).body.backfill.counts).toMatchObject({ SUCCESS: 2 }),
  );
  const { rows } = await cluster.pool.query('select awaited_by from workflow_instance where workflow_id = $1', [
    workflowID,
  ]);
  const awaited_by = expect.stringMatching(/^backfills\./);
  expect(rows).toEqual([{ awaited_by }, { awaited_by }]);
});
