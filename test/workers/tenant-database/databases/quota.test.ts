import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { createKeyRing } from '#shared/core/key-ring.ts';
import { measureDatabases } from '#workers/tenant-database/databases/quota.ts';
import { executeSQL } from '#workers/tenant-database/rows/execute-sql.ts';
import { tenantServer } from '../../../support/database.ts';
import { testLogger } from '../../../support/environment.ts';
import { eventually } from '../../../support/settle.ts';
import { aTenantDatabases, type TestDatabases } from '../../../support/tenant-databases.ts';

const MAX_BYTES = 20_000_000;

let database: TestDatabases;
beforeAll(async () => {
  database = await aTenantDatabases({ TENANT_DATABASES_MAX_BYTES: String(MAX_BYTES) });
});
afterAll(() => database[Symbol.asyncDispose]());

const never = new AbortController().signal;

async function aTenant(): Promise<string> {
  const id = newID();
  await database.deployment.pool.query(
    `insert into tenant (id, tenant_title, creator_id) values ($1, 'A tenant', $1)`,
    [id],
  );
  return id;
}

function run(tenantID: string, sql: string) {
  const options = { params: [], readOnly: false, timeoutSeconds: 30, maxRows: 10 };
  return database.databases.withConnection(tenantID, never, (client) =>
    executeSQL(client, { kind: 'executeSQL', sql, ...options }),
  );
}

async function measure(): Promise<void> {
  const { pool, config } = database.deployment;
  await pool.query('update tenant_database set measured_at = null');
  const secrets = createKeyRing(config.secrets.keys);
  await measureDatabases({ pool, secrets, servers: database.databases.servers, logger: testLogger });
}

async function isFull(tenantID: string): Promise<boolean> {
  const { rows } = await database.deployment.pool.query(
    'select full_since is not null as full from tenant_database where tenant_id = $1',
    [tenantID],
  );
  return rows[0].full;
}

/** Objects that a tenant could have prepared before it was over its quota. */
const PREPARED = `
create table big (word text); create table small (id int primary key); insert into small select generate_series(1, 9);
create table log (n int); create table guarded (n int); insert into guarded values (1);
create table parent (id int primary key); create table child (id int default 0 references parent on delete set default);
insert into parent values (0), (1);
alter database NAME connection limit 1;
create schema open; grant all on schema open to public; grant all on all tables in schema public to public; grant temporary on database NAME to public;
create function writes() returns int language sql security definer as 'insert into public.log values (1) returning n';
create function logs() returns trigger language plpgsql security definer as $$ begin insert into public.log values (2); return old; end $$;
create type kind as enum ('a', 'b'); create table kinds (id int primary key); create table kinded (kind kind);
create function number(kind) returns int language plpgsql as $$ begin insert into public.log values (3); return 1; end $$;
create cast (kind as int) with function number(kind) as implicit;
alter table kinded add foreign key (kind) references kinds; insert into kinds values (1), (2); insert into kinded values ('a');
create trigger logs before delete on guarded for each row execute function logs();
insert into big select repeat('x', 1000) from generate_series(1, 20000)`;

test('over its quota a database takes no writes by any way that its owner could have prepared', async () => {
  const tenantID = await aTenant();
  const { result } = await run(tenantID, 'select current_user as name');
  const [{ name }] = result as [{ name: string }];
  await run(tenantID, PREPARED.replaceAll('NAME', name));
  await measure();
  expect(await isFull(tenantID)).toBe(true);

  for (const sql of [
    'insert into small values (10)',
    'update small set id = id + 10',
    'create table more (id int)',
    'create table open.more (id int)',
    'create temporary table more (id int)',
    'select writes()',
    'delete from guarded',
    'delete from parent',
    'delete from kinds where id = 2',
    `select lo_from_bytea(0, 'x')`,
    `alter role "${name}" login`,
    `set role "${name}"`,
    `grant insert on small to current_user; insert into small values (10)`,
    `grant create on schema open to current_user; create table open.more (id int)`,
    'drop table small; create table small (id int)',
  ])
    await expect(run(tenantID, sql), sql).rejects.toMatchObject({
      code: 'QUOTA_EXCEEDED',
      message: expect.stringContaining(`${MAX_BYTES} bytes`),
    });
  const { rows } = await tenantServer.query(
    `select rolcanlogin as "mayComeBack", (select count(*)::int from pg_stat_activity where usename = $1) as n from pg_roles where rolname = $1`,
    [name],
  );
  expect(rows).toEqual([{ mayComeBack: false, n: 0 }]);
});

test('a statement that is under way when a database passes its quota writes nothing', async () => {
  const tenantID = await aTenant();
  await run(tenantID, 'create table small (id int)');
  const { result } = await run(tenantID, 'select current_user as name');
  const [{ name }] = result as [{ name: string }];
  const writing = run(tenantID, 'insert into small select 1 from (select pg_sleep(25)) slept').catch((error) => error);
  await eventually(async () => {
    const sql = `select from pg_stat_activity where usename = $1 and state = 'active' and query like '%pg_sleep%'`;
    expect((await tenantServer.query(sql, [name])).rows).toHaveLength(1);
  });
  await run(tenantID, `create table big as select repeat('x', 1000) from generate_series(1, 20000)`);

  await measure();

  expect(await isFull(tenantID)).toBe(true);
  expect(await writing).toBeInstanceOf(Error);
  expect((await run(tenantID, 'select count(*)::int as n from small')).result).toEqual([{ n: 0 }]);
});

test('over its quota rows can be read and deleted, tables truncated and dropped; then it takes writes again', async () => {
  const tenantID = await aTenant();
  await run(tenantID, PREPARED.replaceAll(/(grant temporary|alter database)[^;]+;/g, ''));
  await measure();
  expect(await isFull(tenantID)).toBe(true);

  expect((await run(tenantID, 'select count(*)::int as n from small')).result).toEqual([{ n: 9 }]);
  expect(await run(tenantID, 'delete from small where id > 5')).toMatchObject({ rowCount: 4 });
  await run(tenantID, 'truncate log');
  expect(await run(tenantID, 'drop table guarded')).toMatchObject({ results: [{ command: 'DROP' }] });
  await measure();
  expect(await isFull(tenantID)).toBe(true);
  await run(tenantID, 'truncate big');
  await measure();

  expect(await isFull(tenantID)).toBe(false);
  await run(tenantID, 'insert into small values (100); create table more (id int); drop table more');
  expect((await run(tenantID, 'select count(*)::int as n from small')).result).toEqual([{ n: 6 }]);
});

test('long texts of a tenant in catalogues of the whole server are removed, and nothing else', async () => {
  const [tenantID, other] = [await aTenant(), await aTenant()];
  const name = async (id: string) => (await run(id, 'select current_user as name')).result as [{ name: string }];
  const [[{ name: own }], [{ name: neighbour }]] = [await name(tenantID), await name(other)];
  await run(
    tenantID,
    `do $$ declare text text; begin
       select string_agg(md5(n::text), '') into text from generate_series(1, 10000) n;
       execute format('comment on database %I is %L', current_database(), text);
       execute format('alter role current_user set search_path = %L', text);
       execute format('alter database %I set search_path = %L', current_database(), text); end $$`,
  );
  await run(other, `comment on database "${neighbour}" is 'Short'; alter role current_user set search_path = 'short'`);

  await measure();

  const { rows } = await tenantServer.query(
    `select datname = $1 as own, shobj_description(oid, 'pg_database') as comment,
       array(select unnest(setconfig) from pg_db_role_setting where setrole = datdba or setdatabase = db.oid order by 1) as settings
     from pg_database db where datname in ($1, $2) order by 1`,
    [own, neighbour],
  );
  const defaults = [
    'idle_in_transaction_session_timeout=1min',
    'statement_timeout=5min',
    'temp_file_limit=1GB',
    'work_mem=8MB',
  ];
  expect(rows).toEqual([
    { own: false, comment: 'Short', settings: [...defaults, 'search_path=short'].sort() },
    { own: true, comment: null, settings: defaults },
  ]);
});
