import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { insertRuns, type NewRun } from '#shared/runs/accept.ts';
import { DISPATCH, HAS_WAITING } from '#shared/runs/dispatch/fair-dispatch.ts';
import { createRuns, type Runs } from '#shared/runs/runs.ts';
import { limitsOf } from '#shared/workflow/limits.ts';
import { WorkflowOptions } from '#shared/workflow/options.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';
import { explaining } from '#test/support/explaining.ts';
import { noops } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';

let deployment: Deployment;
let versionID: string;
const leaseID = newID();
beforeAll(async () => {
  deployment = await startDeployment();
  versionID = await deployment.saveVersion(noops(1));
});
afterAll(() => deployment[Symbol.asyncDispose]());

/** Empties a window of `slots` × 1.25 runs. */
async function empty({ slots }: { slots: number }): Promise<void> {
  const { pool } = deployment;
  for (const table of ['workflow_instance', 'worker_session', 'dispatch_turn', 'freed_key', 'tenant_dispatch'])
    await pool.query(`delete from ${table}`);
  await pool.query(
    `insert into worker_session (id, expires_at, slots, version) values ($1, now() + interval '1 hour', $2, 't')`,
    [leaseID, slots],
  );
}

beforeEach(() => empty({ slots: 8 }));

async function aTenant(creatorID = newID()): Promise<string> {
  const id = newID();
  await deployment.pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'T', $2)`, [
    id,
    creatorID,
  ]);
  return id;
}

/** Queues runs and dispatches none; class `batch`, of no workflow. */
async function queue(tenantID: string, count: number, more: Partial<NewRun> = {}): Promise<string[]> {
  const { pool, newRun } = deployment;
  const runs = Array.from({ length: count }, () => newRun(versionID, {}, { tenantID, class: 'batch', ...more }));
  const ids = await insertRuns(pool, runs);
  return ids;
}

/** The outcomes of the runs that a dispatch visits, as the metric counts them. */
async function countDispatches(): Promise<Record<string, number>> {
  const read = () =>
    deployment.runs.dispatchCounts.samples.map(({ labels, value }) => [labels?.outcome ?? '', value] as const);
  const before = new Map(read());
  await dispatch();
  const added = read().map(([outcome, value]) => [outcome, value - (before.get(outcome) ?? 0)] as const);
  return Object.fromEntries(added.filter(([, value]) => value > 0));
}

/** The rows say what is dispatched. On a busy machine the queue may not take the jobs in time, which the sweep repairs. */
async function dispatch(runs: Pick<Runs, 'dispatchQueued'> = deployment.runs): Promise<void> {
  await runs.dispatchQueued().catch(() => undefined);
}

async function inWindow(): Promise<Record<string, number>> {
  const { rows } = await deployment.pool.query<{ tenant_id: string; n: number }>(
    `select tenant_id, count(*)::int as n from workflow_instance where dispatched_at is not null or held_by is not null group by 1`,
  );
  return Object.fromEntries(rows.map(({ tenant_id, n }) => [tenant_id, n]));
}

async function isDispatched(ids: readonly string[]): Promise<boolean[]> {
  const rows = await Promise.all(ids.map((id) => deployment.read(id)));
  return rows.map(({ dispatched_at, held_by }) => dispatched_at !== null || held_by !== null);
}

/** Makes dispatched runs owned, as a claim does. */
async function claim(ids: readonly string[]): Promise<void> {
  await deployment.pool.query(
    `update workflow_instance set status = 'RUNNING', held_by = $2, epoch = epoch + 1, ready_at = null, dispatched_at = null, started_at = coalesce(started_at, now())
     where id = any($1::uuid[]) and dispatched_at is not null`,
    [ids, leaseID],
  );
}

/** Ends runs, owned or not. */
async function end(ids: readonly string[]): Promise<void> {
  await deployment.runs.end({ tenantID: null, ids, status: 'CANCELLED', error: null });
}

async function dispatched(): Promise<string[]> {
  const { rows } = await deployment.pool.query<{ id: string }>(
    'select id from workflow_instance where dispatched_at is not null',
  );
  return rows.map(({ id }) => id);
}

describe('a dispatch', () => {
  test('shares the window between tenants, regardless of who queued first', async () => {
    const [many, few] = [await aTenant(), await aTenant()];
    await queue(many, 40);
    await queue(few, 3);

    await dispatch();

    expect(await inWindow()).toEqual({ [many]: 6, [few]: 3 });
  });

  test('shares it by creators, and then by the tenants of a creator', async () => {
    const creator = newID();
    const own = [await aTenant(creator), await aTenant(creator), await aTenant(creator)];
    const other = await aTenant();
    for (const tenantID of [...own, other]) await queue(tenantID, 10);

    await dispatch();

    const shares = await inWindow();
    expect(shares[other]).toBeGreaterThanOrEqual(4);
    expect(own.map((id) => shares[id])).not.toContain(undefined);
  });

  test('gives a tenant of weight 4 four times as much', async () => {
    await empty({ slots: 40 });
    const [heavy, light] = [await aTenant(), await aTenant()];
    await deployment.pool.query('insert into tenant_dispatch (tenant_id, weight) values ($1, 4)', [heavy]);
    await queue(heavy, 60);
    await queue(light, 60);

    await dispatch();

    expect(await inWindow()).toEqual({ [heavy]: 37, [light]: 9 });
  });

  test('serves every tenant in turn when there are more than places', async () => {
    const tenants = await Promise.all(Array.from({ length: 25 }, () => aTenant()));
    for (const id of tenants) await queue(id, 20);
    const served = new Map<string, number>();
    // Each round ends what has been dispatched.
    for (let round = 0; round < 10; round += 1) {
      await dispatch();
      for (const [id, n] of Object.entries(await inWindow())) served.set(id, (served.get(id) ?? 0) + n);
      await deployment.pool.query('delete from workflow_instance where dispatched_at is not null');
    }

    const counts = tenants.map((id) => served.get(id) ?? 0);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  });

  test('visits all queues in turn, also when the first ones have nothing that may begin', async () => {
    const paused = await Promise.all(Array.from({ length: 40 }, () => aTenant()));
    const last = await aTenant();
    await deployment.pool.query('insert into tenant_dispatch (tenant_id, max_runs) select unnest($1::uuid[]), 1', [
      paused,
    ]);
    for (const id of paused) {
      const [first = ''] = await queue(id, 2);
      await deployment.pool.query('update workflow_instance set dispatched_at = now() where id = $1', [first]);
      await claim([first]);
    }
    await empty2slots();
    const [id = ''] = await queue(last, 1);

    await dispatch();

    expect(await isDispatched([id])).toEqual([true]);
  });

  async function empty2slots(): Promise<void> {
    await deployment.pool.query('update worker_session set slots = 40');
  }

  test('lets no class starve another', async () => {
    await empty({ slots: 1 });
    const tenantID = await aTenant();
    await queue(tenantID, 130, { class: 'interactive' });
    const batch = await queue(tenantID, 130);
    let ofBatch = 0;
    for (let round = 0; round < 120; round += 1) {
      await dispatch();
      const ids = await dispatched();
      expect(ids).not.toEqual([]);
      ofBatch += ids.filter((id) => batch.includes(id)).length;
      await deployment.pool.query('delete from workflow_instance where id = any($1::uuid[])', [ids]);
    }

    // About a sixteenth to a ninth. None: less than one in a thousand tries.
    expect(ofBatch).toBeGreaterThan(0);
    expect(ofBatch).toBeLessThan(60);
  });

  test('keeps places for tenants that have nothing in flight, and some of them for interactive runs', async () => {
    await empty({ slots: 40 });
    const [busy, other, idle] = [await aTenant(), await aTenant(), await aTenant()];
    await queue(busy, 100);
    await dispatch();
    expect(await inWindow()).toEqual({ [busy]: 46 });

    await queue(busy, 10, { class: 'interactive' });
    await dispatch();
    expect(await inWindow()).toEqual({ [busy]: 48 });

    await queue(other, 5);
    await queue(idle, 5);
    await dispatch();
    expect(await inWindow()).toEqual({ [busy]: 48, [other]: 1, [idle]: 1 });
  });

  test('is skipped by one run of a tenant that has nothing in flight, and not by those beside it', async () => {
    // Four of fifty places are kept.
    await empty({ slots: 40 });
    const [busy, newcomer] = [await aTenant(), await aTenant()];
    await queue(busy, 50);
    await dispatch();
    expect(await inWindow()).toEqual({ [busy]: 46 });
    const run = () => deployment.newRun(versionID, {}, { tenantID: newcomer, class: 'batch' });

    await Promise.all([deployment.runs.accept(run()), deployment.runs.accept(run()), deployment.runs.accept(run())]);

    expect(await inWindow()).toEqual({ [busy]: 46, [newcomer]: 1 });
  });

  test('takes the head start of a run into account', async () => {
    await empty({ slots: 1 });
    const tenantID = await aTenant();
    const [early = ''] = await queue(tenantID, 1);
    const [late = ''] = await queue(tenantID, 1, { priority: 30 });
    await deployment.pool.query(`update workflow_instance set ready_at = now() - interval '20 seconds' where id = $1`, [
      early,
    ]);

    await dispatch();
    expect(await isDispatched([early, late])).toEqual([false, true]);
  });

  test('that is asked for during another one follows it, once for all that ask', async () => {
    const { pool, producer, backplane } = deployment;
    const [begun, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const query = async (statement: { name?: string }, ...more: unknown[]) => {
      const result = await Reflect.apply(pool.query, pool, [statement, ...more]);
      if (statement.name === 'dispatch_runs') {
        begun.resolve();
        await answer.promise;
      }
      return result;
    };
    const slow = new Proxy(pool, { get: (of, key) => (key === 'query' ? query : Reflect.get(of, key)) });
    const { messages } = backplane;
    const runs = createRuns({ pool: slow, dispatchPool: slow, producer, messages, logger: testLogger });
    const ids = await queue(await aTenant(), 1);
    const first = runs.dispatchQueued();
    await begun.promise;
    ids.push(...(await queue(await aTenant(), 1)));

    const second = runs.dispatchQueued();
    expect(runs.dispatchQueued()).toBe(second);
    answer.resolve();
    await Promise.allSettled([first, second]);

    expect(await isDispatched(ids)).toEqual([true, true]);
  });

  test('and direct dispatches are counted by whether the queue has taken the jobs', async () => {
    const { pool, producer, backplane } = deployment;
    const needs = { pool, dispatchPool: pool, messages: backplane.messages, logger: testLogger };
    const [runs, away] = [
      createRuns({ ...needs, producer }),
      createRuns({
        ...needs,
        producer: { ...producer, enqueue: () => Promise.reject(new Error('The queue is away')) },
      }),
    ];
    await runs.dispatch(await queue(await aTenant(), 1));
    await queue(await aTenant(), 2);
    await runs.dispatchQueued();
    await queue(await aTenant(), 3);
    await expect(away.dispatchQueued()).rejects.toThrow('The queue is away');

    expect([runs, away].map(({ jobCounts }) => jobCounts.samples)).toEqual([
      [
        { labels: { kind: 'woken', outcome: 'added' }, value: 1 },
        { labels: { kind: 'refill', outcome: 'added' }, value: 2 },
      ],
      [{ labels: { kind: 'refill', outcome: 'failed' }, value: 3 }],
    ]);
  });

  test('of a tenant that is being deleted takes nothing', async () => {
    const tenantID = await aTenant();
    await deployment.pool.query('update tenant set deleting_at = now() where id = $1', [tenantID]);
    await queue(tenantID, 3);

    await dispatch();

    expect(await inWindow()).toEqual({});
  });

  test('that was planned beside an empty table reads only what it dispatches, also beside many runs', async () => {
    await using young = await startDeployment();

    const { rows } = await young.pool.query<{ 'QUERY PLAN': string }>(`explain ${DISPATCH}`);

    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    const indexes = new Set(
      [...plan.matchAll(/using (\w+) on (?:workflow_instance|tenant)\b/g)].map(([, index]) => index),
    );
    expect([...indexes].sort()).toEqual([
      'tenant_deleting',
      'tenant_paused',
      'workflow_instance_blocked',
      'workflow_instance_dispatched',
      'workflow_instance_held',
      'workflow_instance_key',
      'workflow_instance_pkey',
      'workflow_instance_queue',
      'workflow_instance_started',
    ]);
  });

  test('reads as many rows beside 20,000 runs and 1,000 tenants as the window has places', async () => {
    const { pool } = deployment;
    await empty({ slots: 50 });
    await pool.query(
      `with made as (insert into tenant (id, tenant_title, creator_id) select uuidv7(), 'T', gen_random_uuid() from generate_series(1, 1000) returning id, creator_id)
       insert into workflow_instance (id, tenant_id, creator_id, version_id, ready_at, deadline_at, caller)
       select uuidv7(), id, creator_id, $1, now(), now() + interval '1 hour', '{}' from made`,
      [versionID],
    );
    await pool.query(
      `insert into workflow_instance (id, tenant_id, version_id, class, ready_at, deadline_at, caller)
       select uuidv7(), $1, $2, 'batch', now(), now() + interval '1 hour', '{}' from generate_series(1, 20000)`,
      [await aTenant(), versionID],
    );
    await pool.query('vacuum analyze workflow_instance, tenant');
    const rowsRead = new Map<string, number>();
    const explained = explaining(pool, rowsRead);
    const { producer, backplane } = deployment;
    const runs = createRuns({
      pool: explained,
      dispatchPool: explained,
      producer,
      messages: backplane.messages,
      logger: testLogger,
    });

    await dispatch(runs);
    expect(Object.values(await inWindow()).reduce((sum, n) => sum + n, 0)).toBe(63);

    expect([...rowsRead.values()].filter((rows) => rows > 2_000)).toEqual([]);
  });
});

describe('a limit', () => {
  const options = (more: JsonObject) => WorkflowOptions.parse(more);
  const limited = (of: JsonObject, workflowID: string, input: JsonObject = {}): Partial<NewRun> => ({
    workflowID,
    input,
    limits: limitsOf(options(of), { workflowID, input }),
  });

  test('of a tenant counts what is in flight, and frees its places with the lease of a dead worker', async () => {
    const tenantID = await aTenant();
    await deployment.pool.query('insert into tenant_dispatch (tenant_id, max_runs) values ($1, 2)', [tenantID]);
    const ids = await queue(tenantID, 5);

    await dispatch();
    const first = await dispatched();
    await claim(first);
    await dispatch();
    expect(await inWindow()).toEqual({ [tenantID]: 2 });

    // As the sweep does when the lease has ended.
    await deployment.pool.query(
      'update workflow_instance set held_by = null, ready_at = now(), epoch = epoch + 1 where held_by is not null',
    );
    await dispatch();
    expect(await inWindow()).toEqual({ [tenantID]: 2 });
    expect(ids).toHaveLength(5);
  });

  test('of a workflow holds up no other workflow of the tenant', async () => {
    const tenantID = await aTenant();
    const [one, other] = [newID(), newID()];
    await queue(tenantID, 30, limited({ maxRunsAtOnce: 2 }, one));
    const ids = await queue(tenantID, 2, { workflowID: other });

    await dispatch();
    await dispatch();

    expect(await inWindow()).toEqual({ [tenantID]: 4 });
    expect(await isDispatched(ids)).toEqual([true, true]);
  });

  test('of a rate counts the runs that began in the period', async () => {
    const tenantID = await aTenant();
    const workflowID = newID();
    const ids = await queue(tenantID, 6, limited({ rate: { limit: 3, per: 'minute' } }, workflowID));

    await dispatch();
    // Those of the first dispatch have not begun yet.
    await dispatch();
    expect(await inWindow()).toEqual({ [tenantID]: 3 });
    await claim(ids);
    await end(await ownedIDs());
    await dispatch();
    expect(await inWindow()).toEqual({});

    await deployment.pool.query(
      `update workflow_instance set started_at = now() - interval '61 seconds' where id = $1`,
      [ids[0]],
    );
    await dispatch();
    expect(await inWindow()).toEqual({ [tenantID]: 1 });
  });

  async function ownedIDs(): Promise<string[]> {
    const { rows } = await deployment.pool.query<{ id: string }>(
      'select id from workflow_instance where held_by is not null',
    );
    return rows.map(({ id }) => id);
  }

  const key = (onLimit: string, limit = 1, more: JsonObject = {}) => ({
    concurrency: { key: '{{ctx.input.customer}}', limit, onLimit, ...more },
  });

  test('of a key is held until the run has ended, while it waits too', async () => {
    const tenantID = await aTenant();
    const workflowID = newID();
    const ids = await queue(tenantID, 3, limited(key('queue'), workflowID, { customer: 7 }));
    const others = await queue(tenantID, 1, limited(key('queue'), workflowID, { customer: 8 }));

    await dispatch();
    expect(await isDispatched([...ids, ...others])).toEqual([true, false, false, true]);
    await claim(ids);
    // Parked.
    await deployment.pool.query(`update workflow_instance set status = 'WAITING', held_by = null where id = $1`, [
      ids[0],
    ]);
    await dispatch();
    expect(await isDispatched(ids)).toEqual([false, false, false]);

    await end([ids[0] ?? '']);
    await dispatch();
    expect(await isDispatched(ids.slice(1))).toEqual([true, false]);
  });

  test('of a key is held while the worker of its run is dead, and by the run that lost it', async () => {
    const tenantID = await aTenant();
    const of = limited(key('queue'), newID(), { customer: 7 });
    const [holder = '', next = ''] = await queue(tenantID, 2, of);
    await dispatch();
    await claim([holder]);
    const { pool } = deployment;
    const others = async () => {
      const [further = ''] = await queue(tenantID, 1, of);
      await dispatch();
      return await isDispatched([next, further]);
    };

    await pool.query(`update worker_session set expires_at = now() - interval '1 second' where id = $1`, [leaseID]);
    await pool.query(
      `insert into worker_session (id, expires_at, slots, version) values ($1, now() + interval '1 hour', 8, 't')`,
      [newID()],
    );
    expect(await others()).toEqual([false, false]);
    await pool.query('update worker_session set ended_at = now() where id = $1', [leaseID]);
    expect(await others()).toEqual([false, false]);
    // As the sweep releases it: a crash-suspected run, which is not dispatched.
    const release =
      'update workflow_instance set held_by = null, ready_at = now(), epoch = epoch + 1, losses = $2 where id = $1';
    await pool.query(release, [holder, 1]);
    expect(await others()).toEqual([false, false]);
    expect(await isDispatched([holder])).toEqual([false]);
    await pool.query(release, [holder, 0]);
    expect(await others()).toEqual([false, false]);
    expect(await isDispatched([holder])).toEqual([true]);

    await end([holder]);
    await dispatch();
    expect(await isDispatched([next])).toEqual([true]);
  });

  test('of a key lets the runs behind go on, however many wait for it', async () => {
    const tenantID = await aTenant();
    const workflowID = newID();
    await queue(tenantID, 300, limited(key('queue'), workflowID, { customer: 7 }));
    const [behind = ''] = await queue(tenantID, 1, limited(key('queue'), workflowID, { customer: 8 }));

    await dispatch();

    expect(await isDispatched([behind])).toEqual([true]);
    expect(await inWindow()).toEqual({ [tenantID]: 2 });
  });

  test('of a key makes no other run give way while only runs of that key wait', async () => {
    const waits = async () => (await deployment.pool.query<{ waiting: boolean }>(HAS_WAITING)).rows[0]?.waiting;
    const tenantID = await aTenant();
    const of = limited(key('queue'), newID(), { customer: 7 });
    expect(await waits()).toBe(false);
    await queue(tenantID, 3, of);
    expect(await waits()).toBe(true);
    await dispatch();
    expect(await waits()).toBe(true);
    await claim(await dispatched());

    expect(await waits()).toBe(false);

    await deployment.pool.query(
      `update workflow_instance set not_before = now() + interval '1 hour' where id = any($1::uuid[])`,
      [await queue(tenantID, 1)],
    );
    expect(await waits()).toBe(false);
    await queue(tenantID, 1);
    expect(await waits()).toBe(true);
  });

  test('of a key drops or fails a further run, which says so', async () => {
    const tenantID = await aTenant();
    for (const [onLimit, status, outcome] of [
      ['drop', 'CANCELLED', 'dropped'],
      ['fail', 'FAILED', 'failed'],
    ] as const) {
      const ids = await queue(tenantID, 3, limited(key(onLimit, 2), newID(), { customer: 7 }));
      expect(await countDispatches()).toEqual({ admitted: 2, [outcome]: 1 });

      const rows = await Promise.all(ids.map((id) => deployment.read(id)));
      expect(rows.map((row) => row.status)).toEqual(['PENDING', 'PENDING', status]);
      expect(rows[2]?.error?.code).toBe('CONCURRENCY_LIMIT');
      expect(rows[2]?.error?.message).toMatch(/2 other runs with the key "7" had not ended$/);
    }
  });

  test('of a key drops many runs together, all but one that the database refuses to end', async () => {
    const { pool } = deployment;
    const ids = await queue(await aTenant(), 16, limited(key('drop'), newID(), { customer: 7 }));
    const [first, refused = ''] = ids;
    await pool.query(
      `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`,
    );
    await pool.query(
      `create trigger refuse before update on workflow_instance for each row
       when (new.id = '${refused}'::uuid and new.status = 'CANCELLED') execute function refuse()`,
    );

    await dispatch();

    const { rows } = await pool.query<{ status: string; runs: number; moments: number }>(
      `select status, count(*)::int as runs, count(distinct completed_at)::int as moments from workflow_instance
       where id = any($1::uuid[]) group by 1 order by 1`,
      [ids],
    );
    const [dropped, left] = rows;
    expect(dropped).toMatchObject({ status: 'CANCELLED', runs: 14 });
    // Halved four times at the most, by each of two dispatches; alone, each has a moment of its own.
    expect(dropped?.moments).toBeLessThan(10);
    expect(left).toMatchObject({ status: 'PENDING', runs: 2 });
    expect(await isDispatched([first ?? '', refused])).toEqual([true, false]);
    await pool.query('drop trigger refuse on workflow_instance; drop function refuse()');
  });

  test('of a key cancels the old run for the new one', async () => {
    const tenantID = await aTenant();
    const workflowID = newID();
    const of = limited(key('cancel-old'), workflowID, { customer: 7 });
    const [old = ''] = await queue(tenantID, 1, of);
    await dispatch();
    await claim([old]);
    const [middle = '', last = ''] = await queue(tenantID, 2, of);

    expect(await countDispatches()).toEqual({ superseded: 1, old: 1, admitted: 1 });

    const rows = await Promise.all([old, middle, last].map((id) => deployment.read(id)));
    expect(rows.map(({ status, error }) => [status, error?.code])).toEqual([
      ['CANCELLED', 'SUPERSEDED'],
      ['CANCELLED', 'SUPERSEDED'],
      ['PENDING', undefined],
    ]);
    expect(await isDispatched([last])).toEqual([true]);
  });

  test('of a key with several places cancels the oldest of its runs for a new one, and no other', async () => {
    const of = limited(key('cancel-old', 2), newID(), { customer: 7 });
    const tenantID = await aTenant();
    const holders = await queue(tenantID, 2, of);
    await dispatch();
    await claim(holders);
    const [next = ''] = await queue(tenantID, 1, of);

    expect(await countDispatches()).toEqual({ old: 1, admitted: 1 });

    const rows = await Promise.all([...holders, next].map((id) => deployment.read(id)));
    expect(rows.map(({ status }) => status)).toEqual(['CANCELLED', 'RUNNING', 'PENDING']);
    expect(await isDispatched([next])).toEqual([true]);
  });

  test('of a key lets as many of the runs that wait go on as places have become free', async () => {
    const ids = await queue(await aTenant(), 6, limited(key('queue', 2), newID(), { customer: 7 }));
    await dispatch();
    await claim(ids);
    await end(ids.slice(0, 2));

    await dispatch();

    expect(await isDispatched(ids.slice(2))).toEqual([true, true, false, false]);
  });

  test('of a key is not exceeded by two dispatches at once', async () => {
    const tenantID = await aTenant();
    const ids = await queue(tenantID, 6, limited(key('queue', 2), newID(), { customer: 7 }));
    const { pool, producer, backplane } = deployment;
    const other = createRuns({ pool, dispatchPool: pool, producer, messages: backplane.messages, logger: testLogger });

    await Promise.all([dispatch(), dispatch(other), dispatch()]);

    expect((await isDispatched(ids)).filter(Boolean)).toHaveLength(2);
  });

  test('of a key is not kept by a run whose job was lost before it began', async () => {
    const tenantID = await aTenant();
    const ids = await queue(tenantID, 2, limited(key('queue'), newID(), { customer: 7 }));
    await dispatch();
    // As after FLUSHALL.
    await deployment.pool.query('update workflow_instance set dispatched_at = null');
    await end([ids[0] ?? '']);

    await dispatch();
    expect(await isDispatched(ids)).toEqual([false, true]);
  });

  test('is counted by a dispatch at once when a run is woken', async () => {
    const ids = await queue(await aTenant(), 2, limited({ maxRunsAtOnce: 1 }, newID()));

    await deployment.runs.dispatch(ids);

    await eventually(async () => expect((await isDispatched(ids)).filter(Boolean)).toHaveLength(1));
  });

  test('is not skipped by accepting a run', async () => {
    const tenantID = await aTenant();
    const workflowID = newID();
    const run = () => deployment.newRun(versionID, {}, { tenantID, ...limited({ maxRunsAtOnce: 1 }, workflowID) });

    await Promise.all([deployment.runs.accept(run()), deployment.runs.accept(run()), deployment.runs.accept(run())]);

    await eventually(async () => expect(await inWindow()).toEqual({ [tenantID]: 1 }));
    await dispatch();
    expect(await inWindow()).toEqual({ [tenantID]: 1 });
  });

  test('of a tenant is not skipped by accepting or waking a run, nor is its deletion', async () => {
    const [tenantID, leaving] = [await aTenant(), await aTenant()];
    await deployment.pool.query('insert into tenant_dispatch (tenant_id, max_runs) values ($1, 1)', [tenantID]);
    await deployment.pool.query('update tenant set deleting_at = now() where id = $1', [leaving]);
    const accept = (of: string) => deployment.runs.accept(deployment.newRun(versionID, {}, { tenantID: of }));

    const accepted = await Promise.all([accept(tenantID), accept(tenantID), accept(leaving)]);
    await deployment.runs.dispatch(accepted.map(({ instanceID }) => instanceID));

    await eventually(async () => expect(await inWindow()).toEqual({ [tenantID]: 1 }));
    await dispatch();
    expect(await inWindow()).toEqual({ [tenantID]: 1 });
  });
});
