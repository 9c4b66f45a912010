/**
 * Listeners with a connection, each type against a real server. What is tested is between a worker, Postgres and that server, which no
 * backplane has a part in: so it is on one backplane only.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import { newID } from '#shared/core/ids.ts';
import { deleteTenant } from '#shared/tenants/delete-tenant.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aDatasource, aListener, aTenant, type TestTenant } from '#test/support/factories.ts';
import { readSeries, scrape } from '#test/support/metrics.ts';
import { type Spawned, spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';
import {
  type Listened,
  type ListenedServers,
  startListenedServers,
} from '#test/workers/triggers/listeners/listened-servers.ts';

let cluster: Cluster;
let tenant: TestTenant;
let servers: ListenedServers;
let cases: (Listened & { id: string })[];

beforeAll(async () => {
  [cluster, servers] = await Promise.all([
    startCluster({ workers: false, settings: { LISTENER_LEASE_SECONDS: '2', METRICS_PORT: '0' } }),
    startListenedServers(),
  ]);
  tenant = await aTenant(cluster);
  cases = [];
  for (const one of servers.listened) {
    const { type, options, config, name } = one;
    const datasource = await aDatasource(cluster, { tenant, type, options });
    cases.push({ ...one, ...(await aListener(cluster, { tenant, datasource, config, title: name })) });
  }
});
afterAll(async () => {
  await Promise.all([servers, cluster].map((one) => one?.[Symbol.asyncDispose]()));
});

/** A process of its own, which can be killed. */
function spawnOwner(settings: Record<string, string>): Spawned {
  const env = { ...cluster.env, ...servers.settingsFor(tenant.id), ...settings };
  return spawnNode(['workers/main.ts', 'listener.events'], env);
}

function startOwner() {
  return cluster.startWorker(servers.settingsFor(tenant.id), ['listener.events']);
}

async function connections() {
  const { body } = await cluster.as(tenant.creator).in(tenant).get('T/listeners/status/connections');
  return body.status as Record<string, { state: string; retryCount: number; type: string; title: string }>;
}

/** Waits until every listener is connected. */
async function areRunning(): Promise<void> {
  await eventually(async () => {
    const known = await connections();
    const others = cases.filter(({ id }) => known[id]?.state !== 'running').map(({ name }) => name);
    const errors = await cluster.pool.query('select last_error from listener where last_error is not null');
    expect(others, JSON.stringify(errors.rows)).toEqual([]);
  });
}

/** A text of its own for each try of a test: listeners still have the messages of an earlier one. */
function aText(): string {
  return `text n${newID().slice(-8)}`;
}

/** The texts that a listener has recorded, in the order in which they came. */
async function recorded({ id }: { id: string }): Promise<string[]> {
  const { rows } = await cluster.pool.query<{ text: string }>(
    `select convert_from(body, 'UTF8') as text from listener_event where listener_id = $1 and state <> 'duplicate' order by id`,
    [id],
  );
  return rows.map(({ text }) => /text \w+/.exec(text)?.[0] ?? text);
}

/** State of a listener, and the number of events of all listeners. */
async function described({ id }: { id: string }): Promise<string> {
  const { rows } = await cluster.pool.query('select state, count(*) from listener_event group by state');
  return JSON.stringify({ now: new Date(), listener: (await connections())[id], events: rows });
}

async function hasRecorded(one: (typeof cases)[number], texts: readonly string[]): Promise<void> {
  await eventually(async () => {
    const all = await recorded(one);
    const missing = texts.filter((text) => !all.includes(text));
    expect(missing, missing.length > 0 ? `${one.name}: ${await described(one)}` : one.name).toEqual([]);
  });
}

test('events flow, also after the server was killed and started again', async () => {
  await using owner = await startOwner();
  await areRunning();
  const ended = async () =>
    readSeries((await scrape(owner.metricsPort)).text, 'gantry_listener_connections_ended_total');
  const before = await ended();
  const [first, again] = [aText(), aText()];
  await Promise.all(
    cases.map(async (one) => {
      await one.send(first);
      await hasRecorded(one, [first]);
      // Messages that filters of the config leave out come before it. The server of the websocket greets.
      const others = (await recorded(one)).filter((text) => !/^(?:text n|hello)/.test(text));
      expect(others, one.name).toEqual([]);
    }),
  );

  const { rows } = await cluster.pool.query(
    'select distinct order_key from listener_event where order_key is not null',
  );
  expect(rows).toEqual([{ order_key: 'events.new' }]);

  await servers.restart();

  await Promise.all(cases.filter(({ keeps }) => keeps).map((one) => sendOnce(one, again)));
  await areRunning();
  expect((await ended()) - before).toBeGreaterThanOrEqual(cases.filter(({ keeps }) => keeps).length);
  await Promise.all(cases.map((one) => (one.keeps ? hasRecorded(one, [again]) : sendUntilRecorded(one, again))));
}, 150_000);

/** The client of the test has to connect again itself. */
async function sendOnce(one: Listened, text: string): Promise<void> {
  await eventually(() => one.send(text));
}

/** For a server that promises no more. The subscription of a listener may begin a moment after its connection. */
async function sendUntilRecorded(one: (typeof cases)[number], text: string): Promise<void> {
  await eventually(async () => {
    await one.send(text);
    await expect.poll(() => recorded(one), { timeout: 2_000, message: one.name }).toContain(text);
  });
}

/** Events arrive at the owner and wait for the database; at the end, what waits there is given up. */
async function whileNothingIsRecorded(work: () => Promise<void>): Promise<void> {
  const client = await cluster.pool.connect();
  try {
    await client.query('begin; lock table listener_event in exclusive mode');
    await work();
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'gantry.worker' and datname = current_database()`,
    );
    await client.query('rollback');
  } finally {
    client.release();
  }
}

test('what a server has accepted is recorded, although the owner is killed', async () => {
  const metricsPort = await freePort();
  await using owner = spawnOwner({ METRICS_PORT: String(metricsPort) });
  await areRunning();
  const keeping = cases.filter(({ keeps }) => keeps).map((one) => ({ one, texts: [] as string[] }));
  const round = aText();
  let isOver = false;
  let pauseMs = 5;
  const sending = keeping.map(async ({ one, texts }) => {
    while (!isOver) {
      const text = `${round}n${texts.length}`;
      await one.send(text);
      texts.push(text);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  });
  await Promise.all(keeping.map(({ one }) => hasRecorded(one, [`${round}n20`])));

  await whileNothingIsRecorded(async () => {
    const before = keeping.map(({ texts }) => texts.length);
    await eventually(() => {
      expect(keeping.every(({ texts }, n) => texts.length > (before[n] ?? 0) + 20)).toBe(true);
    });
    await eventually(async () => {
      const { text } = await scrape(metricsPort);
      const inHand = (what: string) => readSeries(text, `gantry_listener_${what}_in_hand`);
      expect(inHand('events')).toBeGreaterThanOrEqual(keeping.length);
      // Each is a text of more than ten characters.
      expect(inHand('bytes')).toBeGreaterThan(10 * inHand('events'));
    });
    await owner.kill('SIGKILL');
    // Until the next owner is there, which may take seconds.
    pauseMs = 200;
  });
  await using _ = await startOwner();
  await areRunning();
  isOver = true;

  await Promise.all(sending);

  for (const { one, texts } of keeping) {
    await hasRecorded(one, texts);
    const all = (await recorded(one)).filter((text) => text.startsWith(round));
    if (one.isKeyed) expect(all.length, `${one.name}: doubled`).toBe(new Set(all).size);
  }
  await Promise.all(
    cases.map(async (one) => {
      await one.send(`${round}last`);
      await hasRecorded(one, [`${round}last`]);
    }),
  );
});

test('owners share the listeners evenly, and one that stops hands its own over', async () => {
  await using first = await startOwner();
  await areRunning();
  const counts = async () => {
    const { rows } = await cluster.pool.query<{ n: number }>(
      'select count(*)::int as n from listener_lease group by held_by order by n',
    );
    return rows.map(({ n }) => n);
  };
  expect(await counts()).toEqual([cases.length]);

  await using second = await startOwner();
  const half = cases.length / 2;
  await eventually(async () => expect(await counts()).toEqual([Math.floor(half), Math.ceil(half)]));
  await areRunning();
  await eventually(async () => {
    const { text } = await scrape(second.metricsPort);
    const running = readSeries(text, 'gantry_owned_listeners{state="running"}');
    expect([Math.floor(half), Math.ceil(half)]).toContain(running);
    expect(readSeries(text, 'gantry_listener_events_in_hand')).toBe(0);
  });
  await second[Symbol.asyncDispose]();

  await eventually(async () => expect(await counts()).toEqual([cases.length]));
  await first[Symbol.asyncDispose]();

  const states = Object.values(await connections()).map(({ state }) => state);
  expect(states).toEqual(cases.map(() => 'connecting'));
});

test('a change counts within seconds, and a listener that is made inactive leaves nothing at its server', async () => {
  await using _ = await startOwner();
  const api = cluster.as(tenant.creator).in(tenant);
  for (const { id } of cases) await api.post(`T/listeners/${id}/activate`);
  await areRunning();
  const stranger = await aTenant(cluster);
  expect((await cluster.as(stranger.creator).in(stranger).get('T/listeners/status/connections')).body.status).toEqual(
    {},
  );
  const [notified] = cases;
  const other = aText();
  await api.patch(`T/listeners/${notified?.id}`, { listenerConfig: { channels: `orders, ${other}` } });
  await eventually(async () => {
    await servers.notify(other, other);
    expect(await recorded({ id: notified?.id ?? '' })).toContain(other);
  });

  for (const { id } of cases) await api.post(`T/listeners/${id}/deactivate`);
  await eventually(async () => expect(await servers.remoteResources()).toEqual([]));
  const known = await connections();
  expect(new Set(cases.map(({ id }) => known[id]?.state))).toEqual(new Set(['stopped']));

  const wrong = await aDatasource(cluster, {
    tenant,
    type: 'redis',
    options: { connectionOption: 'connectionUrl', connectionUrl: 'redis://u:wrong@127.0.0.1:1' },
  });
  const { id } = await aListener(cluster, { tenant, datasource: wrong, config: { channels: 'a' } });
  await eventually(async () =>
    expect((await connections())[id]).toMatchObject({ state: 'reconnecting', retryCount: expect.any(Number) }),
  );
  expect((await api.get(`T/listeners/${id}`)).body.listener).toMatchObject({
    status: 'active',
    lastError: expect.stringContaining('Nothing answers at 127.0.0.1:1'),
  });
});

test('what listeners have left is removed, although no worker had them when they were deleted, or their tenant', async () => {
  const { pool } = cluster;
  const api = cluster.as(tenant.creator).in(tenant);
  for (const { id } of cases) await api.post(`T/listeners/${id}/deactivate`);
  const withResources = cases.filter(({ keeps }) => keeps);
  const first = await startOwner();
  await eventually(async () => expect(await servers.remoteResources()).toEqual([]));
  const doomed = await aTenant(cluster);
  const create = async (owner: TestTenant, { type, options, config }: Listened) => {
    const datasource = await aDatasource(cluster, { tenant: owner, type, options });
    return { datasource, ...(await aListener(cluster, { tenant: owner, datasource, config })) };
  };
  const created = await Promise.all(withResources.map((one) => create(tenant, one)));
  const ofDoomed = await Promise.all(withResources.map((one) => create(doomed, one)));
  const ids = [...created, ...ofDoomed].map(({ id }) => id);
  await eventually(async () => {
    const { rows } = await pool.query<{ state: string }>(
      'select state from listener_lease where listener_id = any($1::uuid[])',
      [ids],
    );
    expect(rows.map(({ state }) => state)).toEqual(ids.map(() => 'running'));
  });
  expect((await servers.remoteResources()).length).toBeGreaterThan(2);
  // As the processing does when their creator may no longer.
  await pool.query(`update listener set status = 'error' where id = any($1::uuid[])`, [ids]);
  await eventually(async () =>
    expect((await pool.query('select from listener_lease where listener_id = any($1::uuid[])', [ids])).rowCount).toBe(
      0,
    ),
  );
  await first[Symbol.asyncDispose]();
  expect((await servers.remoteResources()).length).toBeGreaterThan(2);

  for (const [n, { id, datasource }] of created.entries())
    await api.delete(n % 2 === 0 ? `T/listeners/${id}` : `T/datasources/${datasource.id}`);
  const unreachable = await aDatasource(cluster, {
    tenant,
    type: 'postgresql',
    options: { connectionOption: 'connectionString', connectionString: 'postgres://u:p@127.0.0.1:1/d' },
  });
  const config = { source: 'changes', tables: 'public.orders' };
  const { id: away } = await aListener(cluster, { tenant, datasource: unreachable, config });
  await api.delete(`T/listeners/${away}`);
  await deleteTenant(pool, cluster.context.runs, doomed.id);
  expect((await pool.query('select from listener where id = any($1::uuid[])', [ids])).rowCount).toBe(0);
  await pool.query('update listener_residue set ready_at = now()');
  await using _ = await startOwner();

  await eventually(async () => expect(await servers.remoteResources()).toEqual([]));
  // One whose server does not answer is tried again.
  await eventually(async () => {
    const { rows } = await pool.query<{ id: string; tried: boolean }>(
      'select listener_id as id, attempts > 1 as tried from listener_residue',
    );
    expect(rows).toEqual([{ id: away, tried: true }]);
    await pool.query('update listener_residue set ready_at = now() where claimed_until is null');
  });
});
