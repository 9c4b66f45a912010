import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { inTransaction } from '#shared/db/pool.ts';
import { findOverdue } from '#workers/engine/recovery/overdue-runs.ts';
import { trimTicks } from '#workers/triggers/cron/page.ts';
import { aCronJob, aCronScheduler, ticksOf } from '../../../support/cron.ts';
import { type Deployment, startDeployment } from '../../../support/deployment.ts';
import { explaining } from '../../../support/explaining.ts';
import { noops } from '../../../support/graphs.ts';
import { spawnNode } from '../../../support/process.ts';
import { eventually } from '../../../support/settle.ts';

let deployment: Deployment;
let workflowID: string;
let versionID: string;
beforeAll(async () => {
  deployment = await startDeployment();
  ({ workflowID, versionID } = await deployment.saveWorkflow(noops(1)));
});
afterAll(() => deployment[Symbol.asyncDispose]());
beforeEach(async () => {
  for (const table of ['cron_job', 'cron_end', 'run_notice', 'workflow_instance'])
    await deployment.pool.query(`delete from ${table}`);
});

const poll = (more: Parameters<typeof aCronScheduler>[1] = {}) => aCronScheduler(deployment, more).poll();
const aJob = (more: Omit<Parameters<typeof aCronJob>[1], 'workflowID'> = {}) =>
  aCronJob(deployment, { workflowID, ...more });
const ticks = (id: string) => ticksOf(deployment, id);

async function runs() {
  const { rows } = await deployment.pool.query<{
    id: string;
    caller: JsonObject;
    class: string;
    input: JsonObject;
    cron_tick_id: string;
    seconds: number;
  }>(
    `select id, caller, class, input, cron_tick_id, round(extract(epoch from deadline_at - created_at))::int as seconds from workflow_instance order by id`,
  );
  return rows;
}

/** Ends the run of a tick, as a worker or a person does. */
async function end(instanceID: string | null | undefined, status: 'COMPLETED' | 'FAILED' | 'CANCELLED' = 'COMPLETED') {
  const error =
    status === 'FAILED'
      ? JSON.stringify({ code: 'NODE_FAILED', message: 'No such order', nodeID: 'a', attempt: 1 })
      : null;
  await deployment.pool.query(
    `update workflow_instance set status = $2, started_at = now(), completed_at = now(), ready_at = null, dispatched_at = null, error = $3 where id = $1`,
    [instanceID, status, error],
  );
}

/** The scheduler polls jobs by the clock of the database: this makes attempts due that wait for their time. */
async function passTime(): Promise<void> {
  await deployment.pool.query(`update cron_tick set start_at = now() where start_at is not null`);
  await deployment.pool.query(`update cron_job set due_at = now() where due_at is not null`);
}

describe('a tick that is due', () => {
  test('starts one run as the creator of the job, and is over when the run is', async () => {
    const config = {
      workflowID,
      inputValues: { at: 'at {{cron.scheduledAt}}, try {{cron.attempt}}', kept: '{{ctx.a}}', n: 1 },
    };
    const creatorID = newID();
    const id = await aJob({
      dueAgo: 0,
      columns: { cron_job_config: config, creator_id: creatorID, timeout_seconds: 20 },
    });

    await poll();
    await poll();

    const [tick, ...others] = await ticks(id);
    const [run, ...more] = await runs();
    expect([others, more]).toEqual([[], []]);
    expect(tick).toMatchObject({
      status: 'SCHEDULED',
      outcome: 'fired',
      trigger_type: 'SCHEDULED',
      attempts: 1,
      instance_id: run?.id,
    });
    expect(run).toMatchObject({
      class: 'cron',
      caller: { type: 'user', id: creatorID, userID: creatorID, origin: 'cron', originID: id },
      input: { at: `at ${tick?.scheduled_at.toISOString()}, try 1`, kept: '{{ctx.a}}', n: 1 },
      cron_tick_id: tick?.id,
      seconds: 20,
    });
    await end(run?.id);
    await poll();
    expect((await ticks(id))[0]).toMatchObject({
      status: 'SUCCESS',
      started_at: expect.any(Date),
      finished_at: expect.any(Date),
      error: null,
    });
    const { rows } = await deployment.pool.query(
      'select next_at > now() as later, due_at = next_at as same from cron_job where id = $1',
      [id],
    );
    expect(rows).toEqual([{ later: true, same: true }]);
    expect((await deployment.pool.query('select from cron_end')).rowCount).toBe(0);
  });

  test('names the job in the error of a run that takes longer than the job allows', async () => {
    await aJob({ dueAgo: 0, columns: { timeout_seconds: 20 } });
    await poll();
    await deployment.pool.query('update workflow_instance set deadline_at = now()');

    const [overdue] = await findOverdue(deployment.pool, { max: 1, except: [] });

    expect(overdue?.message).toBe('The run took longer than 20 s (`timeoutSeconds` of its cron job)');
  });

  test('runs a query by the graph of the job', async () => {
    const dataQueryID = newID();
    await deployment.pool.query(
      `insert into data_query (id, tenant_id, data_query_title, data_query_options, datasource_type, creator_id) values ($1, $2, 'Q', '{}', 'tenantdb', $2)`,
      [dataQueryID, deployment.tenantID],
    );
    const columns = {
      cron_job_type: 'dataQuery',
      cron_job_config: { dataQueryID, inputValues: { n: 1 } },
      version_id: versionID,
    };
    const id = await aJob({ dueAgo: 0, columns });

    await poll();

    expect(await ticks(id)).toMatchObject([{ outcome: 'fired', status: 'SCHEDULED' }]);
    expect(await runs()).toMatchObject([{ input: { n: 1 }, caller: { origin: 'cron' } }]);
  });

  test('fails with the error of its run, after the attempts that the job allows', async () => {
    const id = await aJob({ dueAgo: 0, columns: { retry_attempts: 1, retry_delay_seconds: 3_600 } });
    await poll();
    const [first] = await ticks(id);
    await end(first?.instance_id, 'FAILED');

    await poll();
    const [waiting] = await ticks(id);
    expect(waiting).toMatchObject({ status: 'SCHEDULED', attempts: 1, error: { code: 'NODE_FAILED' } });
    expect((waiting?.start_at?.getTime() ?? 0) - Date.now()).toBeGreaterThan(3_000_000);
    await poll();
    expect(await runs()).toHaveLength(1);

    await passTime();
    await poll();
    const [second] = await ticks(id);
    expect(second).toMatchObject({ attempts: 2, start_at: null, fired_at: first?.fired_at });
    expect(second?.instance_id).not.toBe(first?.instance_id);
    await end(second?.instance_id, 'FAILED');
    await poll();
    expect(await ticks(id)).toMatchObject([
      { status: 'FAILURE', attempts: 2, error: { code: 'NODE_FAILED', message: 'No such order' } },
    ]);
  });

  test('has as many attempts more as the job allows, each with its own run', async () => {
    const id = await aJob({ dueAgo: 0, columns: { retry_attempts: 3, retry_delay_seconds: 1 } });
    for (let n = 1; n <= 5; n += 1) {
      await poll();
      await end((await ticks(id))[0]?.instance_id, 'FAILED');
      await poll();
      await passTime();
    }

    expect(await ticks(id)).toMatchObject([{ status: 'FAILURE', attempts: 4 }]);
    expect(await runs()).toHaveLength(4);
  });

  test('is not tried again after a person has stopped its run', async () => {
    const id = await aJob({ dueAgo: 0, columns: { retry_attempts: 5 } });
    await poll();
    await end((await ticks(id))[0]?.instance_id, 'CANCELLED');

    await poll();

    expect(await ticks(id)).toMatchObject([{ status: 'FAILURE', attempts: 1, error: { code: 'CANCELLED' } }]);
  });
});

describe('a job', () => {
  test.each([
    ['whose creator may not execute the workflow any more', { rights: { may: async () => false } }, {}],
    ['whose workflow is gone', {}, { cron_job_config: { workflowID: newID(), inputValues: {} } }],
  ])('%s stops, and its tick says why', async (_what, more, columns) => {
    const id = await aJob({ dueAgo: 0, columns: { ...columns, retry_attempts: 3 } });

    await poll(more);
    await passTime();
    await poll(more);

    const reason = 'There is no such workflow, or the creator of the cron job may not execute it any more';
    expect(await ticks(id)).toMatchObject([
      { status: 'FAILURE', outcome: 'refused', error: { code: 'PERMISSION_DENIED', message: reason } },
    ]);
    const { rows } = await deployment.pool.query(
      'select stop_reason, stopped_at is not null as stopped, next_at, due_at from cron_job where id = $1',
      [id],
    );
    expect(rows).toEqual([{ stop_reason: reason, stopped: true, next_at: null, due_at: null }]);
    expect(await runs()).toEqual([]);
  });

  test('that stops ends the ticks that wait, and none of them begins', async () => {
    const columns = { overlap_policy: 'queue-one', cron_job_config: { workflowID, inputValues: {} } };
    const id = await aJob({ dueAgo: 0, columns });
    const waiting = `insert into cron_tick (id, tenant_id, cron_job_id, scheduled_at, trigger_type, status, outcome, attempts)
      select uuidv7(), $1, $2, at, 'SCHEDULED', 'SCHEDULED', 'queued', 0 from unnest($3::timestamptz[]) as at`;
    await deployment.pool.query(waiting, [deployment.tenantID, id, ['2026-03-02T01:00Z', '2026-03-02T02:00Z']]);

    await poll({ rights: { may: async () => false } });
    await passTime();
    await poll();

    const shown = (await ticks(id)).map(({ outcome, status }) => `${outcome} ${status}`);
    expect(shown.slice(0, 2)).toEqual(['refused FAILURE', 'refused FAILURE']);
    expect(shown.filter((one) => one.endsWith('SCHEDULED'))).toEqual([]);
    expect(await runs()).toEqual([]);
  });

  test('goes on after ticks that could not begin: a disabled workflow, wrong inputs, a quota that is used up', async () => {
    const disabled = await deployment.saveWorkflow(noops(1));
    await deployment.pool.query('update workflow set is_disabled = true where id = $1', [disabled.workflowID]);
    const typed = await deployment.saveWorkflow(noops(1), {
      inputDefinitions: [{ key: 'n', type: 'number', required: true }],
    });
    const of = (id: string) => aJob({ dueAgo: 0, columns: { cron_job_config: { workflowID: id, inputValues: {} } } });
    const ids = [await of(disabled.workflowID), await of(typed.workflowID)];

    await poll();

    const found = await Promise.all(ids.map(ticks));
    expect(found.flat().map(({ status, outcome, error }) => [status, outcome, error?.message])).toEqual([
      ['FAILURE', 'refused', 'The workflow is disabled'],
      ['FAILURE', 'refused', 'cronJobConfig.inputValues.n: is required'],
    ]);
    const { rows } = await deployment.pool.query(
      'select next_at > now() as goes_on from cron_job where stopped_at is null',
    );
    expect(rows).toEqual([{ goes_on: true }, { goes_on: true }]);
  });

  test('that is paused records its ticks and starts none; a disabled one has none', async () => {
    const paused = await aJob({ dueAgo: 0, columns: { paused_at: new Date().toISOString() } });
    const disabled = await aJob({ dueAgo: 0, columns: { cron_job_enabled: false } });

    await poll();

    expect(await ticks(paused)).toMatchObject([
      { status: 'FAILURE', outcome: 'skipped', reason: 'The job was paused', error: { code: 'SKIPPED' } },
    ]);
    expect(await ticks(disabled)).toEqual([]);
    expect(await runs()).toEqual([]);
  });
});

describe('while the work of an earlier tick goes on', () => {
  /** A job whose first tick runs, and whose next is due. */
  async function busyJob(policy: string): Promise<string> {
    const id = await aJob({ dueAgo: 0, columns: { overlap_policy: policy } });
    await poll();
    await dueAgain(id);
    return id;
  }
  /** Makes the tick due again, and the recorded ones earlier. */
  const dueAgain = async (id: string) => {
    await deployment.pool.query(
      `update cron_job set next_at = t.at, due_at = t.at from (select max(scheduled_at) as at from cron_tick where cron_job_id = $1) t where id = $1`,
      [id],
    );
    await deployment.pool.query(
      `update cron_tick set scheduled_at = scheduled_at - interval '1 day' where cron_job_id = $1`,
      [id],
    );
  };
  const outcomes = async (id: string) => (await ticks(id)).map(({ outcome, status }) => `${outcome} ${status}`);

  test('`allow` starts another', async () => {
    const id = await busyJob('allow');
    await poll();
    expect(await outcomes(id)).toEqual(['fired SCHEDULED', 'fired SCHEDULED']);
  });

  test('`skip` starts none, and says so', async () => {
    const id = await busyJob('skip');
    await poll();
    expect(await outcomes(id)).toEqual(['fired SCHEDULED', 'skipped FAILURE']);
    expect((await ticks(id))[1]?.reason).toBe('The work of an earlier tick had not ended');
    expect(await runs()).toHaveLength(1);
  });

  test('`queue-one` lets one wait, which begins when the work has ended', async () => {
    const id = await busyJob('queue-one');
    await poll();
    await dueAgain(id);
    await poll();
    expect(await outcomes(id)).toEqual(['fired SCHEDULED', 'queued SCHEDULED', 'skipped FAILURE']);
    expect(await runs()).toHaveLength(1);

    await end((await ticks(id))[0]?.instance_id);
    await poll();
    expect(await outcomes(id)).toEqual(['fired SUCCESS', 'fired SCHEDULED', 'skipped FAILURE']);
    expect(await runs()).toHaveLength(2);
  });

  test('`cancel-old` cancels it and starts the new one, also if the process dies before it cancels', async () => {
    const id = await busyJob('cancel-old');
    const [first] = await ticks(id);
    const dying = { ...deployment.runs, end: () => Promise.reject(new Error('died')) };
    await expect(poll({ runs: dying })).rejects.toThrow('died');
    const { rows } = await deployment.pool.query('select instance_id, kind from run_notice');
    expect(rows).toEqual([{ instance_id: first?.instance_id, kind: 'cancel' }]);
    await end(first?.instance_id, 'CANCELLED');
    await poll();
    expect(await outcomes(id)).toEqual(['fired FAILURE', 'fired SCHEDULED']);

    await dueAgain(id);
    await poll();
    const second = (await ticks(id))[1];
    expect((await deployment.read(second?.instance_id ?? '')).status).toBe('CANCELLED');
  });

  test('`cancel-old` waits for that of a backfill, and a tick that waits gives way to the next', async () => {
    const { pool, tenantID } = deployment;
    const id = await aJob({ dueAgo: 0, columns: { overlap_policy: 'cancel-old' } });
    await pool.query(
      `insert into cron_tick (id, tenant_id, cron_job_id, scheduled_at, trigger_type, status, outcome, attempts)
       values (uuidv7(), $1, $2, '2026-03-02T01:00Z', 'BACKFILL', 'SCHEDULED', 'fired', 1)`,
      [tenantID, id],
    );
    await poll();
    expect(await outcomes(id)).toEqual(['fired SCHEDULED', 'queued SCHEDULED']);

    await dueAgain(id);
    await poll();
    expect(await outcomes(id)).toEqual(['fired SCHEDULED', 'skipped FAILURE', 'queued SCHEDULED']);
    expect((await ticks(id))[1]).toMatchObject({ reason: 'A later tick took its place', error: { code: 'SKIPPED' } });
    expect(await runs()).toEqual([]);

    await pool.query(`update cron_tick set status = 'SUCCESS' where trigger_type = 'BACKFILL'`);
    await passTime();
    await poll();
    expect(await outcomes(id)).toEqual(['fired SUCCESS', 'skipped FAILURE', 'fired SCHEDULED']);
    expect(await runs()).toHaveLength(1);
  });
});

test('missed ticks that wait are started one after the other, in their order', async () => {
  const columns = { overlap_policy: 'skip', missed_run_policy: 'all' };
  const id = await aJob({ schedule: '* * * * *', dueAgo: 480, columns });
  await poll();
  await deployment.pool.query('update cron_job set next_at = null');

  const started: Date[] = [];
  for (let n = 0; n < 6; n += 1) {
    const [tick, ...others] = (await ticks(id)).filter(
      ({ status, instance_id }) => status === 'SCHEDULED' && instance_id,
    );
    expect(others).toEqual([]);
    if (tick) started.push(tick.scheduled_at);
    await end(tick?.instance_id);
    await poll();
  }

  const [first = new Date(0)] = started;
  expect(started).toEqual([0, 1, 2, 3, 4, 5].map((n) => new Date(first.getTime() + n * 60_000)));
});

test('a row of the ledger that exists keeps its tick from being started again', async () => {
  const id = await aJob({ dueAgo: 0 });
  await poll();
  const { rows } = await deployment.pool.query<{ scheduled_at: Date }>('select scheduled_at from cron_tick');
  await deployment.pool.query('update cron_job set next_at = $1, due_at = $1', [rows[0]?.scheduled_at]);

  await poll();

  expect(await ticks(id)).toHaveLength(1);
  expect(await runs()).toHaveLength(1);
});

test('tenants are interleaved: the ticks of one with many jobs come between those of the others', async () => {
  const other = newID();
  await deployment.pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'T', $1)`, [other]);
  for (let n = 0; n < 120; n += 1) await aJob({ dueAgo: 0 });
  // Due last, of a tenant that has no such workflow.
  const last = await aJob({ tenantID: other, dueAgo: 0 });
  const pages: number[] = [];
  const watching = { ...deployment.runs, dispatchQueued: async () => pages.push((await ticks(last)).length) };

  await poll({ runs: watching });

  expect(pages).toEqual([1, 1, 1]);
  expect((await deployment.pool.query('select from cron_tick')).rowCount).toBeGreaterThanOrEqual(121);
});

test('a job that becomes due while a herd is polled does not wait for the rest of the herd', async () => {
  const { pool } = deployment;
  const other = newID();
  await pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'T', $1)`, [other]);
  const one = await aJob({ dueAgo: 0 });
  await pool.query(
    `insert into cron_job select (jsonb_populate_record(null::cron_job, to_jsonb(j) || jsonb_build_object('id', uuidv7()))).* from cron_job j, generate_series(2, 200) where j.id = $1`,
    [one],
  );
  const last = await aJob({ tenantID: other, dueAgo: 0 });
  await pool.query(`update cron_job set due_at = 'infinity' where id = $1`, [last]);
  let left = 0;
  const dispatchQueued = async () => {
    await pool.query(`update cron_job set due_at = now() where not isfinite(due_at)`);
    if ((await ticks(last)).length > 0 && left === 0)
      left = (await pool.query('select from cron_job where due_at <= now()')).rowCount ?? 0;
    return 0;
  };
  const scheduler = aCronScheduler(deployment, { runs: { ...deployment.runs, dispatchQueued }, pollMs: 0 });

  await scheduler.poll();

  expect(left).toBeGreaterThanOrEqual(100);
  expect((await pool.query('select from cron_tick')).rowCount).toBe(201);
  const [of = { value: 0 }] = scheduler.stats.ticks.samples;
  // The other tenant has no such workflow.
  expect(scheduler.stats.ticks.samples).toEqual([
    { labels: { outcome: 'fired' }, value: 200 },
    { labels: { outcome: 'refused' }, value: 1 },
  ]);
  expect(scheduler.stats.lateSeconds / of.value).toBeGreaterThan(0);
  expect(scheduler.stats.lateSeconds / of.value).toBeLessThan(150);
});

test.each(['before-commit', 'after-commit'])(
  'a worker that is killed %s leaves the tick started once',
  async (point) => {
    const id = await aJob({ dueAgo: 0 });

    await using worker = spawnNode(['test/workers/triggers/cron/poll-and-die.ts', point], deployment.env);
    await eventually(() => expect(worker.child.signalCode).toBe('SIGKILL'));
    expect(await runs()).toHaveLength(point === 'after-commit' ? 1 : 0);
    expect(await ticks(id)).toHaveLength(point === 'after-commit' ? 1 : 0);
    // The locks of the dead worker end with its connection.
    await eventually(async () => {
      await poll();
      expect(await ticks(id)).toMatchObject([{ status: 'SCHEDULED' }]);
    });

    const [run, ...others] = await runs();
    expect(others).toEqual([]);
    expect(run?.cron_tick_id).toBe((await ticks(id))[0]?.id);
  },
);

test('polls read the jobs that are due, and no others, also with plans made beside empty tables', async () => {
  const { pool } = deployment;
  const rowsRead = new Map<string, number>();
  const scheduler = (rows: Map<string, number>) => aCronScheduler({ ...deployment, pool: explaining(pool, rows) });
  await scheduler(rowsRead).poll();
  const texts = [...rowsRead.keys()];
  expect(texts.length).toBe(2);
  for (const text of texts) {
    const { rows } = await pool.query<{ 'QUERY PLAN': string }>(`explain ${text}`, [100]);
    expect(rows.map((row) => row['QUERY PLAN']).join(' ')).toMatch(/using cron_(job_due|end_job)/);
  }

  const id = await aJob();
  await pool.query(
    `insert into cron_job select (jsonb_populate_record(null::cron_job, to_jsonb(j) || jsonb_build_object('id', uuidv7()))).* from cron_job j, generate_series(1, 2000) where j.id = $1`,
    [id],
  );
  await aJob({ dueAgo: 0 });
  rowsRead.clear();
  await scheduler(rowsRead).poll();
  expect(Math.max(...rowsRead.values())).toBeLessThan(10);
});

test('a job keeps its last thousand ticks, those that go on and those of its backfills', async () => {
  const { pool, tenantID } = deployment;
  const [job, other] = [await aJob(), await aJob()];
  for (const [id, number] of [
    [job, 1_010],
    [other, 5],
  ] as const)
    await pool.query(
      `insert into cron_tick (id, tenant_id, cron_job_id, scheduled_at, trigger_type, status, outcome, backfill_id)
       select gen_random_uuid(), $1, $2, '2026-01-01'::timestamptz + make_interval(mins => n), 'SCHEDULED',
         case when n = 3 then 'SCHEDULED' else 'SUCCESS' end, 'fired', case when n = 7 then gen_random_uuid() end
       from generate_series(1, $3::int) n`,
      [tenantID, id, number],
    );

  await inTransaction(pool, (client) => trimTicks(client, [job, other]));

  const { rows } = await pool.query<{ job: string; n: number }>(
    `select cron_job_id as job, (extract(epoch from scheduled_at - '2026-01-01'::timestamptz) / 60)::int as n
     from cron_tick order by scheduled_at`,
  );
  const last = Array.from({ length: 1_000 }, (_, at) => at + 11);
  expect(rows.filter((row) => row.job === job).map(({ n }) => n)).toEqual([3, 7, ...last]);
  expect(rows.filter((row) => row.job === other).map(({ n }) => n)).toEqual([1, 2, 3, 4, 5]);
});
