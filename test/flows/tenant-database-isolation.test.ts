import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../support/client.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { tenantServer } from '../support/database.ts';
import { testServers } from '../support/environment.ts';
import { aTenant, type TestTenant } from '../support/factories.ts';

let cluster: Cluster;
let mine: TestTenant;
let theirs: TestTenant;
let api: Client;
let own: { database_name: string; role_name: string };
let other: { database_name: string; role_name: string };

beforeAll(async () => {
  cluster = await startCluster({ workers: ['tenant.database'] });
  [mine, theirs] = [await aTenant(cluster), await aTenant(cluster)];
  api = cluster.as(mine.creator).in(mine);
  await cluster
    .as(theirs.creator)
    .in(theirs)
    .post('T/database/execute-raw-sql', { sql: 'create table secrets (word text)' });
  await api.post('T/database/execute-raw-sql', { sql: 'select 1' });
  [own, other] = [await databaseOf(mine), await databaseOf(theirs)];
});
afterAll(() => cluster[Symbol.asyncDispose]());

async function databaseOf({ id }: TestTenant) {
  const { rows } = await cluster.pool.query(
    'select database_name, role_name from tenant_database where tenant_id = $1',
    [id],
  );
  return rows[0];
}

const run = (sql: string) => api.post('T/database/execute-raw-sql', { sql });

test('the role may only sign in, and its name reveals nothing', async () => {
  const { rows } = await tenantServer.query(
    `select rolcanlogin, rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls, rolconnlimit > 0 as limited,
            (select count(*)::int from pg_auth_members m where m.member = r.oid) as memberships
     from pg_roles r where rolname = $1`,
    [own.role_name],
  );

  expect(rows).toEqual([
    {
      rolcanlogin: true,
      rolsuper: false,
      rolcreatedb: false,
      rolcreaterole: false,
      rolreplication: false,
      rolbypassrls: false,
      limited: true,
      memberships: 0,
    },
  ]);
  expect(own.role_name).toMatch(/^tenant_[0-9a-f]{24}$/);
  expect(own.database_name).not.toContain(mine.id.slice(0, 8));
});

test.each(['another tenant', 'postgres', 'template1'])(
  'the role may not connect to the database of %s',
  async (whose) => {
    const database = whose === 'another tenant' ? other.database_name : whose;

    const { body } = await run(`select has_database_privilege('${database}', 'CONNECT') as may`);
    expect(body.result).toEqual([{ may: false }]);

    // A tenant can give its role a known password, so the server itself must refuse.
    expect((await run(`alter role current_user password 'known'`)).status).toBe(200);
    const url = new URL(testServers.tenantsURL);
    url.username = own.role_name;
    url.password = 'known';
    url.pathname = `/${database}`;
    const client = new pg.Client({ connectionString: url.href });
    client.on('error', () => undefined);
    await expect(client.connect()).rejects.toMatchObject({ code: '42501' });
  },
);

test('a tenant that has changed the password of its role can still connect', async () => {
  await run(`alter role current_user password 'forgotten'`);
  await tenantServer.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [
    own.role_name,
  ]);

  await expect.poll(async () => (await run('select 1 as one')).body.result).toEqual([{ one: 1 }]);
});

test.each([
  [`select pg_read_file('/etc/passwd')`, '42501'],
  [`select pg_read_binary_file('/etc/passwd')`, '42501'],
  [`select pg_ls_dir('/')`, '42501'],
  [`select pg_stat_file('/etc/passwd')`, '42501'],
  [`select lo_import('/etc/passwd')`, '42501'],
  [`create table f (t text); copy f from '/etc/passwd'`, '42501'],
  [`create table f (t text); copy f to '/tmp/gantry-escape'`, '42501'],
  [`create table f (t text); copy f from program 'id'`, '42501'],
  [`copy (select 1) to program 'id'`, '42501'],
  ['select * from pg_authid', '42501'],
  ['select * from pg_shadow', '42501'],
  ['create extension file_fdw', '42501'],
  ['create extension dblink', '42501'],
  ['create extension postgres_fdw', '42501'],
  ['create extension plpython3u', '42501'],
  ['create language plperlu', '42501'],
  [`load '$libdir/dblink'`, '42501'],
  ["create function f() returns void language internal as 'pg_read_file'", '42501'],
  ['create event trigger e on ddl_command_end execute function pg_catalog.pg_notify()', '42501'],
  [`select pg_create_logical_replication_slot('s', 'pgoutput')`, '42501'],
  [`select pg_create_physical_replication_slot('s')`, '42501'],
  [`create subscription s connection 'host=127.0.0.1' publication p`, '42501'],
  ['create publication p for all tables', '42501'],
  [`select pg_logical_slot_get_changes('s', null, null)`, '42501'],
  [`begin; create table t (n int); prepare transaction 't'`, '55000'],
  ["create function f() returns int language c as 'libc', 'system'", '42501'],
  ['create role mate', '42501'],
  ['create database mine', '42501'],
  ['alter role current_user superuser', '42501'],
  ['alter system set work_mem = 1', '42501'],
  ["create tablespace t location '/tmp'", '42501'],
  ['checkpoint', '42501'],
  [`set role gantry`, '42501'],
  [`set session authorization gantry`, '42501'],
  [`select pg_reload_conf()`, '42501'],
  [`set temp_file_limit = -1`, '42501'],
])('%s is refused', async (sql, code) => {
  const answer = await run(sql);

  expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 400, body: { error: { code: 'DB_ERROR' } } });
  // A server without the extension has nothing to refuse.
  expect([code, '58P01', '0A000', '22023']).toContain(answer.body.error.details.postgres_code);
});

test('data of the deployment and of other tenants is not visible', async () => {
  expect((await run('select * from tenant')).body.error.details.postgres_code).toBe('42P01');
  expect((await run(`select * from "${other.database_name}".public.secrets`)).body.error.details.postgres_code).toBe(
    '0A000',
  );
  const metadata = await api.get('T/database/metadata');
  expect(JSON.stringify(metadata.body)).not.toContain('secrets');
});

test.each([
  'pg_stat_activity',
  'pg_stat_get_activity(null)',
  'pg_stat_database',
  'pg_locks',
  'pg_database',
  'pg_roles',
  'pg_user',
  'pg_auth_members',
  'pg_shdepend',
  'pg_db_role_setting',
  'pg_lock_status()',
  'pg_stat_get_backend_idset()',
  'pg_stat_get_db_numbackends(1::oid)',
  'pg_stat_get_progress_info($$VACUUM$$)',
])('%s, which names other databases or roles, is closed', async (source) => {
  expect((await run(`select * from ${source}`)).body.error.details.postgres_code).toBe('42501');
});

test('a tenant cannot cancel or terminate sessions of another', async () => {
  const { rows } = await tenantServer.query('select pid from pg_stat_activity where usename = $1', [other.role_name]);
  expect(rows.length).toBeGreaterThan(0);
  for (const end of ['pg_terminate_backend', 'pg_cancel_backend']) {
    const ended = await run(`select ${end}(${rows[0]?.pid})`);
    expect(ended.body.error.details.postgres_code).toBe('42501');
  }
});

test.each([
  'alter role own_name rename to mine',
  'alter database own_name rename to mine',
  `select lo_from_bytea(0, 'x')`,
])('%s is refused', async (sql) => {
  const { body } = await run(sql.replace('own_name', own.database_name));

  expect(['42501', '0A000']).toContain(body.error.details.postgres_code);
});

describe('names and values that look like SQL', () => {
  const evil = [
    `x'; drop table kept; --`,
    `x"; drop table kept; --`,
    `x\\'; drop table kept; --`,
    '$$; drop table kept; --',
    '{{ctx}}',
    '%',
    `x' or '1'='1`,
  ];

  test.each(evil)('%s', async (text) => {
    await run('create table if not exists kept (id serial primary key, word text)');
    const at = (...parts: string[]) => `T/database/schemas/${parts.map(encodeURIComponent).join('/')}`;
    const q = encodeURIComponent(JSON.stringify({ [text]: { '=': text } }));
    const answers = await Promise.all([
      api.get(at(text, 'tables')),
      api.get(at('public', 'tables', text)),
      api.get(at('public', 'tables', text, 'rows')),
      api.get(`${at('public', 'tables', 'kept', 'rows')}?q=${q}`),
      api.get(`${at('public', 'tables', 'kept', 'rows')}?order=${encodeURIComponent(text)}`),
      api.get(at('public', 'triggers', text, text)),
      api.patch(at('public', 'tables', 'kept', 'rows', 'delete'), { where: { word: { '=': text } } }),
      api.patch(at('public', 'tables', 'kept', 'rows'), {
        databaseTableRowData: [{ data: { [text]: text }, where: { word: { '=': text } } }],
      }),
      api.post(at('public', 'tables'), {
        databaseTableName: 't',
        columns: [{ databaseTableColumnName: 'a', databaseTableColumnType: text }],
      }),
    ]);

    for (const { status } of answers) expect([200, 201, 400, 404]).toContain(status);
    await api.post(at('public', 'tables', 'kept', 'rows'), { databaseTableRowData: [{ word: text }] });
    const { body } = await api.get(
      `${at('public', 'tables', 'kept', 'rows')}?q=${encodeURIComponent(JSON.stringify({ word: { '=': text } }))}`,
    );
    expect(body.databaseTableRows).toMatchObject([{ word: text }]);
  });
});

test('objects of any name are listed and read by it, also beside views that stand for the catalogue', async () => {
  const names = [
    `q"'\\`,
    'two\nlines',
    'ü'.repeat(31),
    'zero\u200bwidth',
    '__proto__',
    'constructor',
    '%s $1 {{x}}',
    ' ',
  ];
  const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
  for (const name of names) {
    const made = await run(
      `create table ${quoted(name)} (${quoted(name)} text); insert into ${quoted(name)} values ('v')`,
    );
    expect(made.status, JSON.stringify(made.body)).toBe(200);
  }
  await run(
    `create view public.pg_class as select 0::oid as oid, 'none'::name as relname;
     create function public.quote_ident(name) returns text language sql as $$ select 'none' $$;
     alter role current_user set search_path = public, pg_catalog`,
  );
  // The setting counts for new connections.
  await tenantServer.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [
    own.role_name,
  ]);

  await expect.poll(async () => (await api.get('T/database/metadata')).status).toBe(200);
  const { body } = await api.get('T/database/metadata');
  const metadata = JSON.stringify(body);
  for (const name of names) {
    expect(metadata).toContain(JSON.stringify(name));
    const rows = await api.get(`T/database/schemas/public/tables/${encodeURIComponent(name)}/rows`);
    expect(rows, JSON.stringify(rows.body)).toMatchObject({
      status: 200,
      body: { databaseTableRows: [expect.anything()] },
    });
    expect(Object.entries(rows.body.databaseTableRows[0])).toContainEqual([name, 'v']);
  }
});

test('no password is stored in clear, nor shown by the server', async () => {
  const { rows } = await cluster.pool.query('select password from tenant_database');
  for (const { password } of rows) expect(password).toMatch(/^gs1\./);
});
