/** Tenants that take what all tenants of a server share, and no limit of a role covers. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPostgres } from '#ops/embedded/postgres.ts';
import { newID } from '#shared/core/ids.ts';
import { deleteTenant } from '#shared/tenants/delete-tenant.ts';
import { endOrphans } from '#workers/tenant-database/databases/orphans.ts';
import { createCatalogGuard } from '#workers/tenant-database/servers/catalog-guard.ts';
import { createLockGuard } from '#workers/tenant-database/servers/lock-guard.ts';
import { testLogger } from '../../support/environment.ts';
import { eventually } from '../../support/settle.ts';
import { aTenantDatabases, removeDatabases, type TestDatabases } from '../../support/tenant-databases.ts';

let resources: AsyncDisposableStack;
let database: TestDatabases;
let admin: pg.Client;
beforeAll(async () => {
  resources = new AsyncDisposableStack();
  const dir = resources.adopt(await mkdtemp(join(tmpdir(), `gantry-test-${process.pid}-`)), (path) =>
    rm(path, { recursive: true, force: true }),
  );
  const settings = {
    max_connections: '20',
    reserved_connections: '5',
    fsync: 'off',
    autovacuum_naptime: '1s',
    max_prepared_transactions: '5',
  };
  const files = { dir: join(dir, 'tenants'), log: join(dir, 'log') };
  const server = resources.use(await startPostgres({ ...files, database: 'postgres', settings, forTenants: true }));
  database = resources.use(await aTenantDatabases({ TENANT_DATABASES_URL: `small=${server.url}` }));
  admin = new pg.Client({ connectionString: server.url });
  resources.defer(() => admin.end());
  await admin.connect();
});
afterAll(() => resources.disposeAsync());

async function anotherTenant(id = newID()): Promise<(sql: string) => Promise<unknown>> {
  const { pool } = database.deployment;
  await pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'A tenant', $1)`, [id]);
  return (sql) => database.databases.withConnection(id, AbortSignal.timeout(30_000), (client) => client.query(sql));
}

const sweep = (more = {}) =>
  endOrphans({ pool: database.deployment.pool, servers: database.databases.servers, logger: testLogger, ...more });

async function count(sql: string): Promise<number> {
  const { rows } = await admin.query(`select count(*)::int as n from ${sql}`);
  return rows[0]?.n;
}

test("a tenant that holds the server's locks loses them, and others work on", async () => {
  const server = database.databases.servers.get('small');
  await using first = new AsyncDisposableStack();
  const guard = first.use(createLockGuard(server, testLogger));
  await using second = createLockGuard(server, testLogger);
  expect([await guard.check(), await second.check()]).toEqual([0, undefined]);
  const neighbour = await anotherTenant();
  await neighbour('create table before (n int)');
  // It survives a cancel, time limits and the end of its client.
  const holding = database.use((client) =>
    client.query(`
      set client_connection_check_interval = 0; set statement_timeout = 0;
      do $$ begin for n in 1..100000 loop begin perform pg_advisory_lock(n); exception when out_of_memory then exit; end; end loop;
        loop begin perform pg_sleep(10); exception when query_canceled then null; end; end loop; end $$`),
  );
  holding.catch(() => undefined);
  const work = 'begin; create table during (n int primary key); rollback';
  await eventually(() => expect(neighbour(work)).rejects.toThrow());

  expect(await guard.check()).toBe(1);

  await expect(holding).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });
  await eventually(async () => void (await neighbour(work)));
  expect([await guard.check(), await second.check()]).toEqual([0, undefined]);
  await first.disposeAsync();
  await eventually(async () => expect(await second.check()).toBe(0));
});

test.each([
  ['comments on its database', "execute format('comment on database %I is %L', current_database(), text)"],
  ['settings of its role', "execute format('alter role current_user set search_path = %L', text)"],
])('a transaction that fills the catalogues of the server with %s is ended', async (_what, statement) => {
  const guard = createCatalogGuard(database.databases.servers.get('small'), { maxBytes: 2_000_000, maxGrowth: 0 });
  expect(await guard.check()).toBe(0);
  const filling = database.use((client) =>
    client.query(`
      set client_connection_check_interval = 0; set statement_timeout = 0;
      do $$ declare text text; begin
        loop begin
          select string_agg(md5(random()::text), '') into text from generate_series(1, 30000);
          ${statement};
        exception when query_canceled then null; end; end loop; end $$`),
  );
  filling.catch(() => undefined);

  await eventually(async () => expect(await guard.check()).toBe(1));

  await expect(filling).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });
  await eventually(async () =>
    expect(await count(`pg_stat_activity where usename ~ '^tenant_' and state = 'active'`)).toBe(0),
  );
  expect(await guard.check()).toBe(0);
});

test("autovacuum's worker ends that runs a function of a tenant without end", async () => {
  const workers = `pg_stat_activity where backend_type = 'autovacuum worker' and wait_event = 'PgSleep'`;
  // Autovacuum's workers have no name of an application.
  await database.use((client) =>
    client.query(`
      create function wait() returns void language plpgsql as
        $$ begin loop begin perform pg_sleep(10); exception when query_canceled then null; end; end loop; end $$;
      create function same(int) returns int language plpgsql immutable as
        $$ begin if current_setting('application_name') = '' then perform public.wait(); end if; return $1; end $$;
      create table analyzed (n int) with (autovacuum_analyze_threshold = 1, autovacuum_analyze_scale_factor = 0);
      create index on analyzed (same(n)); insert into analyzed select generate_series(1, 100)`),
  );
  await eventually(async () => expect(await count(workers)).toBe(1));
  expect(await sweep()).toBe(0);

  expect(await sweep({ analyzeSeconds: 0 })).toBe(1);

  // A lock on the table keeps the next worker from it.
  await database.use((client) => client.query('begin; lock table analyzed; drop table analyzed; commit'));
  await eventually(async () => expect(await count(workers)).toBe(0));
});

test('a transaction that a tenant has prepared and left open is rolled back, at the latest with its database', async () => {
  const { pool, runs } = database.deployment;
  const id = newID();
  const run = await anotherTenant(id);
  const leaveOpen = `begin; create table "left" (n int); prepare transaction 'it''s open'`;
  await run(leaveOpen);
  expect(await sweep()).toBe(0);

  await sweep({ maxStatementSeconds: 0 });

  expect(await count('pg_prepared_xacts')).toBe(0);
  // Its locks and its gid are free.
  await run(leaveOpen);
  await run(`do $$ begin execute format('alter database %I connection limit 0', current_database()); end $$`);
  await deleteTenant(pool, runs, id);
  expect(await removeDatabases(database)).toBe(1);
  expect(await count('pg_prepared_xacts')).toBe(0);
});
