import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { createEvents } from '#shared/runs/send-event.ts';
import { createSweep } from '#workers/engine/recovery/sweep.ts';
import { startDeployment } from '../../../support/deployment.ts';
import { testLogger } from '../../../support/environment.ts';
import { noops } from '../../../support/graphs.ts';
import { eventually } from '../../../support/settle.ts';

test('a worker deletes rows after their periods', async () => {
  await using deployment = await startDeployment();
  const { pool } = deployment;
  const operatorID = newID();
  await pool.query(`insert into operator (id, email, password_hash) values ($1, 'op@example.test', 'x')`, [operatorID]);
  for (const days of [399, 401])
    await pool.query(
      `insert into operator_audit (id, operator_id, action, path, created_at) values ($1, $2, 'BOARD', $3, now() - make_interval(days => $4))`,
      [newID(), operatorID, `/${days}`, days],
    );
  for (const days of [89, 91])
    await pool.query(
      `insert into operator_session (id, operator_id, token_hash, ip_address, network, user_agent, expires_at)
       values ($1, $2, sha256(convert_to($3, 'UTF8')), '', '', $3, now() - make_interval(days => $4))`,
      [newID(), operatorID, String(days), days],
    );
  for (const seconds of [-60, 60])
    await pool.query('insert into rate_limit values ($1, 1, (extract(epoch from now()) + $2) * 1000)', [
      seconds,
      seconds,
    ]);

  await deployment.startWorker();

  const left = async () => {
    const { rows } = await pool.query<{ what: string }>(
      `select path as what from operator_audit union all select user_agent from operator_session union all select key from rate_limit`,
    );
    return rows.map(({ what }) => what).sort();
  };
  // Each table is looked at first within 15 s: the first of them says that the worker deletes.
  await eventually(async () => expect((await left()).length).toBeLessThan(6));
  expect(await left()).toEqual(expect.arrayContaining(['/399', '60', '89']));
});

test('the parents of runs that are overdue, or that lost their workers, are woken at once', async () => {
  await using deployment = await startDeployment();
  const { pool, runs, producer, backplane, config, tenantID } = deployment;
  const versionID = await deployment.saveVersion(noops(1));
  const insert = async (state: string, parent: string | null = null) => {
    const id = newID();
    await pool.query(
      `insert into workflow_instance (id, tenant_id, version_id, deadline_at, caller, parent_id)
       values ($1, $2, $3, now() + interval '1 hour', '{}', $4)`,
      [id, tenantID, versionID, parent],
    );
    await pool.query(`update workflow_instance set ${state} where id = $1`, [id]);
    return id;
  };
  const parents = [await insert(`status = 'WAITING'`), await insert(`status = 'WAITING'`)];
  const overdue = await insert(`status = 'WAITING', deadline_at = now()`, parents[0]);
  const lost = await insert(`status = 'RUNNING', losses = 3, ready_at = now()`, parents[1]);
  const child = await insert(`status = 'WAITING'`, overdue);
  const { leaseMs } = config.worker;
  const options = {
    pool,
    leasePool: pool,
    runs,
    producer,
    backplane,
    logger: testLogger,
    events: createEvents({ pool, runs, rights: { may: async () => true } }),
    onPressure: () => undefined,
  };
  await using sweep = createSweep({ ...options, leaseMs });

  await sweep.once();

  expect(await deployment.read(overdue)).toMatchObject({ status: 'FAILED', error: { code: 'RUN_TIMEOUT' } });
  expect(await deployment.read(lost)).toMatchObject({ status: 'FAILED', error: { code: 'WORKER_LOST' } });
  expect(await deployment.read(child)).toMatchObject({ status: 'CANCELLED', error: null });
  for (const parent of parents)
    expect(await deployment.read(parent)).toMatchObject({ wake_seq: 1, ready_at: expect.any(Date) });
});

test('totals that were taken before the first round go on with the rounds', async () => {
  await using deployment = await startDeployment();
  const { pool, runs, producer, backplane, config, tenantID } = deployment;
  const id = newID();
  await pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, deadline_at, caller) values ($1, $2, $3, now() + interval '1 hour', '{}')`,
    [id, tenantID, await deployment.saveVersion(noops(1))],
  );
  await pool.query(`update workflow_instance set status = 'RUNNING', ready_at = null where id = $1`, [id]);
  await using sweep = createSweep({
    pool,
    leasePool: pool,
    runs,
    producer,
    backplane,
    logger: testLogger,
    leaseMs: config.worker.leaseMs,
    events: createEvents({ pool, runs, rights: { may: async () => true } }),
    onPressure: () => undefined,
  });
  const { stats } = sweep;
  expect(stats).toMatchObject({ leads: false, forgotten: 0 });

  for (let round = 0; round < 5; round += 1) await sweep.once();

  expect(stats).toMatchObject({ leads: true, forgotten: 1 });
  expect(stats.tasks.get('refill')).toMatchObject({ times: 5, failures: 0 });
});

test('slots that become free while the window is filled lead to one more filling', async () => {
  await using deployment = await startDeployment();
  const { pool, runs, producer, backplane, config } = deployment;
  const filled: PromiseWithResolvers<number>[] = [];
  const dispatchQueued = () => {
    const filling = Promise.withResolvers<number>();
    filled.push(filling);
    return filling.promise;
  };
  await using sweep = createSweep({
    ...{ pool, leasePool: pool, producer, backplane, logger: testLogger, leaseMs: config.worker.leaseMs },
    runs: { ...runs, dispatchQueued },
    events: createEvents({ pool, runs, rights: { may: async () => true } }),
    onPressure: () => undefined,
  });

  sweep.dispatchSoon();
  await eventually(() => expect(filled).toHaveLength(1));
  for (let n = 0; n < 3; n += 1) sweep.dispatchSoon();
  filled[0]?.resolve(0);
  await eventually(() => expect(filled).toHaveLength(2));
  filled[1]?.resolve(0);

  await sleep(50);
  expect(filled).toHaveLength(2);
});

test('no lease expires before Postgres has been up for the length of a lease', async () => {
  await using deployment = await startDeployment();
  const { pool, runs, producer, backplane } = deployment;
  const leaseID = newID();
  await pool.query(
    `insert into worker_session (id, expires_at, slots, version) values ($1, now() - interval '1 minute', 1, 't')`,
    [leaseID],
  );
  const { rows } = await pool.query<{ ms: number }>(
    'select extract(epoch from now() - pg_postmaster_start_time())::float8 * 1000 as ms',
  );
  const upMs = rows[0]?.ms ?? 0;
  const lease = async (leaseMs: number) => {
    const options = {
      pool,
      leasePool: pool,
      runs,
      producer,
      backplane,
      logger: testLogger,
      events: createEvents({ pool, runs, rights: { may: async () => true } }),
      onPressure: () => undefined,
    };
    await using sweep = createSweep({ ...options, leaseMs });
    // The leaders have ticked for long enough.
    await pool.query(`update sweep set last_tick = now(), streak_started_at = now() - interval '1 day'`);
    await sweep.once();
    const found = await pool.query<{ ended: boolean }>(
      'select ended_at is not null as ended from worker_session where id = $1',
      [leaseID],
    );
    return found.rows[0]?.ended;
  };

  expect(await lease(upMs + 600_000)).toBe(false);
  expect(await lease(upMs)).toBe(true);
});

test('a run that cannot be ended keeps neither other tasks nor other runs that are overdue from theirs', async () => {
  await using deployment = await startDeployment();
  const { pool, runs, newRun } = deployment;
  const versionID = await deployment.saveVersion(noops(1));
  const newRuns = [newRun(versionID), newRun(versionID), newRun(versionID), newRun(versionID)];
  const [stuck = '', waiting = '', ...overdue] = await runs.acceptMany(newRuns);
  await pool.query(
    `update workflow_instance set deadline_at = now() - interval '1 second', ready_at = null where id = any($1::uuid[])`,
    [[stuck, ...overdue]],
  );
  await pool.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`,
  );
  await pool.query(
    `create trigger refuse before update on workflow_instance for each row when (new.id = '${stuck}'::uuid and new.status in ('FAILED', 'CANCELLED'))
     execute function refuse()`,
  );

  await pool.query(
    `insert into run_notice (instance_id, kind, created_at) values ($1, 'cancel', now() - interval '3 seconds')`,
    [stuck],
  );

  const { sweep } = await deployment.startWorker();

  await eventually(async () => expect(await deployment.read(waiting)).toMatchObject({ status: 'COMPLETED' }));
  for (const id of overdue)
    await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'FAILED' }));
  await eventually(() => expect(sweep.stats.tasks.get('act on notices')?.times).toBeGreaterThan(0));
  // It is to be cancelled still.
  expect((await pool.query('select kind from run_notice where instance_id = $1', [stuck])).rows).toHaveLength(1);
});

test('a run whose cancelling the database has refused is cancelled by a later leader', async () => {
  await using deployment = await startDeployment();
  const { pool, runs, producer, backplane, config, newRun } = deployment;
  const versionID = await deployment.saveVersion(noops(1));
  const ids = await runs.acceptMany([newRun(versionID), newRun(versionID), newRun(versionID)]);
  const [refused = '', other = '', fresh = ''] = ids;
  await pool.query(
    `insert into run_notice (instance_id, kind, created_at)
     select id, 'cancel', now() + case id when $2 then interval '1 hour' else interval '-3 seconds' end from unnest($1::uuid[]) as id`,
    [ids, fresh],
  );
  await pool.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`,
  );
  await pool.query(
    `create trigger refuse before update on workflow_instance for each row
     when (new.id = '${refused}' and new.status = 'CANCELLED') execute function refuse()`,
  );
  const lead = async () => {
    await using sweep = createSweep({
      ...{ pool, leasePool: pool, runs, producer, backplane, logger: testLogger, leaseMs: config.worker.leaseMs },
      events: createEvents({ pool, runs, rights: { may: async () => true } }),
      onPressure: () => undefined,
    });
    await sweep.once();
  };

  await lead();
  expect(await deployment.read(other)).toMatchObject({ status: 'CANCELLED' });
  expect(await deployment.read(refused)).toMatchObject({ status: 'PENDING' });
  await pool.query('drop trigger refuse on workflow_instance');
  await lead();

  expect(await deployment.read(refused)).toMatchObject({ status: 'CANCELLED' });
  // The process that has written a notice acts on it, unless it has died.
  expect(await deployment.read(fresh)).toMatchObject({ status: 'PENDING' });
  expect((await pool.query('select instance_id as id from run_notice')).rows).toEqual([{ id: fresh }]);
});

test('runs that cannot be ended, as many as a round looks at, keep those behind them from nothing', async () => {
  await using deployment = await startDeployment();
  const { pool, runs, producer, backplane, config, newRun } = deployment;
  const versionID = await deployment.saveVersion(noops(1));
  const ids = await runs.acceptMany(Array.from({ length: 502 }, () => newRun(versionID)));
  const [overdue = '', cancelled = '', ...stuck] = ids;
  const isOverdue = `update workflow_instance set deadline_at = now() - make_interval(secs => $2), ready_at = null where id = any($1::uuid[])`;
  await pool.query(isOverdue, [stuck, 60]);
  await pool.query(isOverdue, [[overdue], 1]);
  await pool.query(
    `insert into run_notice (instance_id, kind, created_at)
     select id, 'cancel', now() - interval '3 seconds' from unnest($1::uuid[]) with ordinality as noticed(id, n) order by n`,
    [[...stuck, cancelled]],
  );
  await pool.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`,
  );
  await pool.query(
    `create trigger refuse before update on workflow_instance for each row
     when (new.status in ('FAILED', 'CANCELLED') and new.id not in ('${overdue}', '${cancelled}')) execute function refuse()`,
  );
  await using sweep = createSweep({
    ...{ pool, leasePool: pool, runs, producer, backplane, logger: testLogger, leaseMs: config.worker.leaseMs },
    events: createEvents({ pool, runs, rights: { may: async () => true } }),
    onPressure: () => undefined,
  });

  for (let round = 0; round < 2; round += 1) await sweep.once();

  expect(await deployment.read(overdue)).toMatchObject({ status: 'FAILED' });
  expect(await deployment.read(cancelled)).toMatchObject({ status: 'CANCELLED' });
});

test('a lease that expires in an outage between the tick and the statement that ends leases goes on', async () => {
  await using deployment = await startDeployment();
  const { pool, runs, producer, backplane } = deployment;
  const leaseID = newID();
  await pool.query(
    `insert into worker_session (id, expires_at, slots, version) values ($1, now() - interval '1 second', 1, 't')`,
    [leaseID],
  );
  /** As after six seconds in which neither a tick nor a renewal arrived. */
  const query = async (statement: unknown, ...values: unknown[]) => {
    const { name } = statement as { name?: string };
    if (name === 'sweep_end_leases') await pool.query(`update sweep set last_tick = now() - interval '6 seconds'`);
    return Reflect.apply(pool.query, pool, [statement, ...values]);
  };
  const away = new Proxy(pool, { get: (of, key) => (key === 'query' ? query : Reflect.get(of, key)) });
  await using sweep = createSweep({
    ...{ pool: away, leasePool: pool, runs, producer, backplane, logger: testLogger, leaseMs: 1_000 },
    events: createEvents({ pool, runs, rights: { may: async () => true } }),
    onPressure: () => undefined,
  });
  await pool.query(`update sweep set last_tick = now(), streak_started_at = now() - interval '1 day'`);

  await sweep.once();

  expect(sweep.stats.tasks.get('end leases')).toMatchObject({ times: 1, failures: 0 });
  const { rows } = await pool.query('select ended_at from worker_session where id = $1', [leaseID]);
  expect(rows).toEqual([{ ended_at: null }]);
});
