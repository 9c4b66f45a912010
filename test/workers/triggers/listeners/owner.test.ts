import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setImmediate as nextRound, setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPeriodicTask } from '#shared/concurrency/periodic-task.ts';
import { newID } from '#shared/core/ids.ts';
import { createKeyRing } from '#shared/core/key-ring.ts';
import { inTransaction } from '#shared/db/pool.ts';
import { createListenerReader } from '#shared/triggers/listeners/listener-reader.ts';
import { openOutbound } from '#test/support/connector.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';
import { explaining } from '#test/support/explaining.ts';
import { eventually } from '#test/support/settle.ts';
import { createCapacity } from '#workers/triggers/listeners/owner/capacity.ts';
import { CLAIM_REMOTE_RESOURCES } from '#workers/triggers/listeners/owner/cleanup.ts';
import { createLeases, REPORTING, type Report } from '#workers/triggers/listeners/owner/leases.ts';
import { createListenerOwner } from '#workers/triggers/listeners/owner/owner.ts';
import { createRecording } from '#workers/triggers/listeners/owner/recording.ts';
import { backoffMs } from '#workers/triggers/listeners/owner/run-listener.ts';
import { shareOf } from '#workers/triggers/listeners/owner/share.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());

const LEASE_MS = 1_000;

function leasesOn(pool = deployment.pool, leaseMs = LEASE_MS) {
  return createLeases({ pool, leasePool: pool, leaseMs, types: ['redis'] });
}

const toRedis = { type: 'redis', options: {}, config: {} };

/** Listeners that want a connection, of a tenant with so many of them. */
async function wanted(count: number, { type, options, config } = toRedis): Promise<string[]> {
  const { pool } = deployment;
  const tenantID = newID();
  await pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'T', $1)`, [tenantID]);
  const datasourceID = newID();
  await pool.query(
    `insert into datasource (id, tenant_id, datasource_title, datasource_type, datasource_options, creator_id)
     values ($1, $2, 'D', $3, $4, $2)`,
    [datasourceID, tenantID, type, options],
  );
  const { rows } = await pool.query<{ id: string }>(
    `insert into listener (id, tenant_id, listener_title, listener_type, listener_config, datasource_id, status, creator_id)
     select gen_random_uuid(), $1, 'L', $4, $5, $2, 'active', $1 from generate_series(1, $3) returning id`,
    [tenantID, datasourceID, count, type, config],
  );
  return rows.map(({ id }) => id);
}

test.each([
  { wanted: 10, owned: [10, 0, 0], shares: [4, 3, 3] },
  { wanted: 10, owned: [4, 3, 3], shares: [4, 3, 3] },
  // The one that has more keeps it: nothing moves without need.
  { wanted: 10, owned: [3, 3, 4], shares: [3, 3, 4] },
  { wanted: 2, owned: [0, 0, 2], shares: [1, 0, 1] },
  { wanted: 0, owned: [0, 0], shares: [0, 0] },
])('of $wanted listeners owners with $owned are to have $shares', ({ wanted: all, owned, shares }) => {
  const owners = owned.map((count, n) => ({ id: `${n}`, owned: count }));
  const load = { wanted: all, owners, hasRemoteResources: false };
  expect(owners.map(({ id }) => shareOf(id, load))).toEqual(shares);
  expect(shareOf('unknown', load)).toBe(0);
});

test('the wait after a failure doubles up to a minute', () => {
  expect([1, 2, 3, 6, 7, 50].map((failures) => backoffMs(failures, 1_000, 1))).toEqual([
    1_000, 2_000, 4_000, 32_000, 60_000, 60_000,
  ]);
  expect(backoffMs(1, 1_000, 0)).toBe(500);
});

test('a tenant that uses up its capacity waits, and no other does', async () => {
  const capacity = createCapacity({ bytes: 100, bytesPerTenant: 60, bytesForEach: 10 });
  capacity.add('a', 60);
  expect([capacity.isFull('a'), capacity.isFull('b')]).toEqual([true, false]);
  capacity.add('b', 40);
  // The process is full, and a tenant with little may still go on.
  expect([capacity.isFull('b'), capacity.isFull('c')]).toEqual([true, false]);
  let isOver = false;
  const waiting = capacity.wait('a', new AbortController().signal).then(() => {
    isOver = true;
  });
  capacity.remove('b', 40);
  await nextRound();
  expect(isOver).toBe(false);
  capacity.remove('a', 10);
  await waiting;

  const ended = new AbortController();
  capacity.add('a', 50);
  const aborted = capacity.wait('a', ended.signal);
  ended.abort();
  await aborted;

  capacity.remove('a', 100);
  capacity.add('a', 59);
  expect(capacity.isFull('a')).toBe(false);
});

test('capacity is released whether an event was stored or refused', async () => {
  const capacity = createCapacity({ bytes: 100, bytesPerTenant: 2, bytesForEach: 1 });
  let isRefused = false;
  const quota = { add: async () => undefined, addMany: async () => ({}) } as never;
  const recorder = {
    async record({ id }: { id: string }) {
      if (isRefused) throw Object.assign(new Error('refused'), { code: '22000' });
      return { eventID: id, duplicateOf: null };
    },
  };
  const recording = createRecording(
    { recorder, capacity, events: quota, bytes: quota, untilOwned: async () => undefined },
    {
      ...{ tenantID: 'a', listenerID: newID(), type: 'redis', orderBy: '', signal: new AbortController().signal },
      onArrival: () => undefined,
      onFailure: () => undefined,
    },
  );
  const full = recording.record({ body: Buffer.from('ab'), meta: {} });
  expect([capacity.isFull('a'), capacity.unrecorded]).toEqual([true, { events: 1, bytes: 2 }]);
  await full;
  expect([capacity.isFull('a'), capacity.unrecorded]).toEqual([false, { events: 0, bytes: 0 }]);
  isRefused = true;
  await expect(recording.record({ body: Buffer.from('ab'), meta: {} })).rejects.toThrow('refused');
  capacity.add('a', 1);
  expect(capacity.isFull('a')).toBe(false);
});

test('leases end when their owner is dead, and none after an outage until all had the time to renew', async () => {
  const { pool } = deployment;
  const leases = leasesOn();
  const [dead, live] = [newID(), newID()];
  const [id] = await wanted(1);
  await leases.begin(dead);
  await leases.begin(live);
  expect(await leases.claim(dead, 1)).toMatchObject([{ listenerID: id }]);
  expect(await leases.claim(live, 1)).toEqual([]);
  await pool.query(`update listener_owner set expires_at = now() - interval '1 second' where id = $1`, [dead]);

  const sweep = (streakSeconds: number, tickSeconds: number) =>
    pool.query(
      `update sweep set streak_started_at = now() - make_interval(secs => $1), last_tick = now() - make_interval(secs => $2)`,
      [streakSeconds, tickSeconds],
    );
  // The leaders tick again, though not for long enough; and then there is no leader.
  await sweep(LEASE_MS / 2000, 0);
  await leases.endExpired();
  await sweep(100, 30);
  await leases.endExpired();
  expect(await leases.renew(dead)).toMatchObject({ isLost: false, owned: [{ listenerID: id }] });

  await pool.query(`update listener_owner set expires_at = now() - interval '1 second' where id = $1`, [dead]);
  await sweep(LEASE_MS / 1000 + 1, 0);
  await leases.endExpired();
  expect(await leases.renew(dead)).toEqual({ isLost: true, owned: [] });
  expect(await leases.claim(live, 1)).toMatchObject([{ listenerID: id }]);
  await leases.end(live);
  await pool.query('delete from listener');
});

test('tenants are claimed in fair order, by statements that read what they claim', async () => {
  const { pool } = deployment;
  const many = await wanted(1_000);
  const few = await wanted(2);
  const leases = leasesOn();
  const [owner, other] = [newID(), newID()];
  await leases.begin(owner);
  await leases.begin(other);
  const claimed = (await leases.claim(owner, 4)).map(({ listenerID }) => listenerID);
  expect(claimed.filter((id) => few.includes(id))).toHaveLength(2);
  expect(claimed.filter((id) => many.includes(id))).toHaveLength(2);
  // All but ten have an owner.
  await leases.claim(other, 1_002 - 4 - 10);
  await pool.query('analyze listener_lease, listener');

  const rowsRead = new Map<string, number>();
  const read = () => [...rowsRead.values()];
  const explained = leasesOn(explaining(pool, rowsRead));
  await explained.renew(owner);
  await explained.claim(owner, 5);
  await explained.release(owner, claimed);
  await explained.allowCleanup(claimed[0] ?? '');
  expect(Math.max(...read()), JSON.stringify([...rowsRead])).toBeLessThan(50);
  rowsRead.clear();
  // Counts each lease twice, by index: as one that is wanted, and for its owner.
  await explained.load();
  expect(Math.max(...read()), JSON.stringify([...rowsRead])).toBeLessThan(2_020);
  await pool.query('delete from listener');
});

test('what owners report is read and written by the ids of the listeners', async () => {
  const { pool } = deployment;
  const ids = await wanted(3_000);
  const leases = leasesOn();
  const owner = newID();
  await leases.begin(owner);
  await leases.claim(owner, 3_000);
  await pool.query('analyze listener_lease, listener');
  const reports = ids.slice(0, 3).map((listenerID): Report => {
    return { listenerID, state: 'error', retryCount: 1, lastError: 'e', cursor: null };
  });
  const rowsRead = new Map<string, number>();
  const values = [owner, JSON.stringify(reports), reports.map(({ listenerID }) => listenerID)];
  for (const text of REPORTING) await explaining(pool, rowsRead).query({ text, values });
  expect(rowsRead.size).toBe(3);
  expect(Math.max(...rowsRead.values()), JSON.stringify([...rowsRead])).toBeLessThan(50);
  await pool.query('delete from listener');
});

test('two owners share 1,000 listeners of many tenants evenly, also when a third comes and one goes', async () => {
  const { pool } = deployment;
  await pool.query('delete from listener; delete from listener_owner');
  for (let n = 0; n < 10; n += 1) await wanted(100);
  // Long enough that none ends.
  const leases = leasesOn(pool, 600_000);
  const ids = [newID(), newID(), newID()];
  const owned = new Map<string, string[]>();
  const begin = async (id: string | undefined) => {
    if (!id) return;
    await leases.begin(id);
    owned.set(id, []);
  };
  /** Balances the load, as an owner does in each round: see `balance`. */
  const balance = async (id: string, own: string[]) => {
    const share = shareOf(id, await leases.load());
    if (own.length > share) await leases.release(id, own.splice(share));
    else if (own.length < share)
      own.push(...(await leases.claim(id, Math.min(share - own.length, 100))).map(({ listenerID }) => listenerID));
  };
  const settled = async (expected: number[]) =>
    eventually(async () => {
      await Promise.all([...owned].map(([id, own]) => balance(id, own)));
      expect([...owned.values()].map((own) => own.length).sort((one, another) => one - another)).toEqual(expected);
    });

  await begin(ids[0]);
  await begin(ids[1]);
  await settled([500, 500]);
  await begin(ids[2]);
  await settled([333, 333, 334]);
  await leases.end(ids[0] ?? '');
  owned.delete(ids[0] ?? '');
  await settled([500, 500]);
  expect(new Set([...owned.values()].flat()).size).toBe(1_000);
  await pool.query('delete from listener; delete from listener_owner');
});

test('an owner that waits for a connection to end keeps its lease, and with it all other listeners', async () => {
  const { pool } = deployment;
  await pool.query('delete from listener; delete from listener_owner; delete from listener_residue');
  // A broker that takes connections and never answers.
  const sockets = new Set<Socket>();
  const broker = createServer((socket) => sockets.add(socket.on('error', () => undefined)));
  broker.listen(0, '127.0.0.1');
  await once(broker, 'listening');
  const { port } = broker.address() as AddressInfo;
  await using resources = new AsyncDisposableStack();
  const hangUp = () => {
    for (const socket of sockets) socket.destroy();
  };
  resources.defer(() => {
    hangUp();
    broker.close();
  });
  const ids = await wanted(4, {
    type: 'mqtt',
    options: { brokerUrl: `mqtt://127.0.0.1:${port}` },
    config: { topics: 'a', qos: 1 },
  });
  // The leaders tick, so leases that are not renewed end.
  const tick = () =>
    pool.query(`update sweep set last_tick = now(), streak_started_at = now() - interval '100 seconds'`);
  const leader = startPeriodicTask({ name: 'tick', everyMs: 200, run: tick }, testLogger);
  resources.use(leader);
  const secrets = createKeyRing(deployment.config.secrets.keys);
  const own = () =>
    resources.use(
      createListenerOwner({
        ...{ pool, leasePool: pool, leaseMs: LEASE_MS, logger: testLogger, secrets },
        // Only the gate: the source needs no more of the worker.
        services: { outbound: openOutbound } as never,
        reader: createListenerReader({ pool, secrets }),
        recorder: { record: async ({ id }) => ({ eventID: id, duplicateOf: null }) },
      }),
    );
  const owners = async () => {
    const { rows } = await pool.query<{ id: string; owned: number }>(
      'select held_by as id, count(*)::int as owned from listener_lease where held_by is not null group by held_by',
    );
    return new Map(rows.map(({ id, owned }) => [id, owned]));
  };
  own();
  await eventually(async () => expect([...(await owners()).values()]).toEqual([4]));
  const [first] = (await owners()).keys();
  await eventually(() => expect(sockets.size).toBe(4));
  // The session of its earlier topics at the broker is removed first.
  await pool.query(`update listener set listener_config = '{"topics": "b", "qos": 1}' where id = any($1::uuid[])`, [
    ids,
  ]);
  await eventually(() => expect(sockets.size).toBeGreaterThan(4));

  own();
  await sleep(3 * LEASE_MS);
  hangUp();

  await eventually(async () => expect([...(await owners()).values()]).toEqual([2, 2]));
  expect([...(await owners()).keys()]).toContain(first);
  await resources.disposeAsync();
  await pool.query('delete from listener; delete from listener_residue');
});

test('what an owner says is written only of listeners that are its own, and a user has the last word', async () => {
  const { pool } = deployment;
  const leases = leasesOn();
  const [own, lost, stopped] = await wanted(3);
  const owner = newID();
  await leases.begin(owner);
  await leases.claim(owner, 3);
  await pool.query('update listener_lease set held_by = null where listener_id = $1', [lost]);
  await pool.query(`update listener set status = 'inactive' where id = $1`, [stopped]);
  const report = (state: Report['state'], lastError: string | null): Report[] =>
    [own, lost, stopped].map((listenerID = '') => ({ listenerID, state, retryCount: 3, lastError, cursor: null }));
  const rows = async () =>
    (
      await pool.query(
        `select l.id, l.status, l.last_error, o.state from listener l left join listener_lease o on o.listener_id = l.id`,
      )
    ).rows;

  await leases.report(owner, report('error', 'wrong password'));
  expect(new Map((await rows()).map(({ id, ...row }) => [id, row]))).toEqual(
    new Map([
      [own, { status: 'error', last_error: 'wrong password', state: 'error' }],
      [lost, { status: 'active', last_error: null, state: 'connecting' }],
      [stopped, { status: 'inactive', last_error: null, state: null }],
    ]),
  );

  await leases.report(owner, report('running', null));
  expect(await rows()).toContainEqual({ id: own, status: 'active', last_error: null, state: 'running' });
  await leases.release(owner, [String(own)]);
  await leases.claim(owner, 2);
  expect(await rows()).toContainEqual({ id: own, status: 'active', last_error: null, state: 'connecting' });
  // One that was stopped for another reason than its connection has no connection.
  await pool.query(`update listener set status = 'error' where id = $1`, [own]);
  expect(await rows()).toContainEqual({ id: own, status: 'error', last_error: null, state: null });
  // Its remote resource stays.
  expect(await remoteResourcesOf([own, stopped])).toMatchObject([{ listenerID: stopped }]);
});

async function remoteResourcesOf(listenerIDs: (string | undefined)[]) {
  const { rows } = await deployment.pool.query<{ listenerID: string; options: object; attempts: number }>(
    `select listener_id as "listenerID", datasource_options as options, attempts from listener_residue
     where listener_id = any($1::uuid[]) order by id`,
    [listenerIDs],
  );
  return rows;
}

test('what ends a listener notes what it may have left, also with its datasource', async () => {
  const { pool } = deployment;
  const [deleted = '', withDatasource = '', inactive = ''] = await wanted(3);
  await pool.query(`update listener set status = 'error' where id = $1`, [deleted]);
  await pool.query(`update listener set status = 'inactive' where id = $1`, [inactive]);
  expect(await remoteResourcesOf([inactive])).toHaveLength(1);
  await pool.query('delete from listener where id = any($1::uuid[])', [[deleted, inactive]]);
  // In this order the datasource does not exist any more when the listener is deleted.
  await inTransaction(pool, async (client) => {
    await client.query('delete from datasource where id = (select datasource_id from listener where id = $1)', [
      withDatasource,
    ]);
    await client.query('delete from listener where id = $1', [withDatasource]);
  });
  for (const id of [deleted, withDatasource, inactive])
    expect(await remoteResourcesOf([id])).toEqual([{ listenerID: id, options: {}, attempts: 0 }]);
});

test('a listener is not connected while what it has left is being removed, and not removed while it is made active', async () => {
  const { pool } = deployment;
  await pool.query('delete from listener; delete from listener_residue');
  const leases = leasesOn();
  const owner = newID();
  await leases.begin(owner);
  const [id = ''] = await wanted(1);
  await pool.query(`update listener set status = 'inactive' where id = $1`, [id]);
  await leases.allowCleanup(id);
  const claim = () => pool.query(CLAIM_REMOTE_RESOURCES, [10, 2, 20, ['redis']]);

  const activating = await pool.connect();
  await activating.query('begin');
  await activating.query(`update listener set status = 'active' where id = $1`, [id]);
  expect((await claim()).rows).toEqual([]);
  await activating.query('rollback');
  activating.release();
  expect((await claim()).rows).toMatchObject([{ listenerID: id, attempts: 1 }]);
  await pool.query(`update listener set status = 'active' where id = $1`, [id]);
  expect(await leases.claim(owner, 1)).toEqual([]);
  await pool.query('delete from listener_residue');
  expect(await leases.claim(owner, 1)).toMatchObject([{ listenerID: id }]);
  await pool.query('delete from listener');
});

test('removals are in fair order of the tenants, and none is read that is not due', async () => {
  const { pool } = deployment;
  await pool.query('delete from listener_residue');
  const add = (tenantID: string, count: number, readySeconds: number) =>
    pool.query(
      `insert into listener_residue (tenant_id, listener_id, listener_type, listener_config, datasource_id, datasource_options, ready_at)
       select $1, gen_random_uuid(), 'redis', '{}', $1, '{}', now() + make_interval(secs => $3) from generate_series(1, $2)`,
      [tenantID, count, readySeconds],
    );
  const [many, few] = [newID(), newID()];
  await add(many, 20, -60);
  await add(few, 1, -1);
  await add(newID(), 1_000, 60);
  await pool.query('analyze listener_residue');
  const rowsRead = new Map<string, number>();
  const { rows } = await explaining(pool, rowsRead).query(CLAIM_REMOTE_RESOURCES, [10, 2, 20, ['redis']]);
  expect(rows.map(({ tenantID }) => tenantID).sort()).toEqual([many, many, few].sort());
  expect(
    [...rowsRead.values()].every((count) => count < 100),
    JSON.stringify([...rowsRead]),
  ).toBe(true);
  await pool.query('delete from listener_residue');
});
