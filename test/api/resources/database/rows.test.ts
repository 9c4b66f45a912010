import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Client } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aTenant } from '../../../support/factories.ts';

let cluster: Cluster;
let api: Client;
let table = '';
let rows = '';
let tables = 0;

beforeAll(async () => {
  cluster = await startCluster({ workers: ['tenant.database'] });
  const tenant = await aTenant(cluster);
  api = cluster.as(tenant.creator).in(tenant);
});
beforeEach(async () => {
  tables += 1;
  table = `things ${tables}`;
  rows = `T/database/schemas/public/tables/${encodeURIComponent(table)}/rows`;
  await sql(
    `create table "${table}" (id int primary key, word text, "big one" bigint, amount numeric(20,10), at timestamptz, raw bytea, doc jsonb, list int[], short varchar(3), yes boolean)`,
  );
});
afterAll(() => cluster[Symbol.asyncDispose]());

async function sql(text: string) {
  const answer = await api.post('T/database/execute-raw-sql', { sql: text });
  expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 200 });
  return answer.body;
}

const add = (...databaseTableRowData: object[]) => api.post(rows, { databaseTableRowData });
const find = (q: object | string) =>
  api.get(`${rows}?q=${encodeURIComponent(typeof q === 'string' ? q : JSON.stringify(q))}`);
const idsOf = (answer: { body: { databaseTableRows: { id: number }[] } }) =>
  answer.body.databaseTableRows.map(({ id }) => id);

test('values of every type are read as they were written', async () => {
  const row = {
    id: 1,
    word: 'it\'s; "quoted" \\ and 💥',
    'big one': '9007199254740993',
    amount: '1234567890.0123456789',
    at: '2026-11-21T12:00:00.123456Z',
    raw: 'AP8Q',
    doc: { a: [1, 'x', null, { b: '{}' }] },
    list: [1, 2, null],
    short: 'abc',
    yes: true,
  };
  const empty = {
    id: 2,
    word: null,
    'big one': null,
    amount: null,
    at: null,
    raw: '',
    doc: [],
    list: [],
    short: '',
    yes: false,
  };

  const added = await add(row, empty);
  const { body } = await api.get(rows);

  expect(added).toMatchObject({ status: 201, body: { updatedRowCount: 2, databaseTableRows: [row, empty] } });
  expect(body.databaseTableRows).toMatchObject([row, empty]);
  expect(body.databaseTableRows[0].ctid).toMatch(/^\(\d+,\d+\)$/);
});

test('lists of every type are read as they were written', async () => {
  await sql(
    `create table "lists ${tables}" (id int, raws bytea[], docs jsonb[], words text[][], boxes box[], moments timestamptz[])`,
  );
  const path = `T/database/schemas/public/tables/${encodeURIComponent(`lists ${tables}`)}/rows`;
  const row = {
    id: 1,
    raws: ['AP8Q', null],
    docs: [{ a: 1 }, [2], 'x', null],
    words: [
      ['a"b', 'c\\d'],
      ['', '{,}'],
    ],
    boxes: ['(1,1),(0,0)'],
    moments: ['2024-01-01T00:00:00Z'],
  };

  const added = await api.post(path, { databaseTableRowData: [row] });

  expect(added, JSON.stringify(added.body)).toMatchObject({ status: 201, body: { databaseTableRows: [row] } });
});

test('rows are paged, ordered and counted', async () => {
  await sql(
    `insert into "${table}" (id, word) select n, case when n % 2 = 0 then 'even' else 'odd' end from generate_series(1, 25) n`,
  );

  const first = await api.get(`${rows}?pageSize=10&count=true`);
  const last = await api.get(`${rows}?pageSize=10&page=3`);
  const sorted = await api.get(`${rows}?pageSize=3&order=${encodeURIComponent('word desc, id desc')}`);

  const alias = await api.get(`${rows}?pageSize=3&sort=${encodeURIComponent('word desc, id desc')}`);

  expect(first.body).toMatchObject({ page: 1, pageSize: 10, nextPage: 2, totalCount: 25 });
  expect(idsOf(alias)).toEqual(idsOf(sorted));
  expect(last.body).toMatchObject({ page: 3, nextPage: null });
  expect(last.body).not.toHaveProperty('totalCount');
  expect(idsOf(last)).toEqual([21, 22, 23, 24, 25]);
  expect(idsOf(sorted)).toEqual([25, 23, 21]);
  expect((await api.get(`${rows}?pageSize=25`)).body.nextPage).toBeNull();
});

test.each([
  'pageSize=1001',
  'pageSize=0',
  'page=0',
  'page=x',
  'order=id;drop',
  'order=nothing',
  'order=id%20desc%20limit',
  'q=id%3D1',
  'count=yes',
])('the query %s is refused, and the field is named', async (query) => {
  const answer = await api.get(`${rows}?${query}`);
  expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
  expect(answer.body.error.message).toContain(query.split('=')[0]);
});

describe('filters', () => {
  beforeEach(async () => {
    await add(
      { id: 1, word: 'one', yes: true, doc: { a: 1 } },
      { id: 2, word: 'two_2' },
      { id: 3, word: '50% off', yes: false },
      { id: 4 },
    );
  });

  test.each<[object, number[]]>([
    [{ id: { '=': 2 } }, [2]],
    [{ id: { '!=': 2 } }, [1, 3, 4]],
    [{ id: { '>': 1, '<=': 3 } }, [2, 3]],
    [{ id: { '<': '2' } }, [1]],
    [{ id: { '>=': 4 } }, [4]],
    [{ word: { LIKE: 'o%' } }, [1]],
    [{ word: { ilike: 'O' } }, [1, 2, 3]],
    [{ word: { ILIKE: 'O_2' } }, [2]],
    [{ id: { IN: [1, 4, 9] } }, [1, 4]],
    [{ id: { 'NOT IN': [1, 4] } }, [2, 3]],
    [{ word: { 'IS NULL': true } }, [4]],
    [{ word: { 'IS NULL': false } }, [1, 2, 3]],
    [{ word: { '=': null } }, [4]],
    [{ yes: { '!=': null } }, [1, 3]],
    [{ id: { BETWEEN: [2, 3] } }, [2, 3]],
    [{ doc: { '=': { a: 1 } } }, [1]],
    [{ yes: { '=': false } }, [3]],
    [{ OR: [{ id: { '=': 1 } }, { AND: [{ id: { '>': 2 } }, { NOT: { word: { 'IS NULL': true } } }] }] }, [1, 3]],
    [{}, [1, 2, 3, 4]],
    [{ word: { '=': "x' or 'a'='a" } }, []],
  ])('%j', async (q, expected) => {
    const answer = await find(q);
    expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 200 });
    expect(idsOf(answer)).toEqual(expected);
  });

  test.each<[unknown, string]>([
    [{ nothing: { '=': 1 } }, 'there is no column "nothing"'],
    [{ 'id" = 1 or true --': { '=': 1 } }, 'there is no column'],
    [{ id: { '; drop table': 1 } }, 'is not an operator'],
    [{ id: 1 }, 'must be {operator: value}'],
    [{ id: {} }, 'must be {operator: value}'],
    [{ id: { IN: [] } }, 'must be a list of 1 to 1000 values'],
    [{ id: { BETWEEN: [1] } }, 'must be a list of two values'],
    [{ id: { '<': null } }, 'must not be null'],
    [{ id: { '=': [1] } }, 'must be one integer, received a list'],
    [{ OR: [] }, 'must be a list of at least one filter'],
    ['id = 1', 'SQL text is not accepted'],
    ['[1]', 'SQL text is not accepted'],
  ])('%j is refused', async (q, words) => {
    const answer = await find(q as object);
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
    expect(answer.body.error.message).toContain(words);
  });

  test('one that is nested too deeply is refused', async () => {
    const deep = Array.from({ length: 60 }).reduce<object>((inner) => ({ NOT: inner }), { id: { '=': 1 } });
    expect((await find(deep)).body.error.message).toContain('must not be nested deeper than 20 levels');
  });
});

test('rows are all added or none, and each invalid one is named', async () => {
  const answer = await add(
    { id: 1 },
    { id: 1 },
    { id: 2, short: 'too long' },
    { id: 3, nothing: 1 },
    { id: 4, raw: '!' },
    { id: 5 },
  );

  expect(answer).toMatchObject({
    status: 400,
    body: {
      error: {
        code: 'DB_ERROR',
        details: {
          errors: [
            { index: 1, code: 'CONFLICT', postgres_code: '23505' },
            { index: 2, code: 'DB_ERROR', postgres_code: '22001' },
            { index: 3, code: 'VALIDATION_ERROR', message: expect.stringContaining('there is no column "nothing"') },
            { index: 4, code: 'VALIDATION_ERROR', message: expect.stringContaining('base64') },
          ],
        },
      },
    },
  });
  expect((await api.get(rows)).body.databaseTableRows).toEqual([]);
});

test('the same Idempotency-Key adds rows once, and repeats the error for a refused row', async () => {
  const send = (id: number, key: string) =>
    api.post(rows, { databaseTableRowData: [{ id }] }, { 'Idempotency-Key': `${table} ${key}` });

  expect([await send(1, 'a'), await send(1, 'a')]).toMatchObject([{ status: 201 }, { status: 201 }]);
  await sql(`alter table "${table}" add constraint never check (false) not valid`);
  const refused = await send(1, 'b');
  expect(refused).toMatchObject({ status: 400, body: { error: { code: 'DB_ERROR' } } });
  await sql(`alter table "${table}" drop constraint never; delete from "${table}"`);
  const again = await send(1, 'b');
  expect([again.status, again.body]).toEqual([400, refused.body]);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect((await send(1, 'c')).status).toBe(201);
  expect((await send(2, 'c')).status).toBe(409);
  expect(idsOf(await find({}))).toEqual([1]);
});

test('a number of a filter that a double does not hold is refused', async () => {
  const q = encodeURIComponent('{"id":{"=":12345678901234567890.5}}');
  const { status, body } = await api.get(`${rows}?q=${q}`);

  expect([status, body.error.message]).toEqual([
    400,
    'q: id.=: 12345678901234567890.5 is more than a JSON number holds: send it as a text',
  ]);
});

test('a duplicate row is a conflict that names the constraint', async () => {
  await add({ id: 1 });

  const answer = await add({ id: 2 }, { id: 1 });

  expect(answer).toMatchObject({
    status: 409,
    body: {
      error: {
        code: 'CONFLICT',
        message: expect.stringContaining(`"${table}_pkey"`),
        details: { errors: [{ index: 1, code: 'CONFLICT', constraint: `${table}_pkey` }] },
      },
    },
  });
  expect(idsOf(await find({}))).toEqual([1]);
});

test('adds many rows in one request', async () => {
  const many = Array.from({ length: 1_000 }, (_, id) => ({ id, word: `w${id}` }));

  expect(await add(...many)).toMatchObject({ status: 201, body: { updatedRowCount: 1_000 } });
  expect((await add(...many, { id: 1_000 })).body.error).toMatchObject({ code: 'VALIDATION_ERROR' });
});

test('updates are all done or none', async () => {
  await add({ id: 1, word: 'a' }, { id: 2, word: 'b' }, { id: 3, word: 'c' });
  const patch = (...databaseTableRowData: object[]) => api.patch(rows, { databaseTableRowData });

  const done = await patch(
    { data: { word: 'x' }, where: { id: { '<': 3 } } },
    { data: { word: null }, query: { id: { '=': 3 } } },
  );
  const failed = await patch(
    { data: { word: 'lost' }, where: { id: { '=': 1 } } },
    { data: { id: 1 }, where: { id: { '=': 2 } } },
  );
  const all = await patch({ data: { word: 'all' } });
  const text = await patch({ data: { word: 'sql' }, where: 'true' });

  expect(done).toMatchObject({ status: 200, body: { updatedRowCount: 3 } });
  expect(failed).toMatchObject({
    status: 409,
    body: { error: { code: 'CONFLICT', details: { errors: [{ index: 1, postgres_code: '23505' }] } } },
  });
  expect(all.body.error).toMatchObject({ code: 'VALIDATION_ERROR', details: { errors: [{ index: 0 }] } });
  expect(text.body.error.message).toContain('SQL text is not accepted');
  expect((await api.get(rows)).body.databaseTableRows.map(({ word }: { word: string }) => word)).toEqual([
    'x',
    'x',
    null,
  ]);
  expect((await patch({ data: { word: 'all' }, all: true })).body.updatedRowCount).toBe(3);
});

describe('rows are updated by their primary key', () => {
  const patch = (...databaseTableRowData: object[]) => api.patch(rows, { databaseTableRowData });

  test('beside changes with a filter', async () => {
    await add({ id: 1, word: 'a', short: 'x' }, { id: 2, word: 'b' }, { id: 3, word: 'c' });

    const answer = await patch({ id: 1, word: 'one' }, { data: { word: 'two' }, where: { id: { '=': 2 } } });

    expect(answer).toMatchObject({ status: 200, body: { updatedRowCount: 2 } });
    expect((await api.get(rows)).body.databaseTableRows).toMatchObject([
      { id: 1, word: 'one', short: 'x' },
      { id: 2, word: 'two' },
      { id: 3, word: 'c' },
    ]);
  });

  test('also if a column is called data', async () => {
    await sql(`alter table "${table}" add column data jsonb, add column "query" text`);
    await add({ id: 1 }, { id: 2 });

    const answer = await patch(
      { id: 1, data: { a: 1 }, query: 'select 1' },
      { data: { data: { b: 2 } }, where: { id: { '=': 2 } } },
    );

    expect(answer.body).toMatchObject({ updatedRowCount: 2 });
    expect((await api.get(rows)).body.databaseTableRows).toMatchObject([
      { id: 1, data: { a: 1 }, query: 'select 1' },
      { id: 2, data: { b: 2 } },
    ]);
  });

  test('of several columns', async () => {
    await sql(`alter table "${table}" drop constraint "${table}_pkey", add primary key (id, short)`);
    await add({ id: 1, short: 'a' }, { id: 1, short: 'b' });

    expect((await patch({ id: 1, short: 'b', word: 'x' })).body).toMatchObject({ updatedRowCount: 1 });
    expect((await patch({ id: 1, word: 'x' })).body.error.message).toContain(
      '; databaseTableRowData.0.short: is required, as part of the primary key',
    );
  });

  test('and errors name the row and the column', async () => {
    await add({ id: 1, word: 'a' });
    const refusal = async (row: object) => {
      const { status, body } = await patch({ id: 1, word: 'b' }, row);
      expect(status).toBe(400);
      return body.error.message;
    };

    expect(await refusal({ word: 'x' })).toContain('databaseTableRowData.1.id: is required');
    expect(await refusal({ id: null, word: 'x' })).toContain('databaseTableRowData.1.id: is required');
    expect(await refusal({ id: 1 })).toContain('databaseTableRowData.1: must contain a column besides the primary key');
    expect(await refusal({ id: 1, nothing: 'x' })).toContain('databaseTableRowData.1.nothing: there is no column');
    expect(await refusal({ id: 'one', word: 'x' })).toMatch(/databaseTableRowData\.1\.id: must be integer/);
    expect(await refusal({ id: 1, short: 'too long' })).toMatch(/databaseTableRowData\.1: value too long/);
    expect((await api.get(rows)).body.databaseTableRows).toMatchObject([{ word: 'a' }]);
    await sql(`alter table "${table}" drop constraint "${table}_pkey"`);
    expect(await refusal({ id: 1, word: 'x' })).toContain('has no primary key');
  });
});

test('a deferred constraint that fails at the commit undoes all updates', async () => {
  await sql(`alter table "${table}" add constraint later unique (word) deferrable initially deferred`);

  const answer = await add({ id: 1, word: 'same' }, { id: 2, word: 'same' });

  expect(answer).toMatchObject({
    status: 409,
    body: {
      error: {
        code: 'CONFLICT',
        message: expect.stringContaining('"later"'),
        details: { postgres_code: '23505', constraint: 'later' },
      },
    },
  });
  expect((await api.get(rows)).body.databaseTableRows).toEqual([]);
});

test('rows are deleted by a filter, and all of them only with an explicit flag', async () => {
  await add({ id: 1 }, { id: 2 }, { id: 3 });

  expect((await api.patch(`${rows}/delete`, {})).body.error.code).toBe('VALIDATION_ERROR');
  expect((await api.patch(`${rows}/delete`, { where: {} })).body.error.code).toBe('VALIDATION_ERROR');
  for (const where of [{ OR: [{}] }, { NOT: {} }, { NOT: { NOT: {} } }])
    expect((await api.patch(`${rows}/delete`, { where })).body.error.code).toBe('VALIDATION_ERROR');
  expect((await api.patch(`${rows}/delete`, { query: 'true' })).status).toBe(400);
  expect((await api.patch(`${rows}/delete`, { where: { id: { '=': 2 } } })).body).toMatchObject({ deletedRowCount: 1 });
  expect(idsOf(await api.get(rows))).toEqual([1, 3]);
  expect((await api.patch(`${rows}/delete`, { all: true })).body).toMatchObject({ deletedRowCount: 2 });
});

describe('errors name the path of a value as the client spelled it', () => {
  const wrong = { AND: [{ word: { '=': 'a' } }, { id: { '=': 'x' } }] };
  const message = async (answer: Promise<{ status: number; body: { error: { message: string } } }>) => {
    const { status, body } = await answer;
    expect(status).toBe(400);
    return body.error.message;
  };
  const isWrong = /AND\.1\.id\.=: must be integer: .*"x"/;

  test('in the query string', async () => {
    expect(await message(find(wrong))).toMatch(/^q\.AND\.1\.id\.=: must be integer: .*"x"/);
    expect(await message(find({ nothing: { '=': 1 } }))).toMatch(/^q\.nothing: there is no column "nothing"/);
    const statistics = rows.replace(/rows$/, 'statistics');
    expect(await message(api.get(`${statistics}?q=${JSON.stringify(wrong)}`))).toMatch(/^q\.AND\.1\.id\.=: must be/);
    expect(await message(api.get(`${rows}?order=id,nothing`))).toMatch(/^order\.1: there is no column "nothing"/);
    expect(await message(api.get(`${rows}?sort=id,nothing`))).toMatch(/^sort\.1: there is no column "nothing"/);
  });

  test.each(['where', 'query'])('in the filter %s of a body', async (field) => {
    expect(await message(api.patch(`${rows}/delete`, { [field]: wrong }))).toMatch(
      new RegExp(`^${field}.${isWrong.source}`),
    );
    expect(await message(api.patch(`${rows}/delete`, { [field]: {} }))).toMatch(`${field}: excludes no row`);
    expect(await message(api.patch(`${rows}/export`, { [field]: wrong }))).toMatch(
      new RegExp(`^${field}.${isWrong.source}`),
    );
    const changes = [
      { data: { word: 'a' }, where: { id: { '=': 1 } } },
      { data: { word: 'a' }, [field]: wrong },
    ];
    expect(await message(api.patch(rows, { databaseTableRowData: changes }))).toMatch(
      new RegExp(`; databaseTableRowData.1.${field}.${isWrong.source}`),
    );
  });

  test('of two field names, the one that takes precedence', async () => {
    const both = { where: wrong, query: { id: { '=': 1 } } };
    expect(await message(api.patch(`${rows}/delete`, both))).toMatch(/^where\./);
    expect(await message(api.patch(`${rows}/delete`, { where: null, query: wrong }))).toMatch(/^query\./);
    expect(await message(api.patch(`${rows}/export`, { order: 'id', sort: 'nothing', query: wrong }))).toMatch(
      /^query\./,
    );
    expect(await message(api.patch(`${rows}/export`, { sort: 'nothing' }))).toMatch(/^sort\.0: there is no column/);
  });

  test('in rows: of each invalid row, with its column', async () => {
    const { body } = await add(
      { id: 1, word: 'a' },
      { id: 1, at: 'yesterday or so' },
      { id: 2, nothing: 1 },
      { word: 'b' },
    );

    expect(body.error.message).toMatch(
      /^3 of 4 rows cannot be written, and nothing was changed; databaseTableRowData\.1\.at: must be timestamp with time zone: /,
    );
    expect(body.error.details.issues).toMatchObject([
      {
        path: ['databaseTableRowData', 1, 'at'],
        message: expect.stringMatching(/^must be timestamp with time zone: /),
      },
      { path: ['databaseTableRowData', 2, 'nothing'], message: expect.stringMatching(/^there is no column "nothing"/) },
      { path: ['databaseTableRowData', 3, 'id'], message: expect.stringMatching(/null value in column "id"/) },
    ]);
    expect(body.error.details.errors).toMatchObject([
      { index: 1, code: 'DB_ERROR', column: 'at' },
      { index: 2, code: 'VALIDATION_ERROR' },
      { index: 3, code: 'DB_ERROR', column: 'id' },
    ]);
    expect(await message(api.patch(rows, { databaseTableRowData: [{ data: { at: 'x' }, all: true }] }))).toContain(
      '; databaseTableRowData.0.data.at: must be timestamp with time zone: ',
    );
    // A column may have the name of a field.
    await sql(`alter table "${table}" add column "where" int`);
    expect(await message(add({ id: 3, where: 'x', query: 'a' }))).toContain(
      '; databaseTableRowData.0.query: there is no',
    );
    expect(await message(add({ id: 3, where: 'x' }))).toContain('; databaseTableRowData.0.where: must be integer: ');
  });
});

test('a column called __proto__ is one like any other', async () => {
  await sql(`alter table "${table}" add column "__proto__" int`);
  const row = (id: number, value: number) => JSON.parse(`{"id": ${id}, "__proto__": ${value}}`) as object;
  const having = (value: number) => JSON.parse(`{"__proto__": {"=": ${value}}}`) as object;
  const stored = async () => (await sql(`select id, "__proto__" as value from "${table}" order by id`)).result;

  await add(row(1, 10), row(2, 20), row(3, 30));
  const found = await find(having(20));
  const changed = await api.patch(rows, {
    databaseTableRowData: [{ data: JSON.parse('{"__proto__": 21}') as object, where: having(20) }],
  });
  const deleted = await api.patch(`${rows}/delete`, { where: having(30) });

  expect(idsOf(found)).toEqual([2]);
  expect(changed.body).toMatchObject({ updatedRowCount: 1 });
  expect(deleted.body).toMatchObject({ deletedRowCount: 1 });
  expect(await stored()).toEqual([
    { id: 1, value: 10 },
    { id: 2, value: 21 },
  ]);
});

test('a row of a table without a key is addressed by its physical place', async () => {
  await sql(`alter table "${table}" drop constraint "${table}_pkey"`);
  await add({ id: 1, word: 'a' }, { id: 1, word: 'b' });
  const [, second] = (await api.get(rows)).body.databaseTableRows;

  await api.patch(rows, { databaseTableRowData: [{ data: { word: 'c' }, where: { ctid: { '=': second.ctid } } }] });

  expect((await api.get(`${rows}?order=word`)).body.databaseTableRows).toMatchObject([{ word: 'a' }, { word: 'c' }]);
});

test('statistics count rows, with a filter as well', async () => {
  await add({ id: 1 }, { id: 2 });
  const path = rows.replace(/rows$/, 'statistics');

  expect((await api.get(path)).body.databaseTableStatistics).toMatchObject({
    databaseTableRowCount: 2,
    sizeBytes: expect.any(Number),
  });
  expect(
    (await api.get(`${path}?q=${encodeURIComponent('{"id":{"=":1}}')}`)).body.databaseTableStatistics
      .databaseTableRowCount,
  ).toBe(1);
});

test('sizes and estimates of a table include its partitions, and the tables that inherit from it', async () => {
  const name = `parts ${tables}`;
  await sql(`create table "${name}" (id int, word text) partition by range (id)`);
  await sql(`create table "${name} low" partition of "${name}" for values from (0) to (1000) partition by range (id)`);
  await sql(`create table "${name} low a" partition of "${name} low" for values from (0) to (500)`);
  await sql(`create table "${name} high" partition of "${name}" for values from (1000) to (2000)`);
  await sql(`create table "child ${tables}" () inherits ("${table}")`);
  await sql(`insert into "${name}" select n, repeat('x', 1000) from generate_series(0, 299) n`);
  await sql(`insert into "${name}" select n, repeat('x', 1000) from generate_series(1000, 1199) n`);
  await sql(`insert into "child ${tables}" (id, word) select n, repeat('x', 1000) from generate_series(1, 100) n`);
  await sql(`analyze "${name} low a"`);
  await sql(`analyze "${name} high"`);
  await sql(`analyze "child ${tables}"`);
  const statisticsOf = async (of: string) =>
    (await api.get(`T/database/schemas/public/tables/${encodeURIComponent(of)}/statistics`)).body
      .databaseTableStatistics;

  const own = await statisticsOf(name);
  const [low, high] = [await statisticsOf(`${name} low a`), await statisticsOf(`${name} high`)];
  expect(own).toEqual({
    databaseTableRowCount: 500,
    estimatedRowCount: 500,
    sizeBytes: low.sizeBytes + high.sizeBytes,
  });
  expect(low.sizeBytes).toBeGreaterThan(300_000);
  expect((await statisticsOf(`${name} low`)).sizeBytes).toBe(low.sizeBytes);
  const parent = await statisticsOf(table);
  const child = await statisticsOf(`child ${tables}`);
  expect(parent).toMatchObject({ databaseTableRowCount: 100, estimatedRowCount: 100 });
  expect(parent.sizeBytes).toBeGreaterThan(child.sizeBytes);

  const { body } = await api.get('T/database/metadata');
  const listed = body.databaseMetadata.metadata
    .flatMap((schema: { tables: { databaseTableName: string }[] }) => schema.tables)
    .find(({ databaseTableName }: { databaseTableName: string }) => databaseTableName === name);
  expect(listed).toMatchObject({ estimatedRowCount: 500, sizeBytes: own.sizeBytes });
});

test('rows of a view are listed without a physical place', async () => {
  await add({ id: 1, word: 'seen' });
  await sql(`create view "view ${tables}" as select id, word from "${table}"`);

  const { body } = await api.get(`T/database/schemas/public/tables/view%20${tables}/rows`);

  expect(body.databaseTableRows).toEqual([{ id: 1, word: 'seen' }]);
});
