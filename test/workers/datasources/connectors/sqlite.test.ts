import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sqlite } from '#shared/datasources/types/sqlite.ts';
import type { OpenedDatasource } from '#test/support/connector.ts';
import { type FileWorld, startFileWorld } from '#test/support/tenant-files.ts';

let world: FileWorld;
let datasource: OpenedDatasource;
beforeAll(async () => {
  world = await startFileWorld();
  const bytes = aDatabase(`
    create table item (id integer primary key, name text, price real, photo blob, big integer);
    insert into item values (1, 'it''s', 1.5, x'00ff10', 9007199254740993), (2, null, 2, null, -5);
    create view shown as select name from item;
  `);
  datasource = await world.open(sqlite, { fileInfo: await world.upload('shop.db', bytes) });
});
afterAll(async () => {
  await datasource[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

function aDatabase(sql: string): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-test-'));
  const path = join(folder, 'a.db');
  const database = new DatabaseSync(path);
  // A database in this mode needs files beside it, unless it is opened as immutable.
  database.exec(`pragma journal_mode = wal; ${sql}`);
  database.close();
  const bytes = readFileSync(path);
  rmSync(folder, { recursive: true });
  return bytes;
}

/** A query that runs longer than any time limit here. */
const endless = 'with recursive c(n) as (select 1 union all select n + 1 from c) select max(n) from c';

describe('a query', () => {
  test('returns values of every type', async () => {
    await datasource.test();

    const { data, columns } = await datasource.execute({ query: 'select * from item order by id' });

    expect(data).toEqual([
      { id: 1, name: "it's", price: 1.5, photo: 'AP8Q', big: '9007199254740993' },
      { id: 2, name: null, price: 2, photo: null, big: -5 },
    ]);
    expect(columns?.map(({ name, type }) => `${name} ${type}`)).toEqual([
      'id INTEGER',
      'name TEXT',
      'price REAL',
      'photo BLOB',
      'big INTEGER',
    ]);
  });

  test('binds its values with their types', async () => {
    const inputs = { n: 2, x: 1.5, t: "'; drop table item; --", yes: true, none: null, list: [1, 2, 7], o: { a: 1 } };
    const { data } = await datasource.execute(
      {
        query: `select typeof({{inputs.n}}) as n, typeof({{inputs.x}}) as x, {{inputs.t}} as t, {{inputs.yes}} as yes,
                       {{inputs.none}} as none, {{inputs.o}} as o, 'a {{inputs.t}}' as written,
                       (select count(*) from item where id in ({{inputs.list}})) as found`,
      },
      inputs,
    );

    expect(data).toEqual([
      { n: 'integer', x: 'real', t: inputs.t, yes: 1, none: null, o: '{"a":1}', written: `a ${inputs.t}`, found: 2 },
    ]);
  });

  test('renames the second of two columns with one name', async () => {
    expect((await datasource.execute({ query: 'select 1 as a, 2 as a' })).data).toEqual([{ a: 1, a_2: 2 }]);
  });

  test('of a million rows returns the requested number', async () => {
    const query = 'with recursive c(n) as (select 1 union all select n + 1 from c limit 1000000) select n from c';
    const before = process.memoryUsage.rss();

    const { rowCount, truncated } = await datasource.execute({ query }, {}, { maxRows: 1_000 });

    expect({ rowCount, truncated }).toEqual({ rowCount: 1_000, truncated: true });
    expect(process.memoryUsage.rss() - before).toBeLessThan(50 * 1024 * 1024);
  });

  test('that is invalid has the error of SQLite', async () => {
    await expect(datasource.execute({ query: 'select * from nope' })).rejects.toMatchObject({
      code: 'DB_ERROR',
      message: 'no such table: nope',
      details: { errno: 1 },
    });
  });

  test('can be explained', async () => {
    const plan = await datasource.connection.explain?.(
      { query: {}, statement: { texts: ['select * from item where id = 1'], values: [] } } as never,
      { signal: AbortSignal.timeout(5_000), maxRows: 10, idempotencyKey: null },
    );

    expect(JSON.stringify(plan)).toContain('SEARCH item');
  });
});

describe('reading only', () => {
  test.each([
    "insert into item (name) values ('x')",
    'update item set name = null',
    'delete from item',
    'drop table item',
    'create table x (a)',
    'create temp table x (a)',
    "attach database '/etc/passwd' as other",
    "attach database ':memory:' as other",
    'vacuum',
    "vacuum into '/tmp/gantry-copy.db'",
    'pragma journal_mode = delete',
    'pragma writable_schema = on',
    'pragma hard_heap_limit = 0',
    "select load_extension('/lib/x86_64-linux-gnu/libc.so.6')",
    'begin',
  ])('allows no other statement: %s', async (query) => {
    await expect(datasource.execute({ query })).rejects.toMatchObject({ code: 'DB_ERROR' });
  });

  test.each(["select readfile('/etc/passwd')", "select writefile('/tmp/x', 'x')", "select edit('x')"])(
    'allows no function of the file system: %s',
    async (query) => {
      await expect(datasource.execute({ query })).rejects.toMatchObject({
        message: expect.stringContaining('no such function'),
      });
    },
  );

  test('a second statement is refused, and a comment is not one', async () => {
    for (const query of ['select 1; drop table item', 'select 1;/**/select 2', 'select 1; -- no\n select 2'])
      await expect(datasource.execute({ query })).rejects.toThrow('query: must be one statement');
    for (const query of [
      'select 1 as n;',
      'select 1 as n; -- select 2',
      'select 1 as n;; /* select 2',
      "select 1 as n /* ' */;",
    ])
      expect((await datasource.execute({ query })).data).toEqual([{ n: 1 }]);

    expect((await datasource.execute({ query: 'select count(*) as n from item' })).data).toEqual([{ n: 2 }]);
  });
});

describe('a query that runs long', () => {
  test('ends at its time limit, with its process, and the next one is answered', async () => {
    await expect(
      datasource.execute({ query: endless }, {}, { signal: AbortSignal.timeout(500) }),
    ).rejects.toMatchObject({
      name: 'TimeoutError',
    });

    expect((await datasource.execute({ query: 'select 1 as a' })).data).toEqual([{ a: 1 }]);
  });

  test('lets others run, and can be aborted while it waits', async () => {
    const stop = new AbortController();
    const busy = [1, 2].map(() => datasource.execute({ query: endless }, {}, { signal: stop.signal }));
    const settled = Promise.allSettled(busy);
    try {
      // Waits until both have their processes.
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      const third = datasource.execute({ query: 'select 1' }, {}, { signal: AbortSignal.timeout(300) });
      await expect(third).rejects.toMatchObject({ name: 'TimeoutError' });
    } finally {
      stop.abort();
    }

    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect((await datasource.execute({ query: 'select 1 as a' })).data).toEqual([{ a: 1 }]);
  });

  test('or uses much memory has an error, and the next one is answered', async () => {
    await expect(
      datasource.execute(
        { query: 'select length(hex(zeroblob(400000000)))' },
        {},
        { signal: AbortSignal.timeout(60_000) },
      ),
    ).rejects.toMatchObject({
      code: 'DB_ERROR',
    });
    expect((await datasource.execute({ query: 'select 1 as a' })).data).toEqual([{ a: 1 }]);
  });
});

test('a damaged file has an error', async () => {
  const damaged = Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(5_000, 0x41)]);
  await using broken = await world.open(sqlite, { fileInfo: await world.upload('x.db', damaged) });

  await expect(broken.test()).rejects.toMatchObject({ code: 'DB_ERROR', message: 'file is not a database' });
});

test('a file of another kind is refused', async () => {
  await using other = await world.open(sqlite, { fileInfo: await world.upload('x.csv', 'a,b\n1,2\n') });

  await expect(other.test()).rejects.toMatchObject({ code: 'DB_ERROR', message: 'file is not a database' });
});

test('tables, views and their columns can be browsed', async () => {
  const browse = async (...path: string[]) => datasource.connection.browse?.(path, AbortSignal.timeout(10_000));

  expect(await browse()).toEqual([
    { name: 'item', kind: 'table', isContainer: true },
    { name: 'shown', kind: 'view', isContainer: true },
  ]);
  expect(await browse('item')).toMatchObject([
    { name: 'id', kind: 'column', isContainer: false, type: 'INTEGER', details: { isNullable: true } },
    { name: 'name', type: 'TEXT' },
    { name: 'price' },
    { name: 'photo' },
    { name: 'big' },
  ]);
  await expect(browse("no'thing")).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(browse('item', 'id')).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
