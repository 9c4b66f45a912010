/** More tenants at work than their server has connections, over two workers. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPostgres } from '#ops/embedded/postgres.ts';
import { aTenantDatabases, databasesOf, type TestDatabases } from '../../support/tenant-databases.ts';

const TENANTS = 15;
const ROUNDS = 6;

let resources: AsyncDisposableStack;
let database: TestDatabases;
beforeAll(async () => {
  resources = new AsyncDisposableStack();
  const dir = resources.adopt(await mkdtemp(join(tmpdir(), `gantry-test-${process.pid}-`)), (path) =>
    rm(path, { recursive: true, force: true }),
  );
  const settings = { max_connections: '14', reserved_connections: '5', fsync: 'off', shared_buffers: '16MB' };
  const files = { dir: join(dir, 'tenants'), log: join(dir, 'log') };
  const server = resources.use(await startPostgres({ ...files, database: 'postgres', settings, forTenants: true }));
  database = resources.use(await aTenantDatabases({ TENANT_DATABASES_URL: `small=${server.url}` }));
});
afterAll(() => resources.disposeAsync());

test('15 tenants of two workers share the 6 connections of their server, and none fails or starves', async () => {
  await using other = databasesOf(database.deployment);
  const workers = [database.databases, other];
  const { rows } = await database.deployment.pool.query<{ id: string }>(
    `insert into tenant (id, tenant_title, creator_id) select gen_random_uuid(), 'A tenant', gen_random_uuid() from generate_series(1, $1) returning id`,
    [TENANTS],
  );
  const ids = rows.map(({ id }) => id);
  const done: string[] = [];
  const work = async (id: string, round: number) => {
    const worker = workers[round % workers.length] ?? database.databases;
    await worker.withConnection(id, AbortSignal.timeout(20_000), (client) => client.query('select pg_sleep(0.02)'));
    done.push(id);
  };

  // The first use creates the databases.
  await Promise.all(ids.map((id) => work(id, 0)));
  done.length = 0;
  await Promise.all(
    ids.map(async (id) => {
      for (let round = 0; round < ROUNDS; round += 1) await Promise.all([work(id, round), work(id, round + 1)]);
    }),
  );

  expect(done).toHaveLength(TENANTS * ROUNDS * 2);
  // In the first half of the work each tenant had about half of its own.
  const half = Map.groupBy(done.slice(0, done.length / 2), (id) => id);
  const shares = ids.map((id) => half.get(id)?.length ?? 0);
  expect(Math.min(...shares), shares.join(' ')).toBeGreaterThanOrEqual(ROUNDS / 2);
  expect(Math.max(...shares), shares.join(' ')).toBeLessThan(ROUNDS * 2);
});
