import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { createKeyRing } from '#shared/core/key-ring.ts';
import { tenantdb } from '#shared/datasources/types/tenantdb.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import { type OpenedDatasource, openDatasource } from '#test/support/connector.ts';
import { broughtDatabase, tenantServer } from '#test/support/database.ts';
import { eventually } from '#test/support/settle.ts';
import { aTenantDatabases, type TestDatabases } from '#test/support/tenant-databases.ts';

let database: TestDatabases;
let own: OpenedDatasource;
beforeAll(async () => {
  database = await aTenantDatabases();
  own = await open(database.deployment.tenantID);
});
afterAll(() => database[Symbol.asyncDispose]());

function open(tenantID: string): Promise<OpenedDatasource> {
  return openDatasource(tenantdb, {}, { tenantID, tenantDatabases: database.databases });
}

/** A tenant with a database of its own, or with the one of a URL. */
async function aTenant(url?: string): Promise<OpenedDatasource> {
  const id = newID();
  const secrets = createKeyRing(database.deployment.config.secrets.keys);
  await database.deployment.pool.query(
    'insert into tenant (id, tenant_title, creator_id, tenant_db_url) values ($1, $2, $1, $3)',
    [id, 'A tenant', url ? secrets.seal(url, sealedColumns.tenantDBURL.context(id)) : null],
  );
  return await open(id);
}

async function single(datasource: OpenedDatasource, query: string, inputs: JsonObject = {}): Promise<Json | undefined> {
  const { data } = await datasource.execute({ query }, inputs);
  return Object.values((data as JsonObject[])[0] ?? {})[0];
}

const nameOf = (datasource: OpenedDatasource) => single(datasource, 'select current_database()');

test('works without any options', async () => {
  await own.test();

  expect(await own.execute({ query: 'select {{inputs.n}}::numeric(10, 2) as n' }, { n: '1.5' })).toEqual({
    data: [{ n: '1.50' }],
    columns: [{ name: 'n', type: 'numeric(10,2)' }],
    rowCount: 1,
  });
});

test('returns values with their declared types', async () => {
  await own.execute({ query: 'create table declared (amount numeric(10,2), word varchar(20), at timestamptz(3))' });

  const { columns } = await own.execute({ query: 'select * from declared' });

  expect(columns?.map(({ type }) => type)).toEqual([
    'numeric(10,2)',
    'character varying(20)',
    'timestamp(3) with time zone',
  ]);
});

test.each<[string, Json, Json]>([
  ['int8', '9223372036854775807', '9223372036854775807'],
  ['numeric', '0.10', '0.10'],
  ['float8', 0.1, 0.1],
  ['bool', true, true],
  ['text', 'a \'"\\; --', 'a \'"\\; --'],
  ['date', '2024-02-29', '2024-02-29'],
  ['timestamptz', '2024-01-01T00:00:00+01:00', '2023-12-31T23:00:00Z'],
  ['interval', 'P1DT2H', 'P1DT2H'],
  ['jsonb', { a: [1, { b: null }] }, { a: [1, { b: null }] }],
  ['jsonb', '{"n": 12345678901234567890}', { n: '12345678901234567890' }],
  ['int[]', [1, null, 3], [1, null, 3]],
  ['text[]', ['a"b', 'c\\d', 'NULL', null, ''], ['a"b', 'c\\d', 'NULL', null, '']],
  ['text', null, null],
])('a value for %s is read as it was written: %j', async (type, value, read) => {
  expect(await single(own, `select {{inputs.v}}::${type} as v`, { v: value })).toEqual(read);
});

test('bytes and special numbers have a form in JSON', async () => {
  expect((await own.execute({ query: `select '\\x00ff10'::bytea as b, 'NaN'::float8 as n, null as x` })).data).toEqual([
    { b: 'AP8Q', n: 'NaN', x: null },
  ]);
});

test("an error has the server's code and the line", async () => {
  await expect(own.execute({ query: 'select 1,\n nothing' })).rejects.toMatchObject({
    code: 'DB_ERROR',
    details: { postgres_code: '42703', line: 2 },
  });
});

describe('the database', () => {
  test("is each tenant's own, for concurrent queries with the same names", async () => {
    const tenants = [await aTenant(), await aTenant(), await aTenant()];
    await Promise.all(
      tenants.map(async (each, n) => {
        await each.execute({ query: 'create table words (word text)' });
        await each.execute({ query: 'insert into words values ({{inputs.word}})' }, { word: `of ${n}` });
      }),
    );

    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) => single(tenants[n % 3] ?? own, 'select string_agg(word, $$,$$) from words')),
    );

    expect(answers).toEqual(Array.from({ length: 30 }, (_, n) => `of ${n % 3}`));
    expect(new Set(await Promise.all(tenants.map(nameOf))).size).toBe(3);
  });

  test('is the one that the tenant has configured', async () => {
    await using brought = await broughtDatabase();
    const datasource = await aTenant(brought.url);

    await datasource.test();
    expect(await nameOf(datasource)).toBe(new URL(brought.url).pathname.slice(1));
  });

  test('of an unknown tenant is not found', async () => {
    await expect((await open(newID())).test()).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

test('the time limit of a query overrides the setting of the role', async () => {
  expect(await single(own, `select current_setting('statement_timeout')`)).toBe('61min');
  await database.use((client) => client.query(`set statement_timeout = '1ms'`));
  expect(await single(own, `select current_setting('statement_timeout')`)).toBe('61min');
});

test('no state of a query reaches the next query or other work on the database', async () => {
  for (const query of ['begin', "set timezone = 'Asia/Tokyo'", 'create temp table left_behind as select 1'])
    await own.execute({ query });

  const found = await database.use(async (client) => {
    const { rows } = await client.query(
      `select current_setting('timezone') as zone, to_regclass('left_behind') as temporary`,
    );
    return rows;
  });
  expect(found).toEqual([{ zone: 'UTC', temporary: null }]);
});

describe('an early end', () => {
  async function working(mark: string): Promise<number> {
    const { rows } = await tenantServer.query(
      "select count(*)::int as n from pg_stat_activity where state = 'active' and pid <> pg_backend_pid() and query like $1",
      [`%${mark}%`],
    );
    return rows[0]?.n;
  }

  test('a cancel reaches the server', async () => {
    const mark = newID();
    const stop = new AbortController();
    const answer = own.execute({ query: `select pg_sleep(300) /* ${mark} */` }, {}, { signal: stop.signal });
    answer.catch(() => undefined);
    await eventually(async () => expect(await working(mark)).toBe(1));

    stop.abort(new Error('client disconnected'));

    await expect(answer).rejects.toThrow('client disconnected');
    await eventually(async () => expect(await working(mark)).toBe(0));
    expect(await single(own, 'select 1')).toBe(1);
  });

  test('a time limit is reported as a timeout', async () => {
    const answer = own.execute({ query: 'select pg_sleep(300)' }, {}, { signal: AbortSignal.timeout(200) });

    await expect(answer).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT', details: { reason: 'timeout' } });
  });

  test('a connection that is ended by the server fails only queries in progress', async () => {
    const mark = newID();
    const answer = own.execute({ query: `select pg_sleep(300) /* ${mark} */` });
    answer.catch(() => undefined);
    await eventually(async () => expect(await working(mark)).toBe(1));

    await tenantServer.query('select pg_terminate_backend(pid) from pg_stat_activity where query like $1', [
      `select pg_sleep(300) /* ${mark}%`,
    ]);

    await expect(answer).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', details: { reason: 'lost' } });
    expect(await single(own, 'select 1')).toBe(1);
  });
});

test('the structure can be browsed, and a query explained', async () => {
  await own.execute({ query: 'create table browsed (id bigint primary key)' });
  const { browse, explain } = own.connection;
  const signal = AbortSignal.timeout(10_000);

  const columns = await browse?.(['public', 'browsed'], signal);
  const bound = {
    query: { queryType: 'query', query: '' },
    statement: { texts: ['select * from browsed'], values: [] },
  };
  const plan = await explain?.(bound as never, { signal, maxRows: 1, idempotencyKey: null });

  expect(columns).toMatchObject([{ name: 'id', kind: 'column', type: 'bigint', details: { isPrimaryKey: true } }]);
  expect(plan).toMatchObject([{ Plan: { 'Node Type': expect.any(String) } }]);
});
