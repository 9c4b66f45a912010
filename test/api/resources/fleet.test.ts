import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createFleetView } from '#api/fleet/fleet.ts';
import { createHourCounts } from '#api/fleet/hours.ts';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { anOperator, aTenant, aWorkflow, type TestTenant } from '../../support/factories.ts';

const FLEET = '/api/v1/operator/fleet';

let cluster: Cluster;
let tenant: TestTenant;
let token: string;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  ({ token } = await anOperator(cluster));
});
beforeEach(async () => {
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const operator = () => cluster.asOperator({ token });
/** Without what other tests have read a moment ago. */
const readNow = () => createFleetView(cluster.pool, cluster.context.runs.pausedQueues).read();

/** Each column as SQL; by default a queued run. */
async function aRun(columns: Record<string, string> = {}): Promise<string> {
  const id = newID();
  const all = {
    ...{ tenant_id: `'${tenant.id}'`, version_id: `'${newID()}'`, deadline_at: `now() + interval '1 hour'` },
    ...{ ready_at: 'now()', created_at: `now() - interval '1 minute'`, status: `'PENDING'`, caller: `'{}'` },
    ...columns,
  };
  await cluster.pool.query(
    `insert into workflow_instance (id, ${Object.keys(all).join(', ')}) values ($1, ${Object.values(all).join(', ')})`,
    [id],
  );
  return id;
}

async function aWorker(columns: Record<string, string> = {}): Promise<string> {
  const id = newID();
  const all = { expires_at: `now() + interval '1 minute'`, slots: '5', version: `'7'`, ...columns };
  await cluster.pool.query(
    `insert into worker_session (id, ${Object.keys(all).join(', ')}) values ($1, ${Object.values(all).join(', ')})`,
    [id],
  );
  return id;
}

describe('the fleet', () => {
  test('is for operators only', async () => {
    expect((await cluster.as(tenant.creator).get(FLEET)).status).toBe(401);
    const { status, body } = await operator().get(FLEET);

    expect(status).toBe(200);
    expect(Date.parse(body.backlog.at)).toBeLessThanOrEqual(Date.now());
  });

  test('says that the deployment was restored, until it is resumed', async () => {
    const snapshotAt = new Date('2026-03-01T03:00:00.000Z');
    await cluster.pool.query(
      `insert into deployment_restore (id, backup_id, snapshot_at, phase) values ($1, $1, $2, 'loaded')`,
      [newID(), snapshotAt],
    );
    try {
      expect((await readNow()).restore).toEqual({ snapshotAt, phase: 'loaded' });
    } finally {
      await cluster.pool.query('update deployment_restore set resumed_at = now()');
    }
    expect((await readNow()).restore).toBeUndefined();
  });

  test('counts what waits by class and state, each with its age', async () => {
    const ownRows = async () => (await readNow()).backlog.rows.filter(({ tenantID }) => tenantID === tenant.id);
    await aRun();
    await aRun({ created_at: `now() - interval '1 hour'`, class: `'batch'` });
    // Could not begin, and is READY again in a while: it has waited all the time.
    await aRun({ ready_at: `now() + interval '1 minute'`, class: `'batch'` });
    await aRun({ is_blocked: 'true', concurrency_key: `'a'` });
    await aRun({ ready_at: 'null', kept_since: 'now()' });
    await aRun({ dispatched_at: 'now()' });
    await aRun({ losses: '1' });
    await aRun({ held_by: `'${newID()}'`, ready_at: 'null' });
    await aRun({ ready_at: 'null', completed_at: 'now()', status: `'COMPLETED'` });

    const rows = await ownRows();

    expect(rows.map(({ class: kind, state, count }) => `${kind} ${state} ${count}`).toSorted()).toEqual([
      'batch queued 2',
      'interactive blocked 1',
      'interactive handed over 1',
      'interactive paused 1',
      'interactive queued 1',
      'interactive suspect 1',
    ]);
    const ages = new Map(rows.map(({ class: kind, oldest }) => [kind, Date.now() - oldest.getTime()]));
    expect(ages.get('batch')).toBeGreaterThan(3_590_000);
    expect(ages.get('interactive')).toBeLessThan(120_000);
  });

  test('shows a tenant with one run beside one with thousands, and says that it did not count all', async () => {
    const { pool } = cluster;
    await pool.query(
      `insert into workflow_instance (id, tenant_id, version_id, deadline_at, ready_at, created_at, caller)
       select gen_random_uuid(), $1, $1, now() + interval '1 hour', now(), now() - interval '2 hours', '{}' from generate_series(1, 3000)`,
      [tenant.id],
    );
    const crowd = tenant;
    tenant = await aTenant(cluster);
    await aRun();

    const { rows } = (await readNow()).tenants;

    expect(rows.find(({ tenantID }) => tenantID === crowd.id)).toMatchObject({ waiting: 201, isCut: true });
    expect(rows.find(({ tenantID }) => tenantID === tenant.id)).toMatchObject({ waiting: 1, isCut: false });
  });

  test('shows workers with their load, and those whose lease ran out', async () => {
    const live = await aWorker();
    await aRun({ held_by: `'${live}'`, ready_at: 'null' });
    const overdue = await aWorker({ expires_at: `now() - interval '1 second'` });
    const lost = await aWorker({ expires_at: `now() - interval '1 minute'`, ended_at: 'now()' });
    const stopped = await aWorker({ ended_at: 'now()' });

    const { rows } = (await readNow()).workers;

    const states = new Map(rows.map(({ workerID, state, runs }) => [workerID, `${state} ${runs}`]));
    expect([live, overdue, lost, stopped].map((id) => states.get(id))).toEqual([
      'live 1',
      'overdue 0',
      'lost 0',
      'stopped 0',
    ]);
  });

  test('counts failures by code, and times nodes from start to outcome', async () => {
    const ended = { ready_at: 'null', completed_at: 'now()' };
    const error = `'{"code": "TEAPOT", "message": "m", "nodeID": null, "attempt": null}'`;
    await aRun({ ...ended, status: `'FAILED'`, error });
    const newest = await aRun({ ...ended, status: `'FAILED'`, error, completed_at: `now() + interval '1 ms'` });
    const run = await aRun({ ...ended, status: `'COMPLETED'` });
    await cluster.pool.query(
      `insert into run_event (instance_id, seq, node_id, status, created_at) values
         ($1, 1, 'brew', 'RUNNING', now()), ($1, 2, 'brew', 'SUCCESS', now() + interval '90 s'),
         ($1, 3, 'ask', 'RUNNING', now()), ($1, 4, 'ask', 'SUSPENDED', now()), ($1, 5, 'ask', 'SUCCESS', now() + interval '1 day')`,
      [run],
    );

    const { failures, slowNodes } = await readNow();

    expect(failures.rows.find(({ code }) => code === 'TEAPOT')).toMatchObject({
      ...{ runs: 2, tenants: 1, lastTenantID: tenant.id, lastInstanceID: newest },
    });
    const own = slowNodes.rows.filter(({ tenantID }) => tenantID === tenant.id);
    expect(own).toMatchObject([{ nodeID: 'brew', times: 1, medianMs: 90_000 }]);
    expect(failures.sample.runs).toBeGreaterThanOrEqual(3);
  });

  test('says how long runs of each class have waited and taken', async () => {
    const ended = { ready_at: 'null', status: `'COMPLETED'`, class: `'cron'`, completed_at: 'now()' };
    // The later of the two times from which it might begin counts.
    const began = { start_at: `now() - interval '40 s'`, started_at: `now() - interval '30 s'` };
    for (let n = 0; n < 3; n += 1) await aRun({ ...ended, ...began });
    await aRun({ ...ended, started_at: `now() - interval '20 s'` });
    await aRun({ ...ended, status: `'CANCELLED'` });

    const { rows } = (await readNow()).speeds;

    const cron = rows.find(({ class: kind }) => kind === 'cron');
    expect(cron).toMatchObject({ runs: 4, waited: { p50: 10_000 }, took: { p50: 30_000 } });
    expect(cron?.waited.p99).toBeGreaterThan(35_000);
    expect(cron?.took.p99).toBeLessThanOrEqual(30_000);
  });

  test('counts the runs of each hour once, some at a time, with those that ended at the same moment', async () => {
    const { pool } = cluster;
    const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000 - 2 * 3_600_000;
    const accept = (count: number, minute: number) =>
      pool.query<{ id: string }>(
        `insert into workflow_instance (id, tenant_id, version_id, deadline_at, caller)
         select uuidv7($2::timestamptz - clock_timestamp()), $1, $1, now(), '{}' from generate_series(1, $3) returning id`,
        [tenant.id, new Date(hour + minute * 60_000), count],
      );
    const end = (ids: readonly string[], status: string, minute: number) =>
      pool.query(`update workflow_instance set status = $2, completed_at = $3 where id = any($1)`, [
        ids,
        status,
        new Date(hour + minute * 60_000),
      ]);
    const ids = (await accept(7, 59)).rows.map(({ id }) => id);
    await end(ids.slice(0, 5), 'COMPLETED', 65);
    await end(ids.slice(5, 6), 'FAILED', 66);
    const part = (await accept(1, 59)).rows[0]?.id;
    await pool.query(`update workflow_instance set map_id = $1 where id = $1`, [part]);
    const read = createHourCounts(pool, { slice: 2, statements: 6 });
    const own = async () => {
      const rows = await read();
      expect(rows).toHaveLength(24);
      return rows.filter((row) => [hour, hour + 3_600_000].includes(row.hour.getTime()));
    };

    const [first] = await Promise.all([own(), own()]);
    for (let n = 0; n < 12; n += 1) await own();

    const none = { accepted: 0, completed: 0, failed: 0, cancelled: 0 };
    expect(first?.some(({ isCut }) => isCut)).toBe(true);
    expect(await own()).toEqual([
      { ...none, hour: new Date(hour), accepted: 7, isCut: false },
      { ...none, hour: new Date(hour + 3_600_000), completed: 5, failed: 1, isCut: false },
    ]);
  });

  test('is read once for all who ask within some seconds, and a failed read is not kept', async () => {
    const asked: string[] = [];
    const { pool } = cluster;
    let isAway = true;
    const counting = {
      query(text: string, values?: unknown[]) {
        asked.push(`${text} ${JSON.stringify(values)}`);
        return isAway ? Promise.reject(new Error('away')) : pool.query(text, values);
      },
    } as unknown as typeof pool;
    const fleet = createFleetView(counting, cluster.context.runs.pausedQueues);

    await expect(fleet.read()).rejects.toThrow('away');
    isAway = false;
    asked.length = 0;
    await Promise.all(Array.from({ length: 10 }, () => fleet.read()));

    expect(asked.length).toBeGreaterThan(4);
    expect(new Set(asked).size).toBe(asked.length);
  });
});

describe('a tenant of the fleet', () => {
  const read = async () => (await operator().get(`${FLEET}/tenants/${tenant.id}`)).body;

  test('says of its oldest runs why they wait: a limit, a kind that no worker knows, a pause, a node', async () => {
    const { id: workflowID, versionID } = await aWorkflow(cluster, { tenant, title: 'Slow' });
    const own = { workflow_id: `'${workflowID}'`, version_id: `'${versionID}'` };
    await aWorker({ kinds: `'{end}'` });
    await aWorker({ kinds: `'{end,start}'`, slots: '0' });
    const handedBack = { hand_backs: '3', not_before: `now() + interval '1 minute'` };
    const unknown = await aRun({ ...own, ...handedBack, created_at: `now() - interval '2 hours'` });
    await aRun({ held_by: `'${newID()}'`, ready_at: 'null' });
    await cluster.pool.query('insert into tenant_dispatch (tenant_id, max_runs) values ($1, 1)', [tenant.id]);
    const limited = await aRun(own);
    const waiting = await aRun({ ready_at: 'null', status: `'WAITING'`, created_at: `now() - interval '1 day'` });
    await cluster.pool.query(`insert into run_wait (instance_id, node_id, kind) values ($1, 'n', 'input')`, [waiting]);
    const began = { started_at: `now() - interval '1 day'`, updated_at: `now() - interval '1 hour'` };
    const parked = await aRun({
      ...began,
      ready_at: 'null',
      status: `'WAITING'`,
      wake_at: `now() + interval '1 hour'`,
    });

    const body = await read();

    expect(body).toMatchObject({ tenantID: tenant.id, running: 1, maxRuns: 1 });
    expect(body.runs).toMatchObject([
      { instanceID: unknown, workflowTitle: 'Slow', reason: { code: 'no-worker' } },
      { instanceID: limited, reason: { code: 'tenant-limit' } },
      { instanceID: waiting, reason: { code: 'input' } },
      { instanceID: parked, reason: { code: 'delay' } },
    ]);
    // Since it was released.
    expect(Math.round((Date.now() - Date.parse(body.runs[3].since)) / 60_000)).toBe(60);
    expect(body.runs[0].reason.message).toBe('no running worker knows nodes of the kind start');
  });

  test('is not there if it is unknown', async () => {
    expect((await operator().get(`${FLEET}/tenants/${newID()}`)).status).toBe(404);
  });
});

test('tenants are found by a part of their title, whose signs are no pattern', async () => {
  const found = async (search: string) =>
    (await operator().get(`${FLEET}/tenants?search=${encodeURIComponent(search)}`)).body.tenants.map(
      ({ tenantTitle }: { tenantTitle: string }) => tenantTitle,
    );
  await aTenant(cluster, { tenantTitle: '50%_off' });

  expect(await found('%_OFF')).toEqual(['50%_off']);
  expect(await found('_o')).toEqual(['50%_off']);
});
