import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { insertRuns, type NewRun } from '#shared/runs/accept.ts';
import { FIND_FORGOTTEN } from '#shared/runs/accounting.ts';
import { createRuns } from '#shared/runs/runs.ts';
import { createWakeTimer } from '#workers/engine/recovery/wake-timer.ts';
import { createWithheldRuns } from '#workers/engine/recovery/withheld-runs.ts';
import { type Deployment, startDeployment } from '../../../support/deployment.ts';
import { testLogger } from '../../../support/environment.ts';
import { explaining } from '../../../support/explaining.ts';
import { noops } from '../../../support/graphs.ts';

let deployment: Deployment;
let workflowID: string;
let versionID: string;
beforeAll(async () => {
  deployment = await startDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());

beforeEach(async () => {
  const { pool } = deployment;
  for (const table of ['workflow_instance', 'worker_session', 'dispatch_turn'])
    await pool.query(`delete from ${table}`);
  await pool.query('update tenant set paused_at = null');
  await pool.query(
    `insert into worker_session (id, expires_at, slots, version) values ($1, now() + interval '1 hour', 8, 't')`,
    [newID()],
  );
  ({ workflowID, versionID } = await deployment.saveWorkflow(noops(1)));
});

/** The window has 10 runs; one is reserved for tenants that have nothing in flight. */
const CAPACITY = 9;

async function accept(count: number, more: Partial<NewRun> = {}): Promise<string[]> {
  const runs = Array.from({ length: count }, () => deployment.newRun(versionID, {}, { workflowID, ...more }));
  return insertRuns(deployment.pool, runs);
}

const pause = (what: 'workflow' | 'tenant' = 'workflow', id = workflowID) =>
  deployment.pool.query(`update ${what} set paused_at = now() where id = $1`, [id]);
const resume = (what: 'workflow' | 'tenant' = 'workflow', id = workflowID) =>
  deployment.pool.query(`update ${what} set paused_at = null where id = $1`, [id]);

/** Those that workers have been handed, in the order of their acceptance. */
async function dispatched(): Promise<string[]> {
  await deployment.runs.dispatchQueued().catch(() => undefined);
  const { rows } = await deployment.pool.query<{ id: string }>(
    'select id from workflow_instance where dispatched_at is not null order by id',
  );
  return rows.map(({ id }) => id);
}

const withheldRuns = () => createWithheldRuns(deployment.pool);

test('runs that come in during a pause are withheld, and begin after it in their order, before later ones', async () => {
  await pause();
  const first = await accept(6);
  const single = await deployment.runs.accept(deployment.newRun(versionID, {}, { workflowID }));
  const second = await accept(5);
  expect(await dispatched()).toEqual([]);

  await resume();
  // It would pass those before it, if it were READY.
  const late = await accept(1);
  expect(await dispatched()).toEqual([]);
  expect(await withheldRuns().release()).toBe(13);

  expect(await dispatched()).toEqual([...first, single.instanceID, ...second.slice(0, 2)]);
  expect(late).toHaveLength(1);
});

test('runs that were in the queue before the pause are withheld, however many, and find their places again', async () => {
  const ids = await accept(2_500);
  await pause();
  const later = await accept(1);

  expect(await dispatched()).toEqual([]);
  expect(await withheldRuns().withholdRuns()).toBe(2_500);
  expect(await withheldRuns().withholdRuns()).toBe(0);
  expect(await withheldRuns().release()).toBe(0);
  expect(await dispatched()).toEqual([]);

  await resume();
  expect(await withheldRuns().release()).toBe(2_501);
  expect(await dispatched()).toEqual(ids.slice(0, CAPACITY));
  expect(later).toHaveLength(1);
});

test('of more paused workflows than a round looks at, the next round sees to the rest', async () => {
  const { pool, newRun } = deployment;
  const { rows } = await pool.query<{ id: string }>(
    `insert into workflow select (jsonb_populate_record(w, jsonb_build_object('id', uuidv7()))).*
     from workflow w, generate_series(1, 120) where w.id = $1 returning id`,
    [workflowID],
  );
  const many = rows.map(({ id }) => id).sort();
  await insertRuns(
    pool,
    many.map((id) => newRun(versionID, {}, { workflowID: id })),
  );
  await pool.query('update workflow set paused_at = now() where id = any($1::uuid[])', [many]);
  const { withholdRuns, release } = withheldRuns();

  expect([await withholdRuns(), await withholdRuns()]).toEqual([100, 20]);
  await resume('workflow', many.at(-1));
  expect([await release(), await release()]).toEqual([0, 1]);
  await pool.query('delete from workflow where id = any($1::uuid[])', [many]);
});

test('runs that have begun go on, and so do those that they start', async () => {
  const [begun = '', child = '', fresh = ''] = await accept(3);
  await deployment.pool.query('update workflow_instance set started_at = now() where id = $1', [begun]);
  await deployment.pool.query('update workflow_instance set parent_id = $2 where id = $1', [child, begun]);
  await pause();
  await withheldRuns().withholdRuns();

  expect(await dispatched()).toEqual([begun, child]);
  expect((await deployment.read(fresh)).ready_at).toBeNull();
});

test('a run that has begun and is woken is dispatched at once', async () => {
  const [begun = '', fresh = ''] = await accept(2);
  await deployment.pool.query('update workflow_instance set started_at = now() where id = $1', [begun]);
  await pause();

  await deployment.runs.dispatch([fresh]);
  await deployment.runs.dispatch([begun]);

  expect((await deployment.read(begun)).dispatched_at).not.toBeNull();
  expect((await deployment.read(fresh)).dispatched_at).toBeNull();
});

test('the intake of a tenant is that of all its workflows; one that is paused itself stays so', async () => {
  const { tenantID } = deployment;
  const other = await deployment.saveWorkflow(noops(1));
  const [queued = ''] = await accept(1);
  await pause('tenant', tenantID);
  await pause();
  const withheld = await accept(1);
  const ofOther = await accept(1, { workflowID: other.workflowID, versionID: other.versionID });
  const ofNone = await accept(1, { workflowID: null });
  const stranger = newID();
  await deployment.pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'T', $1)`, [stranger]);
  const free = await accept(1, { tenantID: stranger, workflowID: null });

  expect(await withheldRuns().withholdRuns()).toBe(1);
  expect(await dispatched()).toEqual(free);

  await resume('tenant', tenantID);
  expect(await withheldRuns().release()).toBe(2);
  expect(await dispatched()).toEqual([...ofOther, ...ofNone, ...free]);
  await resume();
  expect(await withheldRuns().release()).toBe(2);
  expect(await dispatched()).toEqual([queued, ...withheld, ...ofOther, ...ofNone, ...free]);
});

test('a run whose time to begin comes during a pause is withheld, and rings no alarm again', async () => {
  const [id = ''] = await accept(1, { startAt: new Date(Date.now() + 3_600_000) });
  await pause();
  await deployment.pool.query(`update workflow_instance set wake_at = now() where id = $1`, [id]);
  const woken: string[][] = [];
  const runs = {
    ...deployment.runs,
    wake(ids: readonly string[]) {
      woken.push([...ids]);
      return deployment.runs.wake(ids);
    },
  };
  await using wakeTimer = createWakeTimer({ pool: deployment.pool, runs, logger: testLogger, isLeader: () => true });

  await wakeTimer.fireDue();
  expect(await withheldRuns().withholdRuns()).toBe(1);
  await wakeTimer.fireDue();

  expect(woken).toEqual([[id]]);
  expect(await dispatched()).toEqual([]);
  await resume();
  await withheldRuns().release();
  expect(await dispatched()).toEqual([id]);
});

test('the time limit of a withheld run begins after the pause', async () => {
  const [before = ''] = await accept(1);
  await pause();
  const [during = ''] = await accept(1);
  await withheldRuns().withholdRuns();
  // A pause of a day, and a limit of an hour.
  await deployment.pool.query(
    `update workflow_instance set kept_since = kept_since - interval '1 day', deadline_at = deadline_at - interval '1 day'`,
  );
  const secondsLeft = async (id: string) => {
    const { rows } = await deployment.pool.query<{ s: number }>(
      'select extract(epoch from deadline_at - now())::float8 as s from workflow_instance where id = $1',
      [id],
    );
    return rows[0]?.s;
  };
  for (const id of [before, during]) expect(await secondsLeft(id)).toBeGreaterThan(3_600);

  await resume();
  await withheldRuns().release();

  for (const id of [before, during]) {
    expect(await secondsLeft(id)).toBeGreaterThan(3_500);
    expect(await secondsLeft(id)).toBeLessThanOrEqual(3_600);
  }
});

test('a cancelled run does not come back, and withheld ones are not taken for forgotten', async () => {
  await pause();
  const [cancelled = '', withheld = ''] = await accept(2);
  await deployment.runs.stop(deployment.tenantID, cancelled);
  const { rows } = await deployment.pool.query(FIND_FORGOTTEN, ['00000000-0000-0000-0000-000000000000', 5_000]);
  expect(rows).toMatchObject([{ last: withheld, looked_at: 1, forgotten: 0, ids: null }]);

  await resume();
  expect(await withheldRuns().release()).toBe(1);
  expect(await dispatched()).toEqual([withheld]);
});

test('a dispatch, a round of the sweep and accepting read none of 20,000 withheld runs', async () => {
  const { pool, producer, backplane } = deployment;
  await pause();
  await pool.query(
    `insert into workflow_instance (id, tenant_id, creator_id, workflow_id, version_id, class, kept_since, deadline_at, caller)
     select uuidv7(), t.id, t.creator_id, $2, $3, 'batch', now(), now() + interval '1000 years', '{}'
     from tenant t, generate_series(1, ${WITHHELD_RUNS}) where t.id = $1`,
    [deployment.tenantID, workflowID, versionID],
  );
  await pool.query('vacuum analyze workflow_instance');
  const other = await deployment.saveWorkflow(noops(1));
  const ids = await accept(20, { workflowID: other.workflowID, versionID: other.versionID });
  const rowsRead = new Map<string, number>();
  const explained = explaining(pool, rowsRead);
  const dependencies = { dispatchPool: explained, producer, messages: backplane.messages, logger: testLogger };
  const runs = createRuns({ pool: explained, ...dependencies });

  await runs.dispatchQueued().catch(() => undefined);
  const sweep = createWithheldRuns(explained);
  await sweep.withholdRuns();
  await sweep.release();
  await insertRuns(explained as never, [deployment.newRun(versionID, {}, { workflowID })]);

  expect(rowsRead.size).toBeGreaterThan(4);
  expect([...rowsRead].filter(([, rows]) => rows > 300)).toEqual([]);
  expect(await dispatched()).toEqual(ids.slice(0, CAPACITY));
});

/** `KEPT_RUNS=100000` for the figure of the guide. */
const WITHHELD_RUNS = Number(process.env.KEPT_RUNS ?? 20_000);

test('statements that were planned beside empty tables find queued and withheld runs by their own indexes', async () => {
  await using young = await startDeployment();
  const { pool, tenantID } = young;
  const rowsRead = new Map<string, number>();
  const explained = explaining(pool, rowsRead);
  const { producer, backplane } = young;
  const dependencies = { dispatchPool: explained, producer, messages: backplane.messages, logger: testLogger };
  const runs = createRuns({ pool: explained, ...dependencies });
  const sweep = createWithheldRuns(explained);
  await runs.accept(young.newRun(newID()));
  await pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, kept_since, deadline_at, caller) values ($1, $2, $1, now(), now(), '{}')`,
    [newID(), tenantID],
  );
  await sweep.withholdRuns();
  await sweep.release();
  await runs.dispatch([newID()]);
  await pool.query('delete from workflow_instance');
  await pool.query('vacuum analyze workflow_instance');

  const indexes = new Set<string>();
  const about = [...rowsRead.keys()].filter((text) => text.includes('kept_since'));
  for (const text of about) {
    await pool.query('discard plans');
    await pool.query(`prepare asked as ${text}`);
    const values = text.includes('any($1')
      ? `'{${newID()}}'`
      : text.includes('$1::jsonb')
        ? `'[]'`
        : `'${tenantID}'${text.includes('$2') ? `, '${tenantID}'` : ''}`;
    const { rows } = await pool.query<{ 'QUERY PLAN': string }>(`explain execute asked (${values})`);
    await pool.query('deallocate asked');
    for (const row of rows)
      for (const [, name = ''] of row['QUERY PLAN'].matchAll(/using (workflow_instance\w+)/g)) indexes.add(name);
  }
  expect(about.length).toBeGreaterThan(4);
  expect([...indexes].sort()).toEqual([
    'workflow_instance_dispatched',
    'workflow_instance_held',
    'workflow_instance_kept',
    'workflow_instance_pkey',
    'workflow_instance_queue',
  ]);
});
