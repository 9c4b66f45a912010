import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { migrateAll } from '#ops/migrate-all.ts';
import { newID } from '#shared/core/ids.ts';
import { createPool, type Pool } from '#shared/db/pool.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { createProducer } from '#shared/messaging/producer.ts';
import { readConfig } from '#shared/process/config.ts';
import { createRuns } from '#shared/runs/runs.ts';
import { redisURL } from '#test/support/backplane.ts';
import { testLogger, testSecurity } from '#test/support/environment.ts';
import { graph, noop } from '#test/support/graphs.ts';
import { startGated } from '#test/support/held-server.ts';
import { LEASE_VALID, type MeteredWorker, spawnMeteredWorker } from '#test/support/metered-worker.ts';
import { startOwnPostgres } from '#test/support/own-postgres.ts';
import { eventually } from '#test/support/settle.ts';

/** So long that a busy machine does not keep a worker from renewing its lease. */
const LEASE_MS = 5_000;

/** A process whose lease has begun. */
async function worker(env: Record<string, string>, { pool }: { pool: Pool }): Promise<MeteredWorker> {
  const count = async () => (await pool.query('select from worker_session')).rowCount ?? 0;
  const before = await count();
  const spawned = await spawnMeteredWorker(env);
  await eventually(async () => expect(await count()).toBeGreaterThan(before));
  return spawned;
}

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
  const call = { type: 'http', method: 'GET', url: server.origin };
  const { nodes, edges } = graph({ start: { type: 'start' }, call, after: noop }, ['start>call', 'call:success>after']);
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
  for (const each of processes) await each.becomes(LEASE_VALID, 0);
  server.answer(2);
  await sleep(LEASE_MS / 2);
  await postgres.restart();
  for (const each of processes) await each.becomes(LEASE_VALID, 1);
  server.answer();

  await eventually(async () => {
    const { rows } = await pool.query<{ status: string; losses: number; n: number }>(
      'select status, losses, count(*) as n from workflow_instance where id = any($1::uuid[]) group by 1, 2',
      [ids],
    );
    // Not the epoch: a run yields after its second if others waited for a worker when Postgres went away.
    expect(rows).toEqual([{ status: 'COMPLETED', losses: 0, n: 4 }]);
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
