import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AppError, toWireError } from '#shared/core/errors.ts';
import type { DatabaseOperationOf } from '#shared/messaging/queues/tenant-database.ts';
import { executeSQL } from '#workers/tenant-database/rows/execute-sql.ts';
import { aTenantDatabases, type TestDatabases } from '../../../support/tenant-databases.ts';

let database: TestDatabases;
beforeAll(async () => {
  database = await aTenantDatabases();
});
afterAll(() => database[Symbol.asyncDispose]());

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape are looked into
type Answer = any;

type ExecuteSQL = DatabaseOperationOf<'executeSQL'>;

function run(sql: string, more: Partial<ExecuteSQL> = {}): Promise<Answer> {
  return database.use((client) => executeSQL(client, operationOf(sql, more)));
}

function operationOf(sql: string, more: Partial<ExecuteSQL> = {}): ExecuteSQL {
  return {
    kind: 'executeSQL',
    sql,
    params: [],
    readOnly: false,
    timeoutSeconds: 30,
    maxRows: 1_000,
    ...more,
  };
}

async function errorOf(work: Promise<unknown>): Promise<AppError> {
  const error = await work.then(
    () => undefined,
    (thrown) => thrown,
  );
  expect(error).toBeInstanceOf(AppError);
  return error as AppError;
}

test('a statement answers with columns, types and rows', async () => {
  const answer = await run('select 1 as one, $1::text as said', { params: ['hello'] });

  expect(answer).toMatchObject({ result: [{ one: 1, said: 'hello' }], rowCount: 1 });
  expect(answer.results).toEqual([
    {
      command: 'SELECT',
      rowCount: 1,
      truncated: false,
      notices: [],
      columns: [
        { name: 'one', type: 'integer' },
        { name: 'said', type: 'text' },
      ],
      rows: [],
    },
  ]);
});

test('the rows of each statement are sent once: those of the last as the result', async () => {
  const { result, rowCount, results } = await run('select 1 as a; select n from generate_series(1, 2) as n');

  expect({ result, rowCount }).toEqual({ result: [{ n: 1 }, { n: 2 }], rowCount: 2 });
  expect(results).toMatchObject([
    { rowCount: 1, rows: [{ a: 1 }] },
    { rowCount: 2, rows: [] },
  ]);
});

test.each([
  ['9007199254740993::bigint', 'bigint', '9007199254740993'],
  ['12345678901234567890.123456789::numeric(30,9)', 'numeric(30,9)', '12345678901234567890.123456789'],
  ["'2026-11-21 12:00:00.123456+05:30'::timestamptz", 'timestamp with time zone', '2026-11-21T06:30:00.123456Z'],
  ["'2026-11-21 12:00:00'::timestamp", 'timestamp without time zone', '2026-11-21T12:00:00'],
  ["'infinity'::timestamptz", 'timestamp with time zone', 'infinity'],
  ["'2026-11-21'::date", 'date', '2026-11-21'],
  ["'\\x00ff10'::bytea", 'bytea', 'AP8Q'],
  [`'{"n":12345678901234567890}'::json`, 'json', { n: '12345678901234567890' }],
  ["'1 day 02:00'::interval", 'interval', 'P1DT2H'],
  [`'{"a":[1,null]}'::jsonb`, 'jsonb', { a: [1, null] }],
  ["array['a','b,\"c\\','{',null]::text[]", 'text[]', ['a', 'b,"c\\', '{', null]],
  [
    'array[[1,2],[3,4]]',
    'integer[]',
    [
      [1, 2],
      [3, 4],
    ],
  ],
  ["'[5:6]={1,2}'::int[]", 'integer[]', [1, 2]],
  ["'{}'::int[]", 'integer[]', []],
  ['null::int', 'integer', null],
  ["'NaN'::float8", 'double precision', 'NaN'],
  ['true', 'boolean', true],
  ['1.5::float4', 'real', 1.5],
])('%s is %s and has its form in JSON', async (expression, type, value) => {
  const { result, results } = await run(`select ${expression} as v`);

  expect(results[0]).toMatchObject({ columns: [{ name: 'v', type }] });
  expect(result).toMatchObject([{ v: value }]);
});

test('parameters of every type are bound', async () => {
  const { result } = await run(
    'select $1::bigint as a, $2::numeric as b, $3::jsonb as c, $4::int[] as d, $5::text as e, $6::bool as f',
    {
      params: ['9007199254740993', '0.10', { x: [1] }, [1, 2], null, true],
    },
  );

  expect(result).toEqual([{ a: '9007199254740993', b: '0.10', c: { x: [1] }, d: [1, 2], e: null, f: true }]);
});

test('a list is bound as the statement requires', async () => {
  const list = ['a', { b: 1 }, null];

  const { result } = await run('select $1::jsonb as json, $2::text[] as texts, $3::jsonb[] as each', {
    params: [list, ['a', 'b"'], list],
  });

  expect(result).toEqual([{ json: list, texts: ['a', 'b"'], each: list }]);
});

test('columns of the same name get different names', async () => {
  const { result } = await run('select 1 as a, 2 as a, 3 as a');

  expect(result).toEqual([{ a: 1, a_2: 2, a_3: 3 }]);
});

describe('several statements', () => {
  test('each return a result', async () => {
    const { results, result } = await run(`
      create table several (id int primary key, note text default 'a;b'); -- a comment; with a semicolon
      insert into several values (1, $$x;y$$), (2, E'it\\'s;');
      /* nothing; /* nested; */ here */
      select * from several order by id;`);

    expect(results.map(({ command, rowCount }: Answer) => [command, rowCount])).toEqual([
      ['CREATE', null],
      ['INSERT', 2],
      ['SELECT', 2],
    ]);
    expect(result).toEqual([
      { id: 1, note: 'x;y' },
      { id: 2, note: "it's;" },
    ]);
  });

  test('are one transaction: an error undoes the others, and tells which statement failed', async () => {
    const error = await errorOf(run('create table undone (id int); select 1/0; select 2'));

    expect(error).toMatchObject({ code: 'DB_ERROR', status: 400, details: { postgres_code: '22012' } });
    expect(error.message).toContain('Statement 2: ');
    expect((await run(`select to_regclass('undone') as found`)).result).toEqual([{ found: null }]);
  });

  test('may begin and end transactions themselves', async () => {
    await run('begin; create table kept (id int); commit; begin; create table lost (id int); rollback');

    const { result } = await run(`select to_regclass('kept') is not null as kept, to_regclass('lost') is null as lost`);
    expect(result).toEqual([{ kept: true, lost: true }]);
  });

  test('a routine with a body of statements is one statement', async () => {
    const { result, results } = await run(`
      create function five() returns int language sql begin atomic select case when true then 2 end; select 5; end;
      select five()`);

    expect(results).toHaveLength(2);
    expect(result).toEqual([{ five: 5 }]);
  });
});

test('an open transaction is rolled back, and settings, temporary tables and locks are reset', async () => {
  await run(`create table leftovers (id int)`);
  await run(`begin; insert into leftovers values (1); set search_path to nowhere; select pg_advisory_lock(7)`);
  await run(`create temporary table mine (id int); prepare p as select 1`);

  const { result } = await run(
    `select (select count(*) from leftovers) as rows, to_regclass('mine') as mine, current_setting('search_path') as path,
            pg_advisory_unlock(7) as locked, (select count(*)::int from pg_prepared_statements) as prepared`,
  );
  expect(result).toEqual([{ rows: '0', mine: null, path: '"$user", public', locked: false, prepared: 0 }]);
});

test('read-only mode refuses writes', async () => {
  await run('create table unwritten (id int)');

  expect(await errorOf(run('insert into unwritten values (1)', { readOnly: true }))).toMatchObject({
    code: 'DB_ERROR',
    details: { postgres_code: '25006' },
  });
  expect(
    await errorOf(run('set transaction read write; insert into unwritten values (1)', { readOnly: true })),
  ).toMatchObject({
    code: 'DB_ERROR',
  });
  expect(await errorOf(run('commit; insert into unwritten values (1)', { readOnly: true }))).toMatchObject({
    code: 'VALIDATION_ERROR',
  });
  expect((await run('select count(*)::int as n from unwritten')).result).toEqual([{ n: 0 }]);
});

test('a truncated result says so', async () => {
  const { result, results } = await run('select * from generate_series(1, 30) as n', { maxRows: 20 });
  expect(results[0]).toMatchObject({ truncated: true, rowCount: 20, command: 'SELECT' });
  expect(result).toHaveLength(20);

  const whole = await run('select * from generate_series(1, 20) as n', { maxRows: 20 });
  expect(whole.results[0]).toMatchObject({ truncated: false, rowCount: 20 });
  const batches = await run('select * from generate_series(1, 900) as n');
  expect(batches.results[0]).toMatchObject({ truncated: false, rowCount: 900 });
});

test('of a million rows only the first are fetched, and fewer of large ones', async () => {
  const before = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed;
  const { results } = await run(`select n, repeat('x', 200) as pad from generate_series(1, 1000000) as n`, {
    maxRows: 10_000,
  });
  const after = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed;

  expect(results[0]).toMatchObject({ truncated: true, rowCount: 10_000 });
  expect(after - before).toBeLessThan(100 * 1024 * 1024);

  const large = await run(`select repeat('x', 1000000) as pad from generate_series(1, 10000)`, { maxRows: 10_000 });
  expect(large.results[0].truncated).toBe(true);
  expect(large.result.length).toBeLessThan(600);
});

test('one value may exceed the size limit, and no row follows it', async () => {
  const { results } = await run(`select repeat('x', 6000000) as pad; select 1 as one`);

  expect(results.map(({ rows, truncated }: Answer) => [rows.length, truncated])).toEqual([
    [1, false],
    [0, true],
  ]);
});

test('a writing statement with a truncated result has written everything', async () => {
  await run('create table many (id int)');

  const { results } = await run('insert into many select generate_series(1, 2000) returning id', { maxRows: 10 });
  expect(results[0]).toMatchObject({ truncated: true });
  expect((await run('select count(*)::int as n from many')).result).toEqual([{ n: 2000 }]);
});

test('notices are returned with their statement', async () => {
  const { results } = await run(`do $$ begin raise notice 'seen'; end $$; select 1`);

  expect(results[0].notices).toEqual([{ severity: 'NOTICE', message: 'seen' }]);
  expect(results[1].notices).toEqual([]);
});

test('copying from and to the client is refused, and the connection stays usable', async () => {
  await run('create table copied (id int)');
  await database.use(async (client) => {
    const refused = await errorOf(executeSQL(client, operationOf('copy copied from stdin')));
    expect(refused).toMatchObject({ code: 'VALIDATION_ERROR' });
    expect(await executeSQL(client, operationOf('select 1 as one'))).toMatchObject({ result: [{ one: 1 }] });
  });
  await run('insert into copied select generate_series(1, 10)');
  const error = await errorOf(run('copy copied to stdout'));
  expect(error).toMatchObject({ code: 'VALIDATION_ERROR', message: expect.stringMatching(/^sql: COPY/) });

  expect((await run('select 1 as one')).result).toEqual([{ one: 1 }]);
});

test('a statement beyond the time limit is stopped by the server', async () => {
  expect(await errorOf(run('select pg_sleep(30)', { timeoutSeconds: 0.2 }))).toMatchObject({
    code: 'UPSTREAM_TIMEOUT',
    retry: false,
    details: { postgres_code: '57014' },
  });
});

test.each(['', ' ; ;', '-- nothing', '/* nothing'])('%j is not a statement', async (sql) => {
  expect((await errorOf(run(sql))).code).toMatch(/VALIDATION_ERROR|DB_ERROR/);
});

test('an error has its position and no part of the connection', async () => {
  const error = await errorOf(run('select * frm nowhere'));

  expect(error).toMatchObject({ code: 'DB_ERROR', details: { postgres_code: '42601', position: expect.any(Number) } });
  expect(JSON.stringify([error.message, error.details])).not.toMatch(/password|127\.0\.0\.1/);
});

test('a message of the server is cut, however long a function of the tenant makes it', async () => {
  const raise = (characters: number) =>
    errorOf(
      run(`do $$ begin raise exception '%', repeat('x', ${characters}) using detail = repeat('y', 1000000); end $$`),
    );

  const error = toWireError(await raise(5_000_000));
  expect(error.message.slice(-30)).toMatch(/xxx… \(5000000 characters\)$/);
  expect(JSON.stringify(error).length).toBeLessThan(21_000);
  // The driver would keep all of it.
  expect(await raise(20_000_000)).toMatchObject({ code: 'DB_ERROR', message: expect.stringContaining('16 MB') });
});
