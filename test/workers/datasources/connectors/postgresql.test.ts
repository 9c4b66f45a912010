import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EmbeddedPostgres } from '#ops/embedded/postgres.ts';
import { newID } from '#shared/core/ids.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { postgresql } from '#shared/datasources/types/postgresql.ts';
import { certificates } from '#test/support/certificates.ts';
import { type OpenedDatasource, openDatasource } from '#test/support/connector.ts';
import { testServers } from '#test/support/environment.ts';
import { describeReceipts } from '#test/support/receipts.ts';
import { eventually } from '#test/support/settle.ts';
import { startTCP } from '#test/support/tcp.ts';
import { startTLSPostgres } from '#test/support/tls-postgres.ts';
import { createOutbound } from '#workers/outbound/gate.ts';

const url = new URL(testServers.datasourceURL);
const reached = {
  host: url.hostname,
  port: Number(url.port),
  database: url.pathname.slice(1),
  user: decodeURIComponent(url.username),
  password: decodeURIComponent(url.password),
};

function withDetails(changes: JsonObject) {
  return openDatasource(postgresql, {
    connectionOption: 'connectionDetails',
    connectionDetails: { ...reached, ...changes },
  });
}

let datasource: OpenedDatasource;
let watcher: pg.Client;
const schema = `sql_${newID().replaceAll('-', '')}`;
beforeAll(async () => {
  datasource = await openDatasource(postgresql, {
    connectionOption: 'connectionString',
    connectionString: testServers.datasourceURL,
  });
  watcher = new pg.Client({ connectionString: testServers.datasourceURL });
  await watcher.connect();
  await watcher.query(`create schema ${schema}`);
});
afterAll(async () => {
  await watcher.query(`drop schema ${schema} cascade`);
  await watcher.end();
  await datasource[Symbol.asyncDispose]();
});

/** The value of one row with one column. */
async function single(query: string, inputs: JsonObject = {}): Promise<Json | undefined> {
  const { data } = await datasource.execute({ query }, inputs);
  return Object.values((data as JsonObject[])[0] ?? {})[0];
}

describeReceipts({
  open: () => datasource,
  createTable: 'create table $table (note text)',
  slowInsert: (ms) =>
    `with slept as (select pg_sleep(${ms / 1000})) insert into once_only (note) select 'a' from slept`,
  refused: ['commit', 'rollback'],
  makeOld: `update gantry_receipt set expires_at = now() - interval '1 second'`,
});

test('connects, and binds the values of a query', async () => {
  await datasource.test();

  const { data, columns, rowCount } = await datasource.execute(
    { query: "select {{inputs.n}}::int + 1 as n, 'a {{inputs.t}}' as t" },
    { n: 1, t: "'" },
  );

  expect(data).toEqual([{ n: 2, t: "a '" }]);
  expect(columns).toEqual([
    { name: 'n', type: 'integer' },
    { name: 't', type: 'text' },
  ]);
  expect(rowCount).toBe(1);
});

describe('a failed connection is reported without any secret', () => {
  const secret = 'not-the-password';

  async function failure(changes: JsonObject, outbound?: ReturnType<typeof createOutbound>) {
    await using broken = await openDatasource(
      postgresql,
      { connectionOption: 'connectionDetails', connectionDetails: { ...reached, password: secret, ...changes } },
      outbound && { outbound },
    );
    const error = await broken.test().catch((thrown: unknown) => thrown);
    expect(JSON.stringify([error, String(error)])).not.toContain(secret);
    return error;
  }

  test.each([
    ['a wrong password', {}, 'authentication'],
    ['an unknown database', { database: 'nowhere', password: reached.password }, 'not-found'],
    ['an unknown host', { host: 'no-such-host.invalid' }, 'unreachable'],
    ['a closed port', { port: 1 }, 'unreachable'],
    ['a server without TLS', { sslMode: 'require' }, 'tls'],
  ])('%s', async (_what, changes, reason) => {
    expect(await failure(changes)).toMatchObject({ code: 'UPSTREAM_FAILED', details: { reason } });
  });

  test('a server that never answers', async () => {
    await using silent = await startTCP();

    const began = performance.now();
    expect(await failure({ port: silent.port, additionalOptions: { connectTimeout: 1 } })).toMatchObject({
      code: 'UPSTREAM_TIMEOUT',
      details: { reason: 'timeout' },
    });
    expect(performance.now() - began).toBeLessThan(9_000);
  });

  test('a server that is not a database', async () => {
    await using other = await startTCP((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));

    expect(await failure({ port: other.port })).toMatchObject({ details: { reason: 'refused' } });
    expect(await failure({ port: other.port, sslMode: 'disable' })).toMatchObject({ code: 'UPSTREAM_FAILED' });
  });

  test.each([
    'R\0\0\0\u0008\0\0\0c',
    'R\0\0\0\u0004',
    'Z\0\0\0\u0004',
    'T\0\0\0\u0006\0\u0009',
    'D\0\0\0\u0005\u0001',
    'G\0\0\0\u0007\0\0\0',
    'N\u00ff\u00ff\u00ff\u00ff',
    'E\0\0\0\u0006SE',
    'S\0\0\0\u0006a\0',
    'R\0\0\0\u000a\0\0\0\u000aSC',
  ])('a server that sends half a message: %j', async (answer) => {
    await using other = await startTCP((socket) =>
      socket.once('data', () => socket.write(Buffer.from(answer, 'latin1'))),
    );

    expect(
      await failure({ port: other.port, sslMode: 'disable', additionalOptions: { connectTimeout: 1 } }),
    ).toMatchObject({ code: expect.stringMatching(/^UPSTREAM_(FAILED|TIMEOUT)$/) });
  });

  test('an address that is not allowed', async () => {
    const outbound = createOutbound({ allow: [] });

    for (const host of ['127.0.0.1', 'localhost', '::ffff:127.0.0.1', '2130706433', '169.254.169.254'])
      expect(await failure({ host }, outbound)).toMatchObject({ details: { reason: 'not-allowed' } });
  });

  test('an invalid connection string', async () => {
    const open = openDatasource(postgresql, {
      connectionOption: 'connectionString',
      connectionString: `postgres://u:${secret}@h/d?options=-c`,
    });

    await expect(open).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    await expect(open).rejects.not.toThrow(secret);
  });
});

describe('values', () => {
  test.each<[string, Json]>([
    ['9223372036854775807::int8', '9223372036854775807'],
    ['123456789012345678901234567890.123456789::numeric', '123456789012345678901234567890.123456789'],
    ['7::int2', 7],
    ['-2147483648', -2147483648],
    ['0.1::float8', 0.1],
    ['0.1::float4', 0.1],
    ["'NaN'::float8", 'NaN'],
    ["'-Infinity'::float4", '-Infinity'],
    ["'NaN'::numeric", 'NaN'],
    ['true', true],
    ['null::int', null],
    ["'2024-02-29'::date", '2024-02-29'],
    ["'infinity'::date", 'infinity'],
    ["'2024-02-29 12:34:56.789012'::timestamp", '2024-02-29T12:34:56.789012'],
    ["'2024-02-29 12:34:56.789012+05:30'::timestamptz", '2024-02-29T07:04:56.789012Z'],
    ["'infinity'::timestamptz", 'infinity'],
    ["'0044-03-15 12:00 BC'::timestamp", '0044-03-15 12:00:00 BC'],
    ["'12:34:56+02'::timetz", '12:34:56+02'],
    ["'1 year 2 months 3 days 04:05:06.5'::interval", 'P1Y2M3DT4H5M6.5S'],
    ["'\\x00ff10'::bytea", 'AP8Q'],
    ["''::bytea", ''],
    ['\'{"a": [1, 2.5, null], "b": 12345678901234567890}\'::jsonb', { a: [1, 2.5, null], b: '12345678901234567890' }],
    ["'[1e400, 9007199254740991]'::json", ['1e400', 9007199254740991]],
    ["'null'::jsonb", null],
    ['array[1, null, 3]', [1, null, 3]],
    ["'{}'::text[]", []],
    [
      'array[[1,2],[3,4]]::int8[]',
      [
        ['1', '2'],
        ['3', '4'],
      ],
    ],
    [`array['a"b', 'c\\d', 'NULL', null, '', 'x,y', '{z}']`, ['a"b', 'c\\d', 'NULL', null, '', 'x,y', '{z}']],
    ["'[0:1]={5,6}'::int[]", [5, 6]],
    ["array['2024-01-01 00:00+00'::timestamptz]", ['2024-01-01T00:00:00Z']],
    ["array['\\x01'::bytea]", ['AQ==']],
    ['array[\'{"a":1}\'::jsonb]', [{ a: 1 }]],
    ["array['((1,1),(0,0))'::box]", ['(1,1),(0,0)']],
    ["'1 2'::int2vector", '1 2'],
    ["'6f9619ff-8b86-d011-b42d-00c04fc964ff'::uuid", '6f9619ff-8b86-d011-b42d-00c04fc964ff'],
    ["'[1,5)'::int4range", '[1,5)'],
    ["row(1, 'a b')", '(1,"a b")'],
    ["'€ 𝄞'", '€ 𝄞'],
  ])('select %s', async (expression, value) => {
    expect(await single(`select ${expression} as v`)).toEqual(value);
  });

  test.each<[string, Json, Json]>([
    ['int8', '9223372036854775807', '9223372036854775807'],
    ['int8', 5, '5'],
    ['text', 5, '5'],
    ['text', true, 'true'],
    ['numeric', 0.1, '0.1'],
    ['bool', false, false],
    ['bool', 1, true],
    ['timestamptz', '2024-01-01T00:00:00+01:00', '2023-12-31T23:00:00Z'],
    ['jsonb', { a: [1, { b: null }] }, { a: [1, { b: null }] }],
    ['jsonb', [1, 'two', [3]], [1, 'two', [3]]],
    ['json', [], []],
    ['int[]', [1, null, 3], [1, null, 3]],
    ['int[]', [], []],
    ['text[]', ['a"b', 'c\\d', 'NULL', null, '', '{,}'], ['a"b', 'c\\d', 'NULL', null, '', '{,}']],
    ['text[]', [['a'], ['b']], [['a'], ['b']]],
    ['jsonb[]', [{ a: 1 }, [2], 'x', null], [{ a: 1 }, [2], 'x', null]],
    ['text', ['a', 1], '["a",1]'],
    ['text', { a: 1 }, '{"a":1}'],
    ['text', null, null],
  ])('a value for %s: %j', async (type, value, read) => {
    expect(await single(`select {{inputs.v}}::${type} as v`, { v: value })).toEqual(read);
  });

  test('types defined in the database are read and written like their base types', async () => {
    await watcher.query(`create type ${schema}.mood as enum ('sad', 'so so')`);
    await watcher.query(`create domain ${schema}.big as int8`);

    const { data, columns } = await datasource.execute(
      {
        query: `select {{inputs.moods}}::${schema}.mood[] as moods, 5::${schema}.big as big, array[6]::${schema}.big[] as bigs`,
      },
      { moods: ['so so', null] },
    );

    expect(data).toEqual([{ moods: ['so so', null], big: '5', bigs: ['6'] }]);
    expect(columns?.map(({ type }) => type)).toEqual([`${schema}.mood[]`, 'bigint', `${schema}.big[]`]);
  });

  test('columns of one name are all returned', async () => {
    const { data } = await datasource.execute({ query: 'select 1 as id, 2 as id, 3 as id_2, 4 as "__proto__"' });

    expect(JSON.stringify(data)).toBe('[{"id":1,"id_3":2,"id_2":3,"__proto__":4}]');
  });

  test('a list is bound in in (…) and any (…)', async () => {
    const query =
      'select count(*)::int from generate_series(1, 9) n where n in ({{inputs.ids}}) or n = any ({{inputs.more}})';

    expect(await single(query, { ids: [1, 2], more: [8, 9] })).toBe(4);
    expect(await single(query, { ids: [], more: [] })).toBe(0);
  });

  test('values never become SQL', async () => {
    const attempts = [
      "'; drop table t; --",
      '$1',
      "\\'; select 1",
      '{{inputs.x}}',
      '$$',
      '/*',
      '\u2019 or 1=1',
      "E'\\x27'",
    ];
    for (const text of attempts) {
      expect(await single('select {{inputs.t}}::text as v', { t: text })).toBe(text);
      expect(await single("select 'a {{inputs.t}} b' as v", { t: text })).toBe(`a ${text} b`);
    }
    await expect(datasource.execute({ query: 'select {{inputs.t}}::text' }, { t: 'a\0b' })).rejects.toMatchObject({
      code: 'DB_ERROR',
    });
    await expect(datasource.execute({ query: 'select {{inputs.t}}::text' }, { t: 'a' })).resolves.toBeDefined();
  });
});

describe('statements', () => {
  test('one that writes says how many rows it touched', async () => {
    await datasource.execute({ query: `create table ${schema}.written (id int primary key, t text)` });

    const inserted = await datasource.execute({
      query: `insert into ${schema}.written select n, 'x' from generate_series(1, 5) n`,
    });
    const updated = await datasource.execute(
      { query: `update ${schema}.written set t = 'y' where id < 3 returning id` },
      {},
      { maxRows: 1 },
    );

    expect(inserted).toEqual({ data: [], affectedRows: 5 });
    expect(updated).toMatchObject({ data: [{ id: 1 }], truncated: true });
    const { rows } = await watcher.query(`select count(*)::int as n from ${schema}.written where t = 'y'`);
    expect(rows).toEqual([{ n: 2 }]);
  });

  test('a mistake is told with its code and line', async () => {
    await expect(datasource.execute({ query: 'select 1,\n  nothing\nfrom nowhere' })).rejects.toMatchObject({
      code: 'DB_ERROR',
      message: 'relation "nowhere" does not exist',
      details: { postgres_code: '42P01', line: 3, position: 26 },
    });
    // Lists are written by the types that the server expects, which it is asked for first.
    await expect(datasource.execute({ query: 'select\n nothing({{inputs.v}})' }, { v: [1] })).rejects.toMatchObject({
      details: { postgres_code: '42883', line: 2 },
    });
    await expect(
      datasource.execute({ query: `insert into ${schema}.written values (1, 'twice')` }),
    ).rejects.toMatchObject({
      details: { postgres_code: '23505', constraint: 'written_pkey' },
    });
  });

  test('a failure at the commit is a failure, and the next query is not confused by it', async () => {
    await datasource.execute({ query: `create table ${schema}.late (id int unique deferrable initially deferred)` });

    await expect(datasource.execute({ query: `insert into ${schema}.late values (1), (1)` })).rejects.toMatchObject({
      details: { postgres_code: '23505' },
    });
    for (const n of [1, 2, 3]) expect(await single(`select ${n}`)).toBe(n);
  });

  test('there is one of them, and it cannot move to another protocol', async () => {
    await expect(datasource.execute({ query: 'select 1; select 2' })).rejects.toMatchObject({ code: 'DB_ERROR' });
    for (const query of ['copy (select 1) to stdout', `copy ${schema}.written from stdin`])
      await expect(datasource.execute({ query })).rejects.toMatchObject({
        code: 'VALIDATION_ERROR',
        message: expect.stringMatching(/^query: COPY/),
      });
    await expect(datasource.execute({ query: 'select 1\0' })).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    expect(await datasource.execute({ query: '-- nothing' })).toEqual({ data: [] });
    expect(await single('select 1')).toBe(1);
  });

  test('more values than the protocol allows are refused', async () => {
    const ids = Array.from({ length: 70_000 }, (_, index) => index);

    await expect(datasource.execute({ query: 'select 1 where 1 in ({{inputs.ids}})' }, { ids })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
    });
    expect(await single('select cardinality({{inputs.ids}}::int[])', { ids })).toBe(70_000);
  });

  test('notices of the server are in the answer', async () => {
    const { notices } = await datasource.execute({ query: "do $$ begin raise notice 'remark %', 1; end $$" });

    expect(notices).toEqual(['remark 1']);
  });
});

test('no state of a query on its connection reaches the next query', async () => {
  const poisons = [
    'begin',
    "set timezone = 'Asia/Tokyo'",
    "set datestyle = 'German'",
    'create temp table left_behind as select 1',
    'select pg_advisory_lock(4711)',
    'listen left_behind',
    'prepare left_behind as select 1',
    "select set_config('statement_timeout', '1', false)",
    'set transaction read only',
  ];
  for (const query of poisons) {
    await datasource.execute({ query });
    expect(await single("select '2024-02-01 00:00+00'::timestamptz")).toBe('2024-02-01T00:00:00Z');
    await expect(single('select * from left_behind')).rejects.toMatchObject({ code: 'DB_ERROR' });
    expect(await single('select count(*)::int from pg_prepared_statements')).toBe(0);
    expect(await single("select current_setting('statement_timeout')")).toBe('61min');
    expect(await single("select count(*)::int from pg_locks where locktype = 'advisory' and objid = 4711")).toBe(0);
    await datasource.execute({ query: `create table ${schema}.left_open (id int)` });
    await watcher.query(`drop table ${schema}.left_open`);
  }
});

describe('large answers', () => {
  test('rows beyond the requested number are not read', async () => {
    const { data, rowCount, truncated } = await datasource.execute(
      { query: 'select generate_series(1, 1000000) as n' },
      {},
      { maxRows: 3 },
    );

    expect({ data, rowCount, truncated }).toEqual({
      data: [{ n: 1 }, { n: 2 }, { n: 3 }],
      rowCount: 3,
      truncated: true,
    });
  });

  test('exactly the requested number of rows is not truncated', async () => {
    const { data, truncated } = await datasource.execute(
      { query: 'select generate_series(1, 250) as n' },
      {},
      { maxRows: 250 },
    );

    expect(data).toHaveLength(250);
    expect(truncated).toBeUndefined();
  });

  test('a million rows are read in constant memory', async () => {
    const before = process.memoryUsage().rss;

    const { rowCount } = await datasource.execute(
      { query: "select n, repeat('x', 500) as t from generate_series(1, 1000000) n" },
      {},
      { maxRows: 5_000 },
    );

    expect(rowCount).toBe(5_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 * 1024);
  });

  test('rows are truncated at the total size limit', async () => {
    const { data, truncated } = await datasource.execute(
      { query: "select repeat('x', 2000000) as t from generate_series(1, 100) n" },
      {},
      { maxRows: 100 },
    );

    expect((data as Json[]).length).toBe(33);
    expect(truncated).toBe(true);
  });
});

test('a row above the size limit is refused before it is read', async () => {
  const answer = datasource.execute(
    { query: "select repeat('x', 200000000)" },
    {},
    { signal: AbortSignal.timeout(60_000) },
  );

  await expect(answer).rejects.toMatchObject({
    code: 'DB_ERROR',
    message: 'One row of the answer is larger than 128 MB',
  });
  expect(await single('select 1')).toBe(1);
});

describe('an early end', () => {
  /** State of the server process that runs a query with this text. */
  async function working(mark: string): Promise<number> {
    const { rows } = await watcher.query(
      "select count(*)::int as n from pg_stat_activity where state = 'active' and pid <> pg_backend_pid() and query like $1",
      [`%${mark}%`],
    );
    return rows[0].n;
  }

  test.each([
    ['the time limit is over', () => AbortSignal.timeout(300)],
    ['the caller aborts', () => cancelledIn(300)],
  ])('when %s, the query ends at the server', async (_why, signal) => {
    const mark = newID();
    const answer = datasource.execute({ query: `select pg_sleep(300) /* ${mark} */` }, {}, { signal: signal() });
    answer.catch(() => undefined);
    await eventually(async () => expect(await working(mark)).toBe(1));

    await expect(answer).rejects.toThrow();
    await eventually(async () => expect(await working(mark)).toBe(0));
    expect(await single('select 1')).toBe(1);
  });

  test('work that waits for a connection can be aborted, and connections are returned', async () => {
    const stop = new AbortController();
    const busy = Array.from({ length: 4 }, () => datasource.execute({ query: 'select pg_sleep(1)' }));
    const waiting = datasource.execute({ query: 'select 1' }, {}, { signal: stop.signal });
    stop.abort();

    await expect(waiting).rejects.toThrow();
    await Promise.all(busy);
    const many = Array.from({ length: 20 }, (_, n) => single(`select ${n}`));
    expect(await Promise.all(many)).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });
});

function cancelledIn(ms: number): AbortSignal {
  const stop = new AbortController();
  setTimeout(() => stop.abort(), ms);
  return stop.signal;
}

test('the structure of the database can be browsed', async () => {
  await watcher.query(`create schema if not exists ${schema}`);
  await watcher.query(`
    create table ${schema}.customer (id bigint primary key, name varchar(40) not null default 'nobody', tags text[]);
    create table ${schema}."Odd ""name" (customer_id bigint unique references ${schema}.customer);
    create view ${schema}.names as select name from ${schema}.customer;
    create table ${schema}.parts (id int) partition by list (id);
    create table ${schema}.part_1 partition of ${schema}.parts for values in (1);
    create table ${schema}.part_2 partition of ${schema}.parts for values in (2);
    insert into ${schema}.parts values (1), (1), (2);
    analyze ${schema}.part_1, ${schema}.part_2;`);
  const { browse } = datasource.connection;
  const signal = AbortSignal.timeout(10_000);

  const schemas = await browse?.([], signal);
  const tables = await browse?.([schema], signal);
  const columns = await browse?.([schema, 'customer'], signal);
  const odd = await browse?.([schema, 'Odd "name'], signal);

  expect(schemas).toContainEqual({ name: schema, kind: 'schema', isContainer: true });
  expect(tables?.map(({ name, kind }) => [name, kind])).toEqual(
    expect.arrayContaining([
      ['Odd "name', 'table'],
      ['customer', 'table'],
      ['names', 'view'],
    ]),
  );
  const estimates = new Map(tables?.map(({ name, details }) => [name, details?.estimatedRows]));
  expect([estimates.get('parts'), estimates.get('customer')]).toEqual([3, null]);
  expect(columns?.map(({ name, type, details }) => [name, type, details?.isNullable, details?.isPrimaryKey])).toEqual([
    ['id', 'bigint', false, true],
    ['name', 'character varying(40)', false, false],
    ['tags', 'text[]', true, false],
  ]);
  expect(odd?.[0]?.details).toMatchObject({ isUnique: true, references: { schema, table: 'customer', column: 'id' } });
  await expect(browse?.(["'; drop schema public; --"], signal)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(browse?.([schema, 'nothing'], signal)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(browse?.([schema, 'customer', 'id'], signal)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('a query is explained without being run', async () => {
  const { explain } = datasource.connection;
  const run = { signal: AbortSignal.timeout(10_000), maxRows: 10, idempotencyKey: null };
  const bound = (...texts: string[]) => ({
    query: { queryType: 'query' as const, query: '' },
    statement: { texts, values: texts.slice(1).map(() => 5) },
  });

  expect(await explain?.(bound('select * from generate_series(1, ', '::int)'), run)).toMatchObject([
    { Plan: { 'Node Type': 'Function Scan' } },
  ]);
  for (const sql of ['analyze select pg_sleep(5)', '(analyze) select pg_sleep(5)', 'create table explained (id int)'])
    await expect(explain?.(bound(sql), run)).rejects.toMatchObject({ code: 'DB_ERROR' });
});

describe('a server with TLS', () => {
  let dir: string;
  let server: EmbeddedPostgres;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'gantry-test-tls-'));
    server = await startTLSPostgres(dir);
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  /** Error messages name the issuing authority. */
  function open({ caCertificate = '', ...changes }: { sslMode?: string; host?: string; caCertificate?: string }) {
    const text = { '': '', none: 'no certificate', ...certificates }[caCertificate] ?? '';
    return withDetails({ ...server.connection, host: 'localhost', ...changes, caCertificate: text });
  }

  const isEncrypted = { query: 'select ssl from pg_stat_ssl where pid = pg_backend_pid()' };
  test.each([
    ['disable', {}, false],
    ['allow', {}, false],
    ['prefer', {}, true],
    ['require', {}, true],
    ['verify-ca', { caCertificate: 'authority' }, true],
    ['verify-ca', { caCertificate: 'authority', host: '127.0.0.1' }, true],
    ['verify-full', { caCertificate: 'authority' }, true],
  ])('%s %j', async (sslMode, changes, ssl) => {
    await using encrypted = await open({ sslMode, ...changes });

    expect((await encrypted.execute(isEncrypted)).data).toEqual([{ ssl }]);
  });

  test.each([
    ['verify-ca', {}, /no trusted authority/],
    ['verify-ca', { caCertificate: 'otherAuthority' }, /no trusted authority/],
    ['verify-full', { caCertificate: 'otherAuthority' }, /no trusted authority/],
    ['verify-full', { caCertificate: 'authority', host: '127.0.0.1' }, /for another host/],
    ['verify-full', { caCertificate: 'none' }, /encrypted connection/],
  ])('%s is refused with %j', async (sslMode, changes, words) => {
    await using encrypted = await open({ sslMode, ...changes });

    await expect(encrypted.test()).rejects.toMatchObject({
      code: 'UPSTREAM_FAILED',
      message: expect.stringMatching(words),
      details: { reason: 'tls' },
    });
  });

  test('a cancel is sent encrypted, too', async () => {
    await using encrypted = await open({ sslMode: 'verify-full', caCertificate: 'authority' });

    await expect(
      encrypted.execute({ query: 'select pg_sleep(300)' }, {}, { signal: AbortSignal.timeout(300) }),
    ).rejects.toThrow();
    await eventually(async () => {
      const { data } = await encrypted.execute({
        query: "select count(*)::int as n from pg_stat_activity where query like '%sleep(60)' and state = 'active'",
      });
      expect(data).toEqual([{ n: 0 }]);
    });
  });

  test('a restart of the server fails only queries in progress', async () => {
    await using mending = await open({});
    await mending.execute({ query: 'select 1' });
    const lost = mending.execute({ query: 'select pg_sleep(300)' }, {}, { signal: AbortSignal.timeout(25_000) });
    const caught = expect(lost).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', details: { reason: 'lost' } });
    await eventually(async () => {
      const query =
        "select count(*)::int as n from pg_stat_activity where query = 'select pg_sleep(300)' and state = 'active'";
      expect((await mending.execute({ query })).data).toEqual([{ n: 1 }]);
    });

    await server.kill9();
    await caught;
    await expect(mending.test()).rejects.toMatchObject({ details: { reason: 'unreachable' } });
    await server.restart();

    expect((await mending.execute({ query: 'select 1 as n' })).data).toEqual([{ n: 1 }]);
  });
});
