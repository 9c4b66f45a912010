import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aTenant } from '../../../support/factories.ts';

let cluster: Cluster;
let api: Client;
let tables = 0;

beforeAll(async () => {
  cluster = await startCluster({ workers: ['tenant.database'] });
  const tenant = await aTenant(cluster);
  api = cluster.as(tenant.creator).in(tenant);
});
afterAll(() => cluster[Symbol.asyncDispose]());

async function sql(text: string) {
  const answer = await api.post('T/database/execute-raw-sql', { sql: text });
  expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 200 });
  return answer.body.result;
}

type Row = Record<string, unknown> & { id: number; ctid: string; tableoid: number };

/** A table by the statements that `create` makes of its name. */
async function aTable(create: (table: string) => string) {
  tables += 1;
  const table = `things_${tables}`;
  await sql(create(table));
  const rows = `T/database/schemas/public/tables/${table}/rows`;
  return {
    table,
    rows,
    list: async (query = ''): Promise<Row[]> => (await api.get(`${rows}${query}`)).body.databaseTableRows,
    patch: (...databaseTableRowData: object[]) => api.patch(rows, { databaseTableRowData }),
    remove: (body: object) => api.patch(`${rows}/delete`, body),
    stored: () => sql(`select id, word, tableoid::regclass::text as at from ${table} order by 3, 1, 2`),
  };
}

const aPartitioned = () =>
  aTable(
    (table) => `create table ${table} (id int primary key, word text) partition by range (id);
      create table ${table}_low partition of ${table} for values from (0) to (100);
      create table ${table}_high partition of ${table} for values from (100) to (200);
      insert into ${table} values (1, 'low'), (101, 'high')`,
  );

/** A table and one that inherits from it, each with a row of the key 1. */
const anInherited = () =>
  aTable(
    (table) => `create table ${table} (id int primary key, word text);
      create table ${table}_more (extra int) inherits (${table});
      insert into ${table} values (1, 'own'); insert into ${table}_more values (1, 'inherited'), (2, 'second')`,
  );

describe.each([
  ['partitions', aPartitioned],
  ['tables that inherit', anInherited],
])('rows of a table with %s', (_kind, make) => {
  test('are named by table and place together, and never by the place alone', async () => {
    const { list, remove, patch, stored } = await make();
    const before = await stored();
    const rows = await list();
    const [first, ...others] = rows.filter(({ ctid }) => ctid === '(0,1)');

    // Both tables have a row at this place.
    expect(others).toHaveLength(1);
    const alone = { ctid: { '=': '(0,1)' } };
    const other = { tableoid: { '=': others[0]?.tableoid } };
    const refusals = [
      await remove({ where: alone }),
      await remove({ where: { OR: [other, alone] } }),
      await remove({ where: { AND: [{ NOT: other }, alone] } }),
      await remove({ where: { ...alone, tableoid: { '!=': first?.tableoid } } }),
      await patch({ data: { word: 'x' }, where: alone }),
      await api.get(`T/database/schemas/public/tables/things_${tables}/rows?q=${JSON.stringify(alone)}`),
    ];
    for (const { status, body } of refusals) {
      expect(status).toBe(400);
      expect(body.error.message).toMatch(/ctid: names a row in each of several tables: add "tableoid"/);
    }
    expect(await stored()).toEqual(before);

    const both = { ...alone, tableoid: { '=': first?.tableoid } };
    expect((await patch({ data: { word: 'named' }, where: both, single: true })).body).toMatchObject({
      updatedRowCount: 1,
    });
    const notFirst = { AND: [{ NOT: { AND: [both] } }, { AND: [other, { OR: [alone] }] }] };
    expect((await remove({ where: notFirst })).body).toMatchObject({ deletedRowCount: 1 });
    expect((await stored()).map(({ word }: { word: string }) => word)).toContain('named');
    expect(await stored()).toHaveLength(before.length - 1);
  });
});

test('a new row of a partitioned table shows the partition that it went to', async () => {
  const { rows, table } = await aPartitioned();
  const { body } = await api.post(rows, { databaseTableRowData: [{ id: 150, word: 'new' }] });
  const [{ oid }] = await sql(`select '${table}_high'::regclass::oid as oid`);
  expect(body.databaseTableRows).toMatchObject([{ id: 150, tableoid: oid, ctid: '(0,2)' }]);
});

test('a table of its own shows no tableoid', async () => {
  const { list, rows } = await aTable(
    (table) => `create table ${table} (id int, word text); insert into ${table} values (1)`,
  );
  expect(await list()).toEqual([{ ctid: '(0,1)', id: 1, word: null }]);
  expect((await api.get(`${rows}?q={"tableoid":{"=":1}}`)).body.error.message).toContain('there is no column');
});

test('an update by primary key leaves the rows of tables that inherit', async () => {
  const { patch, stored } = await anInherited();

  expect((await patch({ id: 1, word: 'changed' })).body).toMatchObject({ updatedRowCount: 1 });
  const answer = await patch({ id: 2, word: 'changed' });

  expect((await stored()).map(({ word }: { word: string }) => word).sort()).toEqual(['changed', 'inherited', 'second']);
  expect(answer).toMatchObject({
    status: 409,
    body: {
      error: { details: { errors: [{ currentRows: [{ id: 2, word: 'second', tableoid: expect.any(Number) }] }] } },
    },
  });
});

test('pages of a table with tables that inherit do not overlap', async () => {
  const { list, table } = await anInherited();
  await sql(`insert into ${table}_more select 1, n::text from generate_series(1, 30) n`);
  const seen = [];
  for (const page of [1, 2, 3, 4, 5]) seen.push(...(await list(`?pageSize=7&page=${page}&order=id`)));
  expect(new Set(seen.map(({ tableoid, ctid }) => `${tableoid} ${ctid}`)).size).toBe(33);
});

describe('who changes one row', () => {
  const aPlain = () =>
    aTable(
      (table) =>
        `create table ${table} (id int primary key, word text, version int default 1); insert into ${table} values (1, 'a'), (2, 'b')`,
    );

  test('by its key is told if it is not there, and nothing of the request is done', async () => {
    const { patch, list } = await aPlain();

    expect(await patch({ id: 1, word: 'x' }, { id: 9, word: 'y' })).toMatchObject({
      status: 409,
      body: {
        error: {
          code: 'CONFLICT',
          message:
            '1 of 2 rows cannot be written, and nothing was changed; databaseTableRowData.1: the row is not there: it was deleted, or has another key',
          details: { errors: [{ index: 1, code: 'CONFLICT', currentRows: [] }] },
        },
      },
    });
    expect(await list()).toMatchObject([{ word: 'a' }, { word: 'b' }]);
  });

  test('by a filter gets the row as it is now, and may change the key', async () => {
    const { patch, remove, list } = await aPlain();
    const first = (version: number) => ({ where: { id: { '=': 1 }, version: { '=': version } }, single: true });

    expect((await patch({ data: { id: 7, version: 2 }, ...first(1) })).body).toMatchObject({ updatedRowCount: 1 });
    await patch({ data: { id: 1 }, where: { id: { '=': 7 } } });
    const current = [{ id: 1, word: 'a', version: 2 }];
    expect(await patch({ data: { word: 'late' }, ...first(1) })).toMatchObject({
      status: 409,
      body: { error: { details: { errors: [{ currentRows: current }] } } },
    });
    expect(await remove(first(1))).toMatchObject({
      status: 409,
      body: { error: { code: 'CONFLICT', details: { currentRows: current } } },
    });
    expect((await remove(first(2))).body).toMatchObject({ deletedRowCount: 1 });
    expect(await list()).toMatchObject([{ id: 2, word: 'b' }]);
  });

  test('never changes several', async () => {
    const { patch, remove, list } = await aPlain();
    const two = { where: { id: { '<': 3 } }, single: true };

    for (const answer of [await patch({ data: { word: 'x' }, ...two }), await remove(two)]) {
      expect(answer.status).toBe(409);
      expect(answer.body.error.message).toContain('is for one row, and 2 rows match');
    }
    expect(await list()).toMatchObject([{ word: 'a' }, { word: 'b' }]);
  });

  test('sees the row that a trigger has kept', async () => {
    const { patch, table } = await aPlain();
    await sql(`create function keep_${table}() returns trigger language plpgsql as 'begin return null; end';
      create trigger keep before update on ${table} for each row execute function keep_${table}()`);

    const { status, body } = await patch({ id: 1, word: 'x' });

    expect([status, body.error.details.errors[0].currentRows]).toMatchObject([409, [{ id: 1, word: 'a' }]]);
  });
});

describe('a key of a composite type', () => {
  test.each([
    ['alone', 'kind pair', `row(1, 'a,"b')`],
    ['in a domain', 'kind pair_domain', `row(1, 'a,"b')`],
    ['in a list', 'kind pair[]', `array[row(1, 'a,"b')]::pair[]`],
  ])('%s finds its row', async (_how, column, value) => {
    const { table, rows, patch, remove } = await aTable(
      (name) => `do $$ begin create type pair as (n int, word text); create domain pair_domain as pair;
          exception when duplicate_object then null; end $$;
        create table ${name} (${column} primary key, word text);
        insert into ${name} values (${value}, 'a')`,
    );
    const [{ kind }] = (await api.get(rows)).body.databaseTableRows;

    expect(await patch({ kind, word: 'b' })).toMatchObject({ status: 200, body: { updatedRowCount: 1 } });
    expect(await patch({ data: { kind, word: 'c' }, where: { kind: { IN: [kind] } }, single: true })).toMatchObject({
      status: 200,
    });
    expect(await sql(`select word from ${table}`)).toEqual([{ word: 'c' }]);
    expect((await remove({ where: { kind: { '=': kind } }, single: true })).body).toMatchObject({ deletedRowCount: 1 });
  });
});
