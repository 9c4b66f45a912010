import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import { migrateAll } from '#ops/migrate-all.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { createPool } from '#shared/db/pool.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { createProducer } from '#shared/messaging/producer.ts';
import { readConfig } from '#shared/process/config.ts';
import { createRuns } from '#shared/runs/runs.ts';
import { redisURL } from '#test/support/backplane.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { testLogger, testSecurity } from '#test/support/environment.ts';
import { graph, noop } from '#test/support/graphs.ts';
import { type GatedServer, startGated } from '#test/support/held-server.ts';
import { readSeries, scrape } from '#test/support/metrics.ts';
import { startOwnPostgres } from '#test/support/own-postgres.ts';
import { type Spawned, spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';
import { startTCPProxy } from '#test/support/tcp-proxy.ts';

/** So long that a busy machine does not keep a worker from renewing its lease. */
const LEASE_MS = 5_000;

const calls = (server: GatedServer, nodes: readonly string[]) =>
  graph(
    {
      start: { type: 'start' },
      ...Object.fromEntries(nodes.map((id) => [id, { type: 'http', method: 'GET', url: `${server.origin}/${id}` }])),
      after: noop,
    },
    nodes.flatMap((id) => [`start>${id}`, `${id}:success>after`]),
  );

/** A worker process, and what it serves about itself. */
interface MeteredWorker extends Spawned {
  /** One series of its metrics. */
  metric(series: string): Promise<number>;
  /** Status and checks of its page. */
  readiness(): Promise<{ status: number; checks: JsonObject }>;
}

async function spawnWorker(env: Record<string, string>): Promise<MeteredWorker> {
  const port = await freePort();
  const spawned = spawnNode(['workers/main.ts', 'workflow.runs'], {
    ...env,
    METRICS_PORT: String(port),
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
  });
  return Object.assign(spawned, {
    metric: async (series: string) => readSeries((await scrape(port)).text, series),
    async readiness() {
      const { status, text } = await scrape(port, '/ready');
      const { success, status: inWords, checks } = JSON.parse(text);
      expect({ success, inWords }).toEqual({
        success: status === 200,
        inWords: status === 200 ? 'ready' : 'not ready',
      });
      return { status, checks };
    },
  });
}

async function worker(env: Record<string, string>, { pool }: Pick<Deployment, 'pool'>): Promise<MeteredWorker> {
  const count = async () => (await pool.query('select from worker_session')).rowCount ?? 0;
  const before = await count();
  const spawned = await spawnWorker(env);
  await eventually(async () => expect(await count()).toBeGreaterThan(before));
  return spawned;
}

const becomes = (process: MeteredWorker, series: string, value: number) =>
  eventually(async () => expect(await process.metric(series)).toBe(value));

const saysReady = (process: MeteredWorker, status: number, checks: JsonObject) =>
  eventually(async () => expect(await process.readiness()).toMatchObject({ status, checks }));

const READY = { postgres: 'ok', backplane: 'ok', lease: 'ok', draining: false };

const LEASE_VALID = 'gantry_lease_valid{process="worker"}';

test('during an outage of Postgres longer than a lease no lease ends, and no call is made twice', async () => {
  await using resources = new AsyncDisposableStack();
  const server = resources.use(await startGated());
  const { postgres } = resources.use(await startOwnPostgres());
  const env = {
    NODE_ENV: 'test',
    DATABASE_URL: postgres.url,
    ...(redisURL && { REDIS_URL: redisURL }),
    BACKPLANE_PREFIX: `t${newID().replaceAll('-', '').slice(-20)}`,
    ...testSecurity,
    WORKER_SESSION_SECONDS: String(LEASE_MS / 1000),
    SANDBOX_PROCESSES: '1',
    LOG_LEVEL: 'silent',
  };
  const config = readConfig(env);
  const pool = createPool(config.db, testLogger);
  resources.defer(() => pool.end());
  const backplane = resources.use(await createBackplane(config.backplane, testLogger));
  await migrateAll(config, backplane, testLogger);
  const runs = createRuns({
    pool,
    dispatchPool: pool,
    producer: createProducer(backplane),
    messages: backplane.messages,
    logger: testLogger,
  });
  const [tenantID, versionID] = [newID(), newID()];
  await pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'A tenant', $1)`, [tenantID]);
  const { nodes, edges } = calls(server, ['call']);
  await pool.query(
    `insert into workflow_version (id, tenant_id, nodes, edges, options) values ($1, $2, $3, $4, '{}')`,
    [versionID, tenantID, JSON.stringify(nodes), JSON.stringify(edges)],
  );
  const processes = [resources.use(await worker(env, { pool })), resources.use(await worker(env, { pool }))];
  const ids = await runs.acceptMany(
    Array.from({ length: 4 }, () => ({
      tenantID,
      workflowID: null,
      versionID,
      caller: { type: 'system' as const, id: tenantID, origin: 'direct' as const },
      input: {},
      timeoutMs: 3_600_000,
    })),
  );
  await eventually(() => expect(server.seen).toHaveLength(4));
  // Leases may expire, as if the leaders had ticked for long enough.
  await pool.query(`update sweep set streak_started_at = now() - interval '1 hour'`);

  await postgres.kill9();
  for (const each of processes) await becomes(each, LEASE_VALID, 0);
  server.answer(2);
  await sleep(LEASE_MS / 2);
  await postgres.restart();
  for (const each of processes) await becomes(each, LEASE_VALID, 1);
  server.answer();

  await eventually(async () => {
    const { rows } = await pool.query<{ status: string; epoch: number; n: number }>(
      'select status, epoch, count(*) as n from workflow_instance where id = any($1::uuid[]) group by 1, 2',
      [ids],
    );
    expect(rows).toEqual([{ status: 'COMPLETED', epoch: 1, n: 4 }]);
  });
  expect(server.seen).toHaveLength(4);
  const { rows: sessions } = await pool.query<{ ended: boolean }>(
    'select ended_at is not null as ended from worker_session',
  );
  expect(sessions).toEqual([{ ended: false }, { ended: false }]);
  for (const each of processes) {
    expect(await each.metric('gantry_lease_renewals_total{process="worker",outcome="failed"}')).toBeGreaterThan(0);
    expect(await each.metric('gantry_lease_renewals_total{process="worker",outcome="lost"}')).toBe(0);
    expect(await each.metric('gantry_repairs_total{kind="lease expired"}')).toBeNaN();
  }
  expect(processes.map(({ child }) => child.exitCode)).toEqual([null, null]);
});

test('a worker without Postgres says that it is not ready, starts no node, finishes the one in flight, and goes on afterwards', async () => {
  await using resources = new AsyncDisposableStack();
  const server = resources.use(await startGated());
  const deployment = resources.use(await startDeployment({ WORKER_SESSION_SECONDS: String(LEASE_MS / 1000) }));
  const proxy = resources.use(await startTCPProxy(deployment.config.db.url));
  const { env } = deployment;
  proxy.cut();
  const cutOff = resources.use(await spawnWorker({ ...env, DATABASE_URL: proxy.url, WORKER_SLOTS: '1' }));
  await saysReady(cutOff, 503, { postgres: 'is away' });
  proxy.heal();
  await saysReady(cutOff, 200, READY);
  const { instanceID } = await deployment.runs.accept(
    deployment.newRun(await deployment.saveVersion(calls(server, ['a', 'b']))),
  );
  await eventually(() => expect(server.seen).toHaveLength(1));

  proxy.silence();
  await becomes(cutOff, LEASE_VALID, 0);
  await saysReady(cutOff, 503, { postgres: 'does not answer', lease: 'is over' });
  server.answer();
  // Its slot is free now, and the other node may have it as soon as the lease is valid.
  await becomes(cutOff, 'gantry_places{process="worker",lane="nodes",state="used"}', 0);
  await sleep(500);
  expect(server.seen).toHaveLength(1);

  proxy.heal();
  await eventually(() => expect(server.seen).toHaveLength(2));
  server.answer();
  await eventually(async () =>
    expect(await deployment.read(instanceID)).toMatchObject({ status: 'COMPLETED', epoch: 1 }),
  );
  expect(server.seen).toHaveLength(2);
  await saysReady(cutOff, 200, READY);
  expect(cutOff.child.exitCode).toBeNull();
});
