import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { reasons } from '#shared/triggers/cron/reasons.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aDataQuery, aMember, anApiKey, aTenant, aWorkflow, type TestTenant } from '../../support/factories.ts';

let cluster: Cluster;
let tenant: TestTenant;
let workflowID: string;

beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  tenant = await aTenant(cluster);
  const options = { inputDefinitions: [{ key: 'region', type: 'string' as const, required: true }] };
  workflowID = (await aWorkflow(cluster, { tenant, options })).id;
});
afterAll(() => cluster[Symbol.asyncDispose]());

const api = () => cluster.as(tenant.creator).in(tenant);
const config = () => ({ workflowID, inputValues: { region: 'north' } });
const job = (more: JsonObject = {}) => ({
  cronJobTitle: 'A report',
  cronJobSchedule: '0 9 * * 1-5',
  cronJobType: 'workflow',
  cronJobConfig: config(),
  ...more,
});

async function aJob(more: JsonObject = {}) {
  const { status, body } = await api().post('T/cronjobs', job(more));
  expect(status, JSON.stringify(body)).toBe(201);
  return body.cronJob;
}

async function refused(body: JsonObject): Promise<string> {
  const answer = await api().post('T/cronjobs', body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(400);
  return answer.body.error.message;
}

describe('a cron job', () => {
  test('is created with defaults, and says when it runs next and in words', async () => {
    const created = await aJob({ timezone: 'Europe/Berlin' });

    expect(created).toMatchObject({
      ...job(),
      cronJobID: created.id,
      tenantID: tenant.id,
      cronJobEnabled: true,
      timezone: 'Europe/Berlin',
      scheduleDescription: 'every weekday at 09:00, Europe/Berlin',
      overlapPolicy: 'allow',
      missedRunPolicy: 'skip',
      missedRunWindowSeconds: 86_400,
      jitterSeconds: 0,
      timeoutSeconds: 300,
      retryAttempts: 0,
      retryDelaySeconds: 60,
      state: 'scheduled',
      creatorID: tenant.creator.id,
    });
    const local = new Date(created.nextRunAt).toLocaleTimeString('en-GB', { timeZone: 'Europe/Berlin' });
    expect(local).toBe('09:00:00');
    expect(Date.parse(created.nextRunAt)).toBeGreaterThan(Date.now());
    expect((await api().get(`T/cronjobs/${created.id}`)).body.cronJob).toEqual(created);
    expect((await api().get('T/cronjobs?search=report')).body.cronJobs).toContainEqual(created);
  });

  test('may be written with the other names of its fields', async () => {
    const { body } = await api().post('T/cronjobs', {
      cronJobTitle: 'Other names',
      cronJobSchedule: ' 0  9 * * * ',
      workflowID,
      workflowConfig: { inputValues: { region: 'south' } },
      isDisabled: true,
    });

    expect(body.cronJob).toMatchObject({
      cronJobSchedule: '0 9 * * *',
      cronJobType: 'workflow',
      cronJobConfig: { workflowID, inputValues: { region: 'south' } },
      cronJobEnabled: false,
      state: 'disabled',
      nextRunAt: null,
    });
    const args = await aJob({ cronJobConfig: { workflowID, args: { region: 'east' } } });
    expect(args.cronJobConfig).toEqual({ workflowID, inputValues: { region: 'east' } });
  });

  test('is refused with what is wrong, and where', async () => {
    expect(await refused(job({ cronJobSchedule: '0 0 9 * * 1-5' }))).toContain(
      'cronJobSchedule: expected a cron expression of five fields (minute, hour, day of month, month, day of week), received six: there is no field for seconds; without it: "0 9 * * 1-5"',
    );
    expect(await refused(job({ timezone: '+01:00' }))).toContain('timezone: expected a time zone of the IANA');
    expect(await refused(job({ cronJobType: 'report' }))).toContain('cronJobType: expected');
    const { cronJobType: _, ...untyped } = job();
    expect(await refused(untyped)).toContain('cronJobType: expected');
    expect(await refused(job({ cronJobConfig: { inputValues: {} } }))).toContain('cronJobConfig.workflowID: expected');
    expect(await refused(job({ cronJobConfig: { workflowID } }))).toBe('cronJobConfig.inputValues.region: is required');
    const absent = '01990d3e-5c00-7a10-8000-0000000000ff';
    expect(await refused(job({ cronJobConfig: { workflowID: absent } }))).toBe(
      'cronJobConfig.workflowID: there is no such workflow',
    );
    for (const [field, value] of Object.entries({ jitterSeconds: 3_601, timeoutSeconds: 0, retryAttempts: 11 }))
      expect(await refused(job({ [field]: value }))).toContain(`${field}: expected`);
  });

  test('changes field by field, and its next run follows its calendar', async () => {
    const { id, nextRunAt } = await aJob({ cronJobSchedule: '0 0 1 1 *' });

    const renamed = await api().patch(`T/cronjobs/${id}`, { cronJobTitle: 'Renamed', retryAttempts: 2 });
    expect(renamed.body.cronJob).toMatchObject({ cronJobTitle: 'Renamed', retryAttempts: 2, nextRunAt });
    const moved = await api().patch(`T/cronjobs/${id}`, { timezone: 'America/New_York' });
    expect(Date.parse(moved.body.cronJob.nextRunAt) - Date.parse(nextRunAt)).toBe(5 * 3_600_000);
    const off = await api().patch(`T/cronjobs/${id}`, { cronJobEnabled: false });
    expect(off.body.cronJob).toMatchObject({ state: 'disabled', nextRunAt: null });
    const on = await api().patch(`T/cronjobs/${id}`, { isDisabled: false });
    expect(on.body.cronJob).toMatchObject({ state: 'scheduled', nextRunAt: moved.body.cronJob.nextRunAt });
    expect((await api().patch(`T/cronjobs/${id}`, { cronJobConfig: { workflowID } })).status).toBe(400);
    expect((await api().patch(`T/cronjobs/${id}`, { cronJobType: 'dataQuery' })).body.error.message).toContain(
      'cronJobConfig: is required for the type dataQuery',
    );
  });

  test('is copied, disabled and for the caller, and deleted', async () => {
    const { id } = await aJob({ cronJobDescription: 'Daily', jitterSeconds: 5 });
    const member = await aMember(cluster, { tenant, can: ['cronjob.read', 'cronjob.create', 'workflow.execute'] });

    const copy = await cluster.as(member).in(tenant).post(`T/cronjobs/${id}/clone`);

    expect(copy.status).toBe(201);
    expect(copy.body.cronJob).toMatchObject({
      cronJobTitle: 'A report (Copy)',
      cronJobDescription: 'Daily',
      jitterSeconds: 5,
      state: 'disabled',
      creatorID: member.id,
      cronJobConfig: config(),
    });
    expect((await api().delete(`T/cronjobs/${id}`)).status).toBe(200);
    expect((await api().get(`T/cronjobs/${id}`)).status).toBe(404);
  });
});

test('a query can be run by schedule; its runs have a graph of their own, which changes with the job', async () => {
  const { id: dataQueryID } = await aDataQuery(cluster, { tenant });
  const given = { cronJobType: 'dataQuery', cronJobConfig: { dataQueryID, inputValues: { n: 1 } } };
  const versions = async () =>
    (
      await cluster.context.pool.query<{ nodes: { data: JsonObject }[]; is_old: boolean }>(
        'select nodes, superseded_at is not null as is_old from workflow_version where tenant_id = $1 and workflow_id is null order by id',
        [tenant.id],
      )
    ).rows;
  const { id } = await aJob(given);

  expect((await versions()).map(({ nodes }) => nodes[1]?.data)).toEqual([
    { dataQueryID, inputValues: { n: '{{ctx.input["n"]}}' }, timeoutSeconds: 300 },
  ]);
  await api().patch(`T/cronjobs/${id}`, { cronJobTitle: 'The same graph' });
  expect(await versions()).toHaveLength(1);
  await api().patch(`T/cronjobs/${id}`, { timeoutSeconds: 10 });
  expect((await versions()).map(({ is_old }) => is_old)).toEqual([true, false]);
  await api().delete(`T/cronjobs/${id}`);
  expect((await versions()).map(({ is_old }) => is_old)).toEqual([true, true]);
});

test('creating, copying and giving another workflow need the permission to execute it', async () => {
  const { id } = await aJob();
  const can = ['cronjob.create', 'cronjob.read', 'cronjob.update'] as const;
  const without = cluster.as(await aMember(cluster, { tenant, can })).in(tenant);
  const withKey = cluster.withKey(await anApiKey(cluster, { tenant, can })).in(tenant);

  for (const caller of [without, withKey]) {
    expect((await caller.post('T/cronjobs', job())).status).toBe(403);
    expect((await caller.post(`T/cronjobs/${id}/clone`)).status).toBe(403);
    expect((await caller.patch(`T/cronjobs/${id}`, { cronJobConfig: config() })).status).toBe(403);
    expect((await caller.patch(`T/cronjobs/${id}`, { cronJobTitle: 'Only the title' })).status).toBe(200);
  }
});

test('a preview shows the next runs by the clock of the zone, for a job and for a schedule that is not stored', async () => {
  const { id } = await aJob({ timezone: 'Asia/Kathmandu' });

  const stored = (await api().get(`T/cronjobs/${id}/preview`)).body.preview;
  const given = { cronJobSchedule: '0 9 * * 1-5', timezone: 'Asia/Kathmandu', count: 3 };
  const { preview } = (await api().post('T/cronjobs/preview', given)).body;

  expect(stored.scheduleDescription).toBe('every weekday at 09:00, Asia/Kathmandu');
  expect(stored.runs).toHaveLength(10);
  expect(preview.runs).toEqual(stored.runs.slice(0, 3));
  expect(preview.runs[0].local).toMatch(/T09:00:00\+05:45$/);
  expect(new Date(preview.runs[0].local).toISOString()).toBe(preview.runs[0].at);
  expect((await api().post('T/cronjobs/preview', { cronJobSchedule: '61 * * * *' })).body.error.message).toContain(
    'minute: "61" is not one of 0-59',
  );
});

describe('the ticks of a job', () => {
  const history = async (id: string, query = '') => (await api().get(`T/cronjobs/${id}/history${query}`)).body;

  test('are added by a person who may execute the work, each once for a key', async () => {
    const { id } = await aJob({ cronJobEnabled: false });
    const first = await api().post(`T/cronjobs/${id}/run`, undefined, { 'Idempotency-Key': 'run' });
    const again = await api().post(`T/cronjobs/${id}/run`, undefined, { 'Idempotency-Key': 'run' });
    const [second, third] = await Promise.all([1, 2].map(() => api().post(`T/cronjobs/${id}/run`)));

    expect(first.body.cronJobHistory).toMatchObject({
      cronJobID: id,
      status: 'SCHEDULED',
      triggerType: 'MANUAL',
      outcome: 'fired',
      attempts: 0,
      instanceID: null,
      nextAttemptAt: first.body.cronJobHistory.scheduledAt,
    });
    expect(again.body.cronJobHistory).toEqual(first.body.cronJobHistory);
    const { rows } = await cluster.context.pool.query('select due_at <= now() as due from cron_job where id = $1', [
      id,
    ]);
    expect(rows).toEqual([{ due: true }]);
    const listed = await history(id);
    expect(listed).toMatchObject({ cronJobHistoryCount: 3, totalCount: 3, nextPage: null, page: 1, pageSize: 20 });
    expect(new Set(listed.cronJobHistory.map((tick: JsonObject) => tick.id))).toEqual(
      new Set([first, second, third].map((answer) => answer?.body.cronJobHistory.id)),
    );
    expect(await history(id, '?pageSize=2')).toMatchObject({ nextPage: 2, cronJobHistory: [{}, {}] });
    expect((await history(id, '?limit=2')).nextCursor).toEqual(expect.any(String));
    expect((await history(id, '?status=SUCCESS')).cronJobHistory).toEqual([]);
    const without = await aMember(cluster, { tenant, can: ['cronjob.update', 'cronjob.read'] });
    expect((await cluster.as(without).in(tenant).post(`T/cronjobs/${id}/run`)).status).toBe(403);
  });

  test('that were skipped name the run that went on at that time', async () => {
    const { id } = await aJob({ cronJobEnabled: false });
    const [early, ended, open] = [newID(), newID(), newID()];
    const add = async (minutesAgo: number, columns: object) => {
      const at = (minutes: number) => new Date(Date.now() - minutes * 60_000);
      const {
        instance,
        until,
        outcome = 'fired',
        reason = null,
      } = columns as { instance?: string; until?: number; outcome?: string; reason?: string };
      await cluster.pool.query(
        `insert into cron_tick (id, tenant_id, cron_job_id, scheduled_at, created_at, trigger_type, status, outcome, instance_id, finished_at, reason)
         values ($1, $2, $3, $4, $4, 'SCHEDULED', $5, $6, $7, $8, $9)`,
        [
          ...[newID(), tenant.id, id, at(minutesAgo), instance && until === undefined ? 'SCHEDULED' : 'FAILURE'],
          ...[outcome, instance ?? null, until === undefined ? null : at(until), reason],
        ],
      );
    };
    const busy = { outcome: 'skipped', reason: reasons.busy };
    await add(50, busy);
    await add(40, { instance: early, until: 25 });
    await add(30, busy);
    await add(20, { instance: ended, until: 15 });
    await add(10, busy);
    await add(8, { instance: open });
    await add(5, busy);
    // A pause has nothing to do with the run that happens to go on.
    await add(4, { outcome: 'skipped', reason: reasons.paused });

    const { cronJobHistory } = await history(id, '?outcome=skipped');

    expect(cronJobHistory.map((tick: JsonObject) => tick.blockedByInstanceID)).toEqual([null, open, null, early, null]);
  });

  test('are deleted with it', async () => {
    const { id } = await aJob();
    await api().post(`T/cronjobs/${id}/run`);

    await api().delete(`T/cronjobs/${id}`);

    const { rowCount } = await cluster.context.pool.query('select from cron_tick where cron_job_id = $1', [id]);
    expect(rowCount).toBe(0);
  });
});

test('a job is paused and resumed; a stopped one goes on when it is resumed or enabled', async () => {
  const { id, nextRunAt } = await aJob();

  const paused = await api().post(`T/cronjobs/${id}/pause`);
  expect(paused.body.cronJob).toMatchObject({ state: 'paused', pausedAt: expect.any(String), nextRunAt });
  expect((await api().post(`T/cronjobs/${id}/pause`)).body.cronJob.pausedAt).toBe(paused.body.cronJob.pausedAt);
  expect((await api().post(`T/cronjobs/${id}/resume`)).body.cronJob).toMatchObject({
    state: 'scheduled',
    pausedAt: null,
    nextRunAt,
  });
  for (const goOn of [
    () => api().post(`T/cronjobs/${id}/resume`),
    () => api().patch(`T/cronjobs/${id}`, { cronJobEnabled: true }),
  ]) {
    await cluster.context.pool.query(
      `update cron_job set stopped_at = now(), stop_reason = 'Not allowed', next_at = null, due_at = null where id = $1`,
      [id],
    );
    expect((await api().get(`T/cronjobs/${id}`)).body.cronJob).toMatchObject({
      state: 'stopped',
      stopReason: 'Not allowed',
      nextRunAt: null,
    });
    expect((await goOn()).body.cronJob).toMatchObject({ state: 'scheduled', stopReason: null, nextRunAt });
  }
});

test('a backfill takes no other value than a moment with its offset for one', async () => {
  const { id } = await aJob();
  const path = `T/cronjobs/${id}/backfills`;
  const from = '2026-01-01T00:00:00Z';

  for (const wrong of [null, true, 0, '1', '2026-01-01', '2026-02-30T00:00:00Z', [from], { from }])
    for (const body of [{ from: wrong }, { from, to: wrong }]) {
      const { status, body: answer } = await api().post(path, body);
      expect([wrong, status]).toEqual([wrong, 400]);
      const field = 'to' in body ? 'to' : 'from';
      expect(answer.error.message).toMatch(new RegExp(`^${field}: expected a date with a time such as 2030-`));
    }
  expect((await api().get(path)).body.backfills).toEqual([]);
  expect((await api().get('T/cronjobs?page=0x1')).status).toBe(400);
  expect((await api().get('T/cronjobs?pageSize=')).status).toBe(400);
});

test('a past range is backfilled by who may execute the work, told how far it is, and stopped', async () => {
  const { id } = await aJob({ cronJobEnabled: false });
  const path = `T/cronjobs/${id}/backfills`;
  const range = { from: '2026-03-02T00:00:00Z', to: '2026-03-06T00:00:00Z' };
  const key = { 'Idempotency-Key': 'fill' };

  const { status, body } = await api().post(path, range, key);
  expect([status, (await api().post(path, range, key)).body]).toEqual([201, body]);
  const { backfill } = body;
  expect(backfill).toMatchObject({
    cronJobID: id,
    from: '2026-03-02T00:00:00.000Z',
    to: '2026-03-06T00:00:00.000Z',
    status: 'FILLING',
    total: 0,
    creatorID: tenant.creator.id,
  });
  expect((await api().get(path)).body.backfills).toEqual([backfill]);
  const one = `${path}/${backfill.id}`;
  const shown = async () => (await api().get(one)).body.backfill;
  const { pool } = cluster.context;
  // As a worker that has found two ticks, of which one has run.
  await pool.query(
    `insert into cron_tick (id, tenant_id, cron_job_id, scheduled_at, trigger_type, status, outcome, backfill_id)
     select gen_random_uuid(), $1, $2, '2026-03-02T09:00Z'::timestamptz + make_interval(days => n), 'BACKFILL',
       case n when 0 then 'SUCCESS' else 'SCHEDULED' end, case n when 0 then 'fired' else 'queued' end, $3
     from generate_series(0, 1) n`,
    [tenant.id, id, backfill.id],
  );
  await pool.query('update cron_backfill set found = 2, left_out = 1, filled_at = now() where id = $1', [backfill.id]);
  expect(await shown()).toMatchObject({
    ...{ status: 'RUNNING', total: 2, leftOut: 1, isCut: false },
    counts: { SCHEDULED: 1, SUCCESS: 1, FAILURE: 0 },
  });
  const stopped = await api().delete(`${one}/stop`);
  expect(stopped.body.backfill).toMatchObject({
    status: 'CANCELLED',
    counts: { SCHEDULED: 0, SUCCESS: 1, FAILURE: 1 },
  });
  expect(await shown()).toMatchObject({ status: 'CANCELLED', cancelledBy: tenant.creator.id });

  const errors = [{ ...range, to: '2999-01-01T00:00:00Z' }, { from: range.to, to: range.from }, { from: 'yesterday' }];
  const answers = await Promise.all(errors.map((wrong) => api().post(path, wrong)));
  expect(answers.map(({ status: code, body: { error } }) => [code, error.message.split(':')[0]])).toEqual([
    [400, 'to'],
    [400, 'from'],
    [400, 'from'],
  ]);
  const without = await aMember(cluster, { tenant, can: ['cronjob.update', 'cronjob.read'] });
  expect((await cluster.as(without).in(tenant).post(path, range)).status).toBe(403);
  await pool.query('update cron_job set stopped_at = now() where id = $1', [id]);
  expect((await api().post(path, range)).status).toBe(409);
});

test('the status has the jobs of this tenant that the caller may read, with what goes on', async () => {
  const other = await aTenant(cluster);
  const theirs = await aWorkflow(cluster, { tenant: other });
  const own = await cluster
    .as(other.creator)
    .in(other)
    .post('T/cronjobs', job({ cronJobConfig: { workflowID: theirs.id } }));
  const { id } = own.body.cronJob;
  await cluster.as(other.creator).in(other).post(`T/cronjobs/${id}/run`);
  const { id: mine, nextRunAt } = await aJob();
  const reader = await aMember(cluster, {
    tenant,
    can: ['cronjob.list'],
    rules: [{ object: `cronjob:${mine}`, action: 'read', effect: 'allow' }],
  });

  const status = (as: { id: string; email: string }, of: TestTenant) =>
    cluster.as(as).in(of).get('T/cronjobs/status/connections');
  expect((await status(other.creator, other)).body.status).toEqual({
    [id]: { state: 'scheduled', nextRunAt: own.body.cronJob.nextRunAt, running: 1, queued: 0 },
  });
  expect((await status(reader, tenant)).body.status).toEqual({
    [mine]: { state: 'scheduled', nextRunAt, running: 0, queued: 0 },
  });
});

test('the config of a cron job has a limit of its size, under every name and wherever it is written', async () => {
  const large = { region: 'x'.repeat(300_000) };
  const { id } = await aJob();
  const answers = [
    await api().post('T/cronjobs', job({ cronJobConfig: { workflowID, inputValues: large } })),
    await api().post('T/cronjobs', {
      cronJobTitle: 'A report',
      cronJobSchedule: '0 9 * * 1-5',
      workflowID,
      workflowConfig: { inputValues: large },
    }),
    await api().patch(`T/cronjobs/${id}`, { cronJobConfig: { workflowID, inputValues: large } }),
  ];
  for (const [index, answer] of answers.entries())
    expect(answer).toMatchObject({
      status: 400,
      body: {
        error: {
          message: expect.stringContaining(
            `${index === 1 ? 'workflowConfig' : 'cronJobConfig'}: expected at most 262144 bytes of JSON`,
          ),
        },
      },
    });
});
