import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Client, lenient } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aTenant } from '../../../support/factories.ts';

let cluster: Cluster;
let api: Client;
let schema: string;
let schemas = 0;

beforeAll(async () => {
  cluster = await startCluster({ workers: ['tenant.database'] });
  const tenant = await aTenant(cluster);
  api = cluster.as(tenant.creator).in(tenant);
});
beforeEach(async () => {
  schemas += 1;
  schema = `Schema ${schemas}`;
  expect(await api.post('T/database/schemas', { schemaName: schema })).toMatchObject({
    status: 201,
    body: { databaseSchema: { databaseSchemaName: schema } },
  });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const tables = () => `T/database/schemas/${encodeURIComponent(schema)}/tables`;
const tableOf = (name: string) => `${tables()}/${encodeURIComponent(name)}`;

function column(databaseTableColumnName: string, databaseTableColumnType: string, more: object = {}) {
  return { databaseTableColumnName, databaseTableColumnType, ...more };
}

async function create(databaseTableName: string, columns: object[], constraints: object[] = []) {
  const answer = await api.post(tables(), { databaseTableName, columns, constraints });
  expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 201 });
  return answer;
}

async function read(name: string) {
  const { body } = await api.get(tableOf(name));
  return body.databaseTable;
}

test('a table is created from its columns and constraints, and read back with them', async () => {
  await create('authors', [
    column('id', 'bigserial', { primaryKey: true }),
    column('name', 'varchar(255)', { unique: true, notNull: true }),
  ]);
  await create(
    'Books & "more"',
    [
      column('id', 'uuid', { primaryKey: true, defaultValue: 'gen_random_uuid()' }),
      column('title', 'text', { notNull: true, defaultValue: "it's untitled" }),
      column('price', 'numeric(10,2)', { check: 'price > 0', defaultValue: 9.5 }),
      column('tags', 'text', { isList: true, defaultValue: ['a', 'b"c'] }),
      column('made at', 'timestamp(3) with time zone', { defaultValue: 'now()' }),
      column('author', 'bigint'),
    ],
    [
      {
        constraintName: 'by author',
        constraintType: 'foreign key',
        databaseTableColumns: ['author'],
        referencedTable: 'authors',
        referencedColumns: ['id'],
        onDelete: 'cascade',
      },
      { constraintType: 'UNIQUE', databaseTableColumns: ['title', 'author'] },
      { constraintName: 'long', constraintType: 'CHECK', check: `length(title) > 2 or title = ')'` },
    ],
  );

  const table = await read('Books & "more"');
  const columns = Object.fromEntries(
    table.databaseTableColumns.map((one: { databaseTableColumnName: string }) => [one.databaseTableColumnName, one]),
  );

  expect(table).toMatchObject({ databaseSchemaName: schema, databaseTableType: 'TABLE', primaryKey: ['id'] });
  expect(columns).toMatchObject({
    id: {
      databaseTableColumnType: 'uuid',
      primaryKey: true,
      unique: true,
      notNull: true,
      defaultValue: 'gen_random_uuid()',
    },
    title: {
      databaseTableColumnType: 'text',
      notNull: true,
      isNullable: false,
      defaultValue: "'it''s untitled'::text",
    },
    price: { databaseTableColumnType: 'numeric(10,2)', check: expect.stringContaining('price > '), notNull: false },
    tags: { databaseTableColumnType: 'text[]', isList: true },
    'made at': { databaseTableColumnType: 'timestamp(3) with time zone', defaultValue: 'now()' },
  });
  expect(table.databaseTableConstraints).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        constraintName: 'by author',
        constraintType: 'FOREIGN KEY',
        databaseTableColumns: ['author'],
        referencedTable: 'authors',
        referencedColumns: ['id'],
        onDelete: 'CASCADE',
        onUpdate: 'NO ACTION',
      }),
      expect.objectContaining({ constraintType: 'UNIQUE', databaseTableColumns: ['title', 'author'] }),
      expect.objectContaining({ constraintName: 'long', constraintType: 'CHECK' }),
    ]),
  );
  const listed = await api.get(tables());
  expect(listed.body.databaseTables.map((one: { databaseTableName: string }) => one.databaseTableName)).toEqual(
    ['authors', 'Books & "more"'].sort(),
  );
});

test('a table that was read can be sent back unchanged', async () => {
  await create('other', [column('id', 'int', { primaryKey: true })]);
  await create(
    'same',
    [
      column('id', 'serial', { primaryKey: true }),
      column('code', 'varchar(5)', { unique: true, defaultValue: 'x' }),
      column('n', 'numeric(6,2)', { check: 'n > 0 and (n < 100)', defaultValue: 1 }),
      column('at', 'timestamptz', { defaultValue: 'now()' }),
      column('list', 'integer[]'),
      column('other', 'int'),
    ],
    [
      {
        constraintType: 'FOREIGN KEY',
        databaseTableColumns: ['other'],
        referencedTable: 'other',
        onUpdate: 'SET NULL',
      },
    ],
  );
  const { databaseTableColumns, databaseTableConstraints } = await read('same');

  // Read-only fields of columns and constraints are not accepted in a request.
  for (const body of [
    { columns: databaseTableColumns, constraints: databaseTableConstraints },
    { databaseTableColumns },
    { constraints: databaseTableConstraints },
    {},
  ])
    expect((await api.patch(`${tableOf('same')}?preview=true`, body, lenient)).body).toMatchObject({
      success: true,
      sql: [],
      preview: true,
    });
});

test('an update changes a table to the given definition', async () => {
  await create('changing', [
    column('id', 'int', { primaryKey: true }),
    column('gone', 'text'),
    column('count', 'text', { defaultValue: '7' }),
    column('kept', 'varchar(10)', { unique: true }),
  ]);
  await api.post(`${tableOf('changing')}/rows`, {
    databaseTableRowData: [{ id: 1, gone: 'x', count: '12', kept: 'k' }],
  });

  const wanted = {
    columns: [
      column('id', 'bigint', { primaryKey: true }),
      column('count', 'integer', { notNull: true, defaultValue: 3 }),
      column('kept', 'varchar(20)', { unique: false, check: `kept <> ''` }),
      column('added', 'jsonb', { defaultValue: { a: [1] } }),
    ],
  };
  const preview = await api.patch(`${tableOf('changing')}?preview=true`, wanted);
  const before = await read('changing');
  const changed = await api.patch(tableOf('changing'), wanted);
  const table = await read('changing');
  const rows = await api.get(`${tableOf('changing')}/rows`);

  expect(before.databaseTableColumns).toHaveLength(4);
  expect(changed.body.sql).toEqual(preview.body.sql);
  expect(preview.body.sql.length).toBeGreaterThan(5);
  expect(table.databaseTableColumns).toMatchObject([
    { databaseTableColumnName: 'id', databaseTableColumnType: 'bigint', primaryKey: true },
    { databaseTableColumnName: 'count', databaseTableColumnType: 'integer', notNull: true, defaultValue: '3' },
    { databaseTableColumnName: 'kept', databaseTableColumnType: 'character varying(20)', unique: false },
    { databaseTableColumnName: 'added', databaseTableColumnType: 'jsonb' },
  ]);
  expect(rows.body.databaseTableRows).toMatchObject([{ id: '1', count: 12, kept: 'k', added: { a: [1] } }]);
  // The server rewords an expression.
  const again = { columns: wanted.columns.map((one) => ({ ...one, check: undefined })) };
  expect((await api.patch(`${tableOf('changing')}?preview=true`, again)).body.sql).toEqual([]);
});

test('constraints that are not listed are dropped, and new ones added', async () => {
  await create('bound', [column('a', 'int', { primaryKey: true }), column('b', 'int', { unique: true })]);

  const constraints = [
    { constraintType: 'PRIMARY KEY', databaseTableColumns: ['b'] },
    { constraintType: 'CHECK', constraintName: 'positive', check: 'a > 0' },
  ];
  expect(await api.patch(tableOf('bound'), { constraints })).toMatchObject({ status: 200 });

  const table = await read('bound');
  expect(table.primaryKey).toEqual(['b']);
  expect(table.databaseTableConstraints.map((one: { constraintType: string }) => one.constraintType).sort()).toEqual([
    'CHECK',
    'PRIMARY KEY',
  ]);
});

test('a change that fails changes nothing', async () => {
  await create('whole', [column('id', 'int'), column('word', 'text')]);
  await api.post(`${tableOf('whole')}/rows`, { databaseTableRowData: [{ id: 1, word: 'no number' }] });

  const answer = await api.patch(tableOf('whole'), {
    columns: [column('id', 'bigint'), column('word', 'int'), column('new', 'int')],
  });

  expect(answer).toMatchObject({
    status: 400,
    body: { error: { code: 'DB_ERROR', details: { postgres_code: '22P02' } } },
  });
  expect((await read('whole')).databaseTableColumns).toMatchObject([
    { databaseTableColumnType: 'integer' },
    { databaseTableColumnType: 'text' },
  ]);
});

test('a text too long for a shorter type is an error and is not cut', async () => {
  await create('texts', [column('word', 'text')]);
  await api.post(`${tableOf('texts')}/rows`, { databaseTableRowData: [{ word: 'abcdefgh' }] });

  const answer = await api.patch(tableOf('texts'), { columns: [column('word', 'varchar(3)')] });

  expect(answer.body.error).toMatchObject({ code: 'DB_ERROR', details: { postgres_code: '22001' } });
});

test('an existing name is a conflict', async () => {
  const body = { databaseTableName: 'taken', columns: [column('id', 'int')] };
  await create('taken', body.columns);

  expect(await api.post(tables(), body)).toMatchObject({
    status: 409,
    body: {
      error: { code: 'CONFLICT', message: expect.stringContaining('"taken"'), details: { postgres_code: '42P07' } },
    },
  });
  expect(await api.post('T/database/schemas', { schemaName: schema })).toMatchObject({
    status: 409,
    body: { error: { code: 'CONFLICT', details: { postgres_code: '42P06' } } },
  });
  expect(await api.post(tables(), { ...body, ifNotExists: true })).toMatchObject({ status: 201 });
});

describe('an invalid definition', () => {
  test.each([
    ['columns.0.databaseTableColumnType', column('a', 'no_such_type')],
    ['columns.0.databaseTableColumnType', column('a', 'int); drop table x; --')],
    ['columns.0.databaseTableColumnType', column('a', 'int default 5')],
    ['columns.0.databaseTableColumnType', column('a', 'trigger')],
    ['columns.0.databaseTableColumnType', column('a', 'int check (true)')],
    ['columns.0.defaultValue', column('a', 'text', { defaultValue: 'pg_sleep(10)' })],
    ['columns.0.defaultValue', column('a', 'text', { defaultValue: `(select 'x')::text` })],
    ['columns.0.check', column('a', 'int', { check: 'true) , b int check (true' })],
    ['columns.0.check', column('a', 'int', { check: 'a > 0; drop table x' })],
    ['columns.0.check', column('a', 'int', { check: 'a > 0 --' })],
    ['columns.0.check', column('a', 'int', { check: 'a > 0 /* x' })],
    ['columns.0.check', column('a', 'int', { check: `a = 'x` })],
    ['columns.0.check', column('a', 'int', { check: 'a = $$x' })],
    ['columns.0.check', column('a', 'int', { check: `a = E'\\'` })],
    ['columns.0.databaseTableColumnName', column('x'.repeat(64), 'int')],
    ['columns.0.databaseTableColumnName', column('', 'int')],
    ['columns.0.databaseTableColumnName', { databaseTableColumnType: 'int' }],
  ])('%s is named: %j', async (field, bad) => {
    const answer = await api.post(tables(), { databaseTableName: 'bad', columns: [bad] });

    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
    expect(answer.body.error.message).toContain(`${field}: `);
    expect((await api.get(tables())).body.databaseTables).toEqual([]);
  });

  test.each([
    ['constraints.0.databaseTableColumns', { constraintType: 'UNIQUE' }],
    ['constraints.0.referencedTable', { constraintType: 'FOREIGN KEY', databaseTableColumns: ['a'] }],
    ['constraints.0.check', { constraintType: 'CHECK' }],
    ['constraints.0.constraintType', { constraintType: 'EXCLUDE' }],
    [
      'constraints.0.onDelete',
      { constraintType: 'FOREIGN KEY', databaseTableColumns: ['a'], referencedTable: 'x', onDelete: 'CASCADE; drop' },
    ],
  ])('%s is named: %j', async (field, bad) => {
    const answer = await api.post(tables(), {
      databaseTableName: 'bad',
      columns: [column('a', 'int')],
      constraints: [bad],
    });

    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
    expect(answer.body.error.message).toContain(`${field}: `);
  });

  test('is named as the client spelled it', async () => {
    const reference = { constraintType: 'FOREIGN KEY', databaseTableColumns: ['a'], referencedTable: 'missing' };
    const body = { databaseTableColumns: [column('a', 'int')], databaseTableConstraints: [reference] };
    const path = 'databaseTableConstraints.0.referencedTable: there is no table "missing"';
    const own = { ...reference, referencedTable: 'bad', referencedColumns: ['a'] };
    await create('there', [column('a', 'int')]);

    const answers = [
      await api.post(tables(), { databaseTableName: 'bad', ...body }),
      await api.patch(tableOf('there'), body),
    ];
    const type = await api.post(tables(), {
      databaseTableName: 'bad',
      databaseTableColumns: [column('a', 'no_such_type')],
    });
    const ofItself = await api.post(tables(), {
      databaseTableName: 'bad',
      columns: [column('a', 'int', { primaryKey: true })],
      constraints: [own],
    });

    for (const answer of answers)
      expect(answer.body.error).toMatchObject({ code: 'VALIDATION_ERROR', message: expect.stringContaining(path) });
    expect(type.body.error).toMatchObject({
      message: expect.stringMatching(/^databaseTableColumns\.0\.databaseTableColumnType: /),
      details: { issues: [{ path: ['databaseTableColumns', 0, 'databaseTableColumnType'] }] },
    });
    for (const field of ['schemaName', 'databaseSchemaName'])
      expect((await api.post('T/database/schemas', { [field]: 'pg_own' })).body.error.message).toMatch(
        new RegExp(`^${field}: names that begin with pg_`),
      );
    expect(ofItself.status).toBe(201);
  });
});

test('names may hold any characters, and are never executed', async () => {
  const evil = `x"; drop schema "${schema}" cascade; --`;
  await create(
    evil,
    [column(evil, 'int', { primaryKey: true, defaultValue: 5 })],
    [{ constraintName: `${evil}2`, constraintType: 'UNIQUE', databaseTableColumns: [evil] }],
  );

  expect(await api.post(`${tableOf(evil)}/rows`, { databaseTableRowData: [{ [evil]: 1 }, {}] })).toMatchObject({
    status: 201,
  });
  expect(
    (await api.get(`${tableOf(evil)}/rows?order=${encodeURIComponent(`"${evil.replaceAll('"', '""')}" desc`)}`)).body
      .databaseTableRows,
  ).toMatchObject([{ [evil]: 5 }, { [evil]: 1 }]);
  expect(await api.delete(tableOf(evil))).toMatchObject({ status: 200 });
});

test('a table is dropped, and its dependents only with an explicit flag', async () => {
  await create('base', [column('id', 'int', { primaryKey: true })]);
  await create(
    'leaning',
    [column('id', 'int')],
    [{ constraintType: 'FOREIGN KEY', databaseTableColumns: ['id'], referencedTable: 'base' }],
  );

  expect((await api.delete(tableOf('base'))).body.error).toMatchObject({
    code: 'DB_ERROR',
    details: { postgres_code: '2BP01' },
  });
  expect((await api.delete(`${tableOf('base')}?cascade=true&preview=true`)).body).toMatchObject({ preview: true });
  expect((await api.get(tableOf('base'))).status).toBe(200);
  expect((await api.delete(`${tableOf('base')}?cascade=true`)).status).toBe(200);
  expect((await api.get(tableOf('base'))).body.error.code).toBe('NOT_FOUND');
});

test('schemas are listed, previewed and dropped; system schemas are hidden', async () => {
  await create('inside', [column('id', 'int')]);

  const { body } = await api.get('T/database/schemas');
  expect(body.databaseSchemas).toContainEqual({
    databaseSchemaName: schema,
    tableCount: 1,
    sizeBytes: expect.any(Number),
  });
  for (const { databaseSchemaName } of body.databaseSchemas)
    expect(databaseSchemaName).not.toMatch(/^pg_|information_schema/);
  for (const name of ['pg_catalog', 'information_schema'])
    expect((await api.get(`T/database/schemas/${name}/tables`)).status).toBe(404);
  expect((await api.post('T/database/schemas?preview=true', { schemaName: 'unmade' })).body).toMatchObject({
    message: 'Preview only: nothing was changed',
    sql: ['create schema "unmade"'],
    preview: true,
  });
  expect((await api.get('T/database/schemas/unmade/tables')).status).toBe(404);
  const path = `T/database/schemas/${encodeURIComponent(schema)}`;
  expect((await api.delete(path)).body.error.code).toBe('DB_ERROR');
  expect((await api.delete(`${path}?cascade=true`)).status).toBe(200);
  expect((await api.get(`${path}/tables`)).status).toBe(404);
});

test('the metadata name all schemas, tables and columns', async () => {
  await create('named', [column('id', 'int', { primaryKey: true }), column('word', 'text')]);
  const q = `"${schema}"`;
  await api.post('T/database/execute-raw-sql', {
    sql: `create view ${q}.seen as select 1 as one; create type ${q}.mood as enum ('good', 'bad')`,
  });

  const { body } = await api.get('T/database/metadata');

  const own = body.databaseMetadata.metadata.find(
    (one: { databaseSchemaName: string }) => one.databaseSchemaName === schema,
  );
  expect(own).toMatchObject({
    tables: [
      {
        databaseTableName: 'named',
        databaseTableColumns: [column('id', 'integer'), column('word', 'text')],
        keys: [{ constraintName: 'named_pkey', constraintType: 'PRIMARY KEY' }],
        indexes: [{ indexName: 'named_pkey' }],
      },
    ],
    views: ['seen'],
    enums: [{ enum_name: 'mood', values: ['good', 'bad'] }],
  });
});
