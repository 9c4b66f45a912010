import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { createKeyRing } from '#shared/core/key-ring.ts';
import { findPostgres15, startPostgres15, writePrograms } from '#test/servers/postgres15.ts';
import { moveDatabase } from '#workers/tenant-database/databases/move.ts';
import { onServer } from '../../../support/database.ts';
import { testLogger, testServers } from '../../../support/environment.ts';
import { eventually } from '../../../support/settle.ts';
import { aTenantDatabases, removeDatabases, type TestDatabases } from '../../../support/tenant-databases.ts';

const never = new AbortController().signal;
const found = await findPostgres15();

let resources: AsyncDisposableStack;
let database: TestDatabases;
let urls: Record<string, string>;
/** Folder of pg_dump and pg_restore. */
let bin: string;
beforeAll(async () => {
  resources = new AsyncDisposableStack();
  if (found.path === null) return;
  const dir = resources.adopt(await mkdtemp(join(tmpdir(), `gantry-test-${process.pid}-`)), (path) =>
    rm(path, { recursive: true, force: true }),
  );
  await chmod(dir, 0o755);
  const { path } = found;
  bin = await writePrograms(join(dir, 'programs'), path);
  const [a, b] = await Promise.all(['a', 'b'].map((name) => startPostgres15({ dir: join(dir, name), bin: path })));
  if (!a || !b) throw new Error('Two servers were started');
  resources.use(a);
  resources.use(b);
  urls = { a: a.url, b: b.url };
  database = resources.use(
    await aTenantDatabases({
      TENANT_DATABASES_URL: `a=${a.url},b=${b.url},new=${testServers.tenantsURL}`,
      TENANT_DATABASES_PER_SERVER: '1000',
    }),
  );
});
afterAll(() => resources.disposeAsync());
beforeEach(({ skip }) => {
  if (found.path === null) skip(`there is no PostgreSQL 15: ${found.reason}`);
});

interface Tenant {
  id: string;
  name: string;
}

function run(tenantID: string, sql: string, signal = never) {
  return database.databases.withConnection(tenantID, signal, (client) => client.query(sql));
}

/** A tenant with a database on the server `a`. */
async function aTenant(): Promise<Tenant> {
  const id = newID();
  const { pool } = database.deployment;
  await pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, 'A tenant', $1)`, [id]);
  const name = `tenant_${newID().replaceAll('-', '').slice(-24)}`;
  const sealed = createKeyRing(database.deployment.config.secrets.keys).seal('known', `tenant_database:${id}:password`);
  await pool.query(
    `insert into tenant_database (id, tenant_id, server, database_name, role_name, password) values ($1, $1, 'a', $2, $2, $3)`,
    [id, name, sealed],
  );
  await run(
    id,
    `create table kept (id int primary key, word text); insert into kept select n, 'w' || n from generate_series(1, 1000) n;
     create schema "Other"; create view "Other".v as select * from kept; create function twice(int) returns int language sql as 'select 2 * $1';
     alter table kept enable row level security; alter database "${name}" set search_path to "Other", public; alter role current_user set lc_monetary to 'C'`,
  );
  return { id, name };
}

function move({ id }: Tenant, target: string, programs = bin): Promise<void> {
  const { pool, config } = database.deployment;
  const secrets = createKeyRing(config.secrets.keys);
  const { servers } = database.databases;
  return moveDatabase({ tenantID: id, target }, { pool, servers, secrets, logger: testLogger, programs });
}

async function serverOf({ id }: Tenant): Promise<string> {
  const { rows } = await database.deployment.pool.query('select server from tenant_database where tenant_id = $1', [
    id,
  ]);
  return rows[0].server;
}

async function databasesOn(server: string, { name }: Tenant): Promise<number> {
  return (await onServer('select from pg_database where datname = $1', { url: urls[server] ?? '', values: [name] }))
    .length;
}

async function signIns(server: string, { name }: Tenant): Promise<unknown[]> {
  const sql = 'select rolcanlogin from pg_roles where rolname = $1';
  return await onServer(sql, { url: urls[server] ?? '', values: [name] });
}

async function moveOf({ id }: Tenant): Promise<unknown> {
  const sql = 'select move_id, moving_until from tenant_database where tenant_id = $1';
  return (await database.deployment.pool.query(sql, [id])).rows[0];
}

const content = `select (select count(*)::int from kept) as rows, (select max(word) from "Other".v) as word, twice(id) as twice,
  (select relrowsecurity from pg_class where relname = 'kept') as secured  from kept where id = 7`;

test('everything is moved, and moved back, and the old database is dropped', async () => {
  const tenant = await aTenant();
  const { rows: before } = await run(tenant.id, content);

  for (const [from, to] of [
    ['a', 'b'],
    ['b', 'a'],
  ] as const) {
    await move(tenant, to);

    expect(await serverOf(tenant)).toBe(to);
    // A client that knows the password would write to a database that is dropped.
    expect(await signIns(from, tenant)).toEqual([{ rolcanlogin: false }]);
    expect((await run(tenant.id, content)).rows).toEqual(before);
    const settings = `select current_setting('search_path') as path, current_setting('lc_monetary') as money`;
    expect((await run(tenant.id, settings)).rows).toEqual([{ path: '"Other", public', money: 'C' }]);
    await database.deployment.pool.query('update tenant_database_removal set next_try_at = now()');
    await removeDatabases(database);
    expect([await databasesOn(from, tenant), await databasesOn(to, tenant)]).toEqual([0, 1]);
  }
});

test('writes during the move wait and are not lost', async () => {
  const tenant = await aTenant();
  let written = 0;
  let isOver = false;
  const writing = (async () => {
    while (!isOver) {
      // A write under way when the move begins is either done or refused.
      await run(tenant.id, `insert into kept values (${10_000 + written}, 'late')`);
      written += 1;
    }
  })();
  const slow = run(tenant.id, `select pg_sleep(1); insert into kept values (9999, 'slow')`);

  await eventually(() => expect(written).toBeGreaterThan(3));
  await move(tenant, 'b');
  const during = written;
  await eventually(() => expect(written).toBeGreaterThan(during + 3));
  isOver = true;
  await Promise.all([writing, slow]);

  const { rows } = await run(
    tenant.id,
    `select count(*) filter (where id >= 10000)::int as late, count(*) filter (where id = 9999)::int as slow from kept`,
  );
  expect(rows).toEqual([{ late: written, slow: 1 }]);
});

test('a failing move leaves the database where it was', async () => {
  const tenant = await aTenant();
  // Restoring checks the row again, and fails.
  await run(
    tenant.id,
    `create function fits(text) returns boolean language plpgsql as $$ begin return (select count(*) > 0 from public.kept); end $$;
     create table checked (word text check (fits(word))); insert into checked values ('x')`,
  );

  await expect(move(tenant, 'b')).rejects.toThrow(/nothing was moved.*It said/s);
  // Before any request, which would put the sign-in back itself once the lease of the move is over.
  expect(await signIns('a', tenant)).toEqual([{ rolcanlogin: true }]);
  expect(await moveOf(tenant)).toEqual({ move_id: null, moving_until: null });
  await run(tenant.id, `begin; create table open (n int); prepare transaction 'open'`);
  await expect(move(tenant, 'b')).rejects.toThrow('prepared transactions');
  await run(tenant.id, `commit prepared 'open'`);

  expect(await serverOf(tenant)).toBe('a');
  expect((await run(tenant.id, 'insert into kept values (5000) returning id')).rows).toEqual([{ id: 5000 }]);
  await run(tenant.id, 'drop table checked');
  await move(tenant, 'b');
  expect((await run(tenant.id, 'select count(*)::int as n from kept')).rows).toEqual([{ n: 1001 }]);
});

test("no code of the tenant runs with the deployment's rights, and its settings do not stop the move", async () => {
  const tenant = await aTenant();
  await run(
    tenant.id,
    `create schema mine; create table mine.seen (role name); grant all on schema mine to public; grant insert on mine.seen to public;
       create function mine.note() returns boolean language plpgsql as $$ begin insert into mine.seen values (current_user); return true; end $$;
       create view mine.pg_largeobject_metadata as select 1 as oid where mine.note();
       alter database "${tenant.name}" set search_path to mine, pg_catalog;
       alter database "${tenant.name}" set lock_timeout to '1ms'; alter role current_user set statement_timeout to '1min'`,
  );
  await run(tenant.id, `alter database "${tenant.name}" set default_transaction_read_only to on`);

  await move(tenant, 'b');

  expect((await run(tenant.id, 'select role from mine.seen')).rows).toEqual([]);
  const settings = `select name, setting from pg_settings where name in ('search_path', 'default_transaction_read_only') order by 1`;
  expect((await run(tenant.id, settings)).rows).toEqual([
    { name: 'default_transaction_read_only', setting: 'on' },
    { name: 'search_path', setting: 'mine, pg_catalog' },
  ]);
});

test('a move whose process dies lets the tenant work on, and cannot end later', async () => {
  const tenant = await aTenant();
  const { pool } = database.deployment;
  await pool.query(
    `update tenant_database set move_id = $2, moving_until = clock_timestamp() + interval '2 seconds' where tenant_id = $1`,
    [tenant.id, newID()],
  );
  await onServer(`alter role "${tenant.name}" nologin`, { url: urls.a ?? '' });
  await database.databases
    .withConnection(tenant.id, AbortSignal.timeout(300), (client) => client.query('select 1'))
    .then(
      () => expect.unreachable(),
      (error) =>
        expect(['UNAVAILABLE', 'TimeoutError']).toContain(error.code in { UNAVAILABLE: 1 } ? error.code : error.name),
    );

  const { rows } = await run(tenant.id, 'select count(*)::int as n from kept');

  expect(rows).toEqual([{ n: 1000 }]);
});

test.each(['dumped', 'restored'])(
  'a move that is killed while tables are %s loses nothing, and can be repeated',
  async (when) => {
    const tenant = await aTenant();
    await run(
      tenant.id,
      `create function slow(text) returns boolean language plpgsql as
       $$ begin perform pg_sleep(case current_setting('application_name') when 'pg_restore' then 600 else 0 end); return true; end $$;
     create table checked (word text check (slow(word))); insert into checked values ('x')`,
    );
    // The dump waits for it.
    const locking = new pg.Client({
      connectionString: Object.assign(new URL(urls.a ?? ''), { pathname: tenant.name }).href,
    });
    await locking.connect();
    if (when === 'dumped') await locking.query(`begin; set local role "${tenant.name}"; lock table public.kept`);
    const args = ['ops/move-tenant-database.ts', tenant.id, 'b'];
    const env = { ...database.deployment.env, PG_BIN: bin, PATH: process.env.PATH };
    const startMove = () => spawn(process.execPath, args, { env, stdio: 'ignore' });
    const mover = startMove();
    const reached =
      when === 'dumped'
        ? { url: urls.a ?? '', sql: `application_name = 'pg_dump' and wait_event_type = 'Lock'` }
        : { url: urls.b ?? '', sql: `application_name = 'pg_restore' and wait_event = 'PgSleep'` };
    await eventually(async () => {
      const sql = `select from pg_stat_activity where datname = '${tenant.name}' and ${reached.sql}`;
      expect(await onServer(sql, reached)).toHaveLength(1);
    });
    const blocked = run(tenant.id, 'insert into kept values (7000)', AbortSignal.timeout(300)).catch((error) => error);
    expect(await blocked).toBeInstanceOf(Error);

    mover.kill('SIGKILL');
    await once(mover, 'exit');
    await locking.end();
    await database.deployment.pool.query(
      'update tenant_database set moving_until = clock_timestamp() where tenant_id = $1',
      [tenant.id],
    );

    expect((await run(tenant.id, 'insert into kept values (7001) returning id')).rows).toEqual([{ id: 7001 }]);
    expect(await serverOf(tenant)).toBe('a');
    await run(tenant.id, 'drop table checked');
    // One of the two says that the command ends well.
    if (when === 'dumped') await move(tenant, 'b');
    else expect(await once(startMove(), 'exit')).toEqual([0, null]);
    expect(await serverOf(tenant)).toBe('b');
    const count = `select count(*)::int as n, count(*) filter (where id = 7000)::int as blocked from kept`;
    expect((await run(tenant.id, count)).rows).toEqual([{ n: 1001, blocked: 0 }]);
  },
);

test('a move that has not reported in time does not end, even if it is complete', async () => {
  const tenant = await aTenant();
  const { pool } = database.deployment;
  const moving = move(tenant, 'b').catch((error: Error) => error);
  await eventually(async () => {
    const { rowCount } = await pool.query(
      `update tenant_database set moving_until = clock_timestamp() - interval '1 second' where tenant_id = $1 and move_id is not null`,
      [tenant.id],
    );
    expect(rowCount).toBe(1);
  });

  // The copy has begun, so the sessions of the tenant have been ended. What is written from now on would be missing in it.
  await eventually(async () => expect(await databasesOn('b', tenant)).toBe(1));
  expect((await run(tenant.id, 'insert into kept values (6000) returning id')).rows).toEqual([{ id: 6000 }]);

  expect(await moving).toMatchObject({ message: expect.stringContaining('nothing was moved') });
  expect(await serverOf(tenant)).toBe('a');
  expect((await run(tenant.id, 'select count(*)::int as n from kept')).rows).toEqual([{ n: 1001 }]);
});

test.each([
  ['without the programs', 'b', '/nowhere', 'set PG_BIN'],
  [
    'with programs older than the server',
    'new',
    undefined,
    /pg_dump is of PostgreSQL 15, and the server "new" of PostgreSQL 18/,
  ],
  ['to a server that is not named', 'c', undefined, 'TENANT_DATABASES_URL names no server "c"'],
  ['to the server that it is on', 'a', undefined, 'is on the server "a" already'],
])('is refused %s before anything is done', async (_what, target, programs, says) => {
  const tenant = await aTenant();

  await expect(move(tenant, target, programs)).rejects.toThrow(says);

  const { rows } = await database.deployment.pool.query('select move_id from tenant_database where tenant_id = $1', [
    tenant.id,
  ]);
  expect(rows).toEqual([{ move_id: null }]);
  expect((await run(tenant.id, 'select 1 as one')).rows).toEqual([{ one: 1 }]);
});
