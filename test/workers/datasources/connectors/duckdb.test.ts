import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { duckdb } from '#shared/datasources/types/duckdb.ts';
import { excelcsv } from '#shared/datasources/types/excelcsv.ts';
import type { OpenedDatasource } from '#test/support/connector.ts';
import { aTenant } from '#test/support/factories.ts';
import { type FileWorld, startFileWorld } from '#test/support/tenant-files.ts';

let world: FileWorld;
let datasource: OpenedDatasource;
beforeAll(async () => {
  world = await startFileWorld();
  const people = [
    { id: 1, tags: ['a', 'b'], address: { city: 'Ulm' } },
    { id: 2, tags: [], address: null },
  ];
  datasource = await world.open(duckdb, {
    files: [
      { name: 'orders', fileInfo: await world.upload('orders.csv', 'id;person;amount\n1;1;1.50\n2;1;2.25\n3;2;4\n') },
      { name: 'people', fileInfo: await world.upload('people.json', JSON.stringify(people)) },
      { name: 'lines', fileInfo: await world.upload('lines.tsv', 'a\tb\n1\tx\n') },
      { name: 'facts', fileInfo: await world.upload('facts.parquet', await aParquet()) },
    ],
  });
});
afterAll(async () => {
  await datasource[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

async function aParquet(): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-test-'));
  const path = join(folder, 'a.parquet');
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`copy (select n, n * 2 as twice from range(1000) t(n)) to '${path}' (format parquet)`);
  connection.closeSync();
  const bytes = readFileSync(path);
  rmSync(folder, { recursive: true });
  return bytes;
}

async function rows(query: string, inputs = {}) {
  return (await datasource.execute({ query }, inputs)).data;
}

const endless = 'select sum(a.range * b.range) as n from range(10000000) a, range(10000000) b';

describe('a query', () => {
  test('joins files of every kind', async () => {
    await datasource.test();

    expect(
      await rows(`
        select p.address.city as city, sum(o.amount) as total, len(any_value(p.tags)) as tags
        from orders o join people p on p.id = o.person group by all order by total`),
    ).toEqual([
      { city: 'Ulm', total: 3.75, tags: 2 },
      { city: null, total: 4, tags: 0 },
    ]);
    expect(await rows('select l.*, (select max(twice) from facts) as top from lines l')).toEqual([
      { a: 1, b: 'x', top: 1998 },
    ]);
  });

  test('returns values of every type', async () => {
    const [row] = (await rows(`
      select 9007199254740993::bigint as big, 12::bigint as small, (170141183460469231731687303715884105727)::hugeint as huge,
        1.10::decimal(10, 2) as price, 'nan'::double as nan, 1.5::float as f, true as yes, null as none,
        date '2026-01-31' as day, timestamp '2026-01-31 10:30:00.123456' as at,
        timestamptz '2026-01-31 10:30:00+02' as moment, time '10:30:00' as hour, interval '1 month 2 days' as span,
        '\\x00\\xFF'::blob as bytes, [1, 2, null] as list, {'a': 1, 'b': [9007199254740993]} as struct,
        map {'k': 1} as map, 'x'::enum('x', 'y') as one, '6ba7b810-9dad-11d1-80b4-00c04fd430c8'::uuid as id,
        union_value(n := 2) as either, array_value(1, 2) as fixed`)) as unknown[];

    expect(row).toEqual({
      big: '9007199254740993',
      small: 12,
      huge: '170141183460469231731687303715884105727',
      price: '1.10',
      nan: 'NaN',
      f: 1.5,
      yes: true,
      none: null,
      day: '2026-01-31',
      at: '2026-01-31T10:30:00.123456',
      moment: '2026-01-31T08:30:00Z',
      hour: '10:30:00',
      span: '1 month 2 days',
      bytes: 'AP8=',
      list: [1, 2, null],
      struct: { a: 1, b: ['9007199254740993'] },
      map: [{ key: 'k', value: 1 }],
      one: 'x',
      id: '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
      either: 2,
      fixed: [1, 2],
    });
  });

  test('binds its values with their types', async () => {
    const inputs = {
      n: 2,
      x: 1.5,
      t: "'; drop table orders; --",
      yes: true,
      none: null,
      list: [1, 3],
      texts: ['a', 'b'],
    };
    const found = await rows(
      `select typeof({{inputs.n}}) as n, {{inputs.x}} as x, {{inputs.t}} as t, {{inputs.yes}} as yes,
              {{inputs.none}} as none, 'a {{inputs.t}}' as written, {{inputs.texts}} as texts,
              (select count(*) from orders where id in ({{inputs.list}})) as found`,
      inputs,
    );

    expect(found).toEqual([
      {
        n: 'BIGINT',
        x: 1.5,
        t: inputs.t,
        yes: true,
        none: null,
        written: `a ${inputs.t}`,
        texts: ['a', 'b'],
        found: 2,
      },
    ]);
  });

  test('of a million rows returns the requested number', async () => {
    await rows('select 1');
    const before = process.memoryUsage.rss();

    const { rowCount, truncated } = await datasource.execute(
      { query: 'select range as n, repeat(chr(120), 100) as text from range(1000000)' },
      {},
      { maxRows: 1_000 },
    );

    expect({ rowCount, truncated }).toEqual({ rowCount: 1_000, truncated: true });
    expect(process.memoryUsage.rss() - before).toBeLessThan(50 * 1024 * 1024);
  });

  test('that is invalid has the error of DuckDB', async () => {
    await expect(rows('select *\nfrom nope')).rejects.toMatchObject({
      code: 'DB_ERROR',
      message: expect.stringContaining('Table with name nope does not exist'),
      details: { line: 2 },
    });
  });
});

describe('outside of the files', () => {
  const secret = '/etc/passwd';

  test.each([
    `select * from read_text('${secret}')`,
    `select * from read_blob('${secret}')`,
    `select * from read_csv('${secret}')`,
    `select * from read_json('${secret}')`,
    `select * from read_parquet('${secret}')`,
    `select * from '${secret}'`,
    `select * from "${secret}.csv"`,
    "select * from glob('/etc/*')",
    "select * from sniff_csv('/etc/passwd')",
    "select * from parquet_metadata('/etc/passwd')",
    "select * from read_csv('http://127.0.0.1:1/a.csv')",
    "select * from 'https://example.test/a.parquet'",
    "select * from query('select * from read_text(''/etc/passwd'')')",
    "select getenv('PATH')",
  ])('reading is refused: %s', async (query) => {
    await expect(rows(query)).rejects.toMatchObject({ code: 'DB_ERROR' });
  });

  test.each([
    "attach '/tmp/gantry-x.db' as x",
    "attach ':memory:' as x",
    'install httpfs',
    'load httpfs',
    "load '/tmp/x.duckdb_extension'",
    "copy orders to '/tmp/gantry-x.csv'",
    "copy (select 1) to '/tmp/gantry-x.parquet' (format parquet)",
    "export database '/tmp/gantry-x'",
    'set enable_external_access = true',
    'set lock_configuration = false',
    "set memory_limit = '10GB'",
    'reset memory_limit',
    "pragma temp_directory = '/tmp'",
    "create secret (type s3, key_id 'a', secret 'b')",
    'create table x as select 1',
    'insert into orders values (9, 9, 9)',
    'drop table orders',
    'call pragma_version()',
    'prepare p as select 1',
    "import database '/tmp'",
    'begin',
    'select 1; drop table orders',
  ])('changing is refused: %s', async (query) => {
    await expect(rows(query)).rejects.toMatchObject({ message: expect.any(String) });
    expect(await rows('select count(*) as n from orders')).toEqual([{ n: 3 }]);
    expect(['/tmp/gantry-x.db', '/tmp/gantry-x.csv', '/tmp/gantry-x.parquet', '/tmp/gantry-x'].some(existsSync)).toBe(
      false,
    );
  });

  test('settings are locked', async () => {
    const [row] = (await rows(
      "select current_setting('enable_external_access') as access, current_setting('lock_configuration') as locked",
    )) as unknown[];

    expect(row).toEqual({ access: false, locked: true });
  });
});

describe('a query that runs long', () => {
  test('ends at its time limit, with its process, and the next one is answered', async () => {
    await expect(
      datasource.execute({ query: endless }, {}, { signal: AbortSignal.timeout(1_000) }),
    ).rejects.toMatchObject({
      name: 'TimeoutError',
    });

    expect(await rows('select count(*) as n from orders')).toEqual([{ n: 3 }]);
  });

  test('or uses much memory has an error, and the next one is answered', async () => {
    await expect(
      datasource.execute(
        { query: 'select list(range) as all_of_them from range(200000000)' },
        {},
        { signal: AbortSignal.timeout(60_000) },
      ),
    ).rejects.toMatchObject({
      code: 'DB_ERROR',
    });
    expect(await rows('select count(*) as n from orders')).toEqual([{ n: 3 }]);
  });
});

test('an unreadable file is named by its table, without a path', async () => {
  const broken = Buffer.concat([Buffer.from('PAR1'), Buffer.alloc(100, 1), Buffer.from('PAR1')]);
  await using other = await world.open(duckdb, {
    files: [{ name: 'broken', fileInfo: await world.upload('x.parquet', broken) }],
  });

  const error = await other.test().catch((cause: unknown) => cause);

  expect(error).toMatchObject({ code: 'DB_ERROR', message: expect.stringContaining('"broken"') });
  expect((error as Error).message).not.toContain(tmpdir());
});

test('numbers of a JSON file that a double does not hold are texts, and other columns stay what they are', async () => {
  const lines = [
    '{"id":9007199254740993,"price":12345678901234567890.5,"mixed":9007199254740993,"plain":1.5,"big":1234567890123456789012345678901234567890,"deep":{"list":[{"n \\"1\\"":0.12345678901234567891}],"f":2.5},"late":1,"day":"2026-01-31"}',
    '{"id":2,"price":2,"mixed":0.5,"plain":2,"big":1e400,"deep":{"list":[{"n \\"1\\"":1.5}],"f":3},"late":2,"day":"2026-02-01"}',
  ];
  // A fraction that comes late is seen behind the rows that DuckDB samples by itself, too.
  const filler = Array.from({ length: 25_000 }, (_, n) => `{"id":${n + 3},"late":3}`);
  const files = [
    {
      name: 'exact',
      fileInfo: await world.upload('exact.json', [...lines, ...filler, '{"id":1,"late":1.5}'].join('\n')),
    },
    { name: 'late', fileInfo: await world.upload('late.json', `[${filler},{"id":1,"late":1.5}]`) },
  ];
  await using numbers = await world.open(duckdb, { files });
  const read = async (query: string) => (await numbers.execute({ query }, {})).data as Record<string, unknown>[];

  expect(await read('select * from exact where price is not null')).toEqual([
    {
      ...{ id: '9007199254740993', price: '12345678901234567890.5', mixed: '9007199254740993', plain: 1.5 },
      ...{ big: '1234567890123456789012345678901234567890', late: 1, day: '2026-01-31' },
      deep: { list: [{ 'n "1"': '0.12345678901234567891' }], f: 2.5 },
    },
    {
      ...{ id: 2, price: '2', mixed: '0.5', plain: 2, big: '1e400', late: 2, day: '2026-02-01' },
      deep: { list: [{ 'n "1"': '1.5' }], f: 3 },
    },
  ]);
  expect(await read('select max(id) - 1 as before, sum(plain) as sum from exact')).toEqual([
    { before: '9007199254740992', sum: 3.5 },
  ]);
  for (const file of ['exact', 'late'])
    expect(await read(`select late from ${file} where id = 1`)).toEqual([{ late: 1.5 }]);
});

test('numbers of a CSV file keep their digits, and stay numbers', async () => {
  const header = 'id,code,price,big,share,exact,wild,none';
  const lines = [
    '1,12,1.50,12345678901234567890,0.1234567890123456789,1,1e-400,',
    '2,13,-2.25,1,-20.5,2.5,12345678901234567e2,',
  ];
  // A zero that leads is seen behind the rows that DuckDB samples by itself, too.
  const filler = Array.from({ length: 25_000 }, (_, n) => `${n + 3},1,1,1,1,1,1,`);
  const text = [header, ...lines, ...filler, '0,007,1,1,1,1,1,'].join('\n');
  const fileInfo = await world.upload('numbers.csv', text);
  await using numbers = await world.open(duckdb, { files: [{ name: 'numbers', fileInfo }] });
  const read = async (query: string) => (await numbers.execute({ query }, {})).data as Record<string, unknown>[];

  expect(await read('select * from numbers where id < 3 order by id')).toEqual([
    {
      id: 0,
      code: '007',
      price: 1,
      big: 1,
      share: '1.0000000000000000000',
      exact: 1,
      wild: '1',
      none: null,
    },
    {
      id: 1,
      code: '12',
      price: 1.5,
      big: '12345678901234567890',
      share: '0.1234567890123456789',
      exact: 1,
      wild: '1e-400',
      none: null,
    },
    {
      id: 2,
      code: '13',
      price: -2.25,
      big: 1,
      share: '-20.5000000000000000000',
      exact: 2.5,
      wild: '12345678901234567e2',
      none: null,
    },
  ]);
  expect(await read('select max(big) + 1 as next, sum(price) as sum from numbers')).toEqual([
    { next: '12345678901234567891', sum: 25_000.25 },
  ]);
});

describe('a CSV file is read as excelcsv reads it', () => {
  const text = 'name;note\r\nJürgen;a,b\r\nŽofie;5 €\r\n';
  const expected = [
    { name: 'Jürgen', note: 'a,b' },
    { name: 'Žofie', note: '5 €' },
  ];
  const windows1252 = Buffer.from(text.replace('Ž', '\x8e').replace('€', '\x80'), 'latin1');
  const utf16 = Buffer.from(`\uFEFF${text}`, 'utf16le');
  const column = (values: string[]) => ['note', ...values].join('\n');

  test.each<[string, string | Buffer, object[]]>([
    ['in UTF-8 with a mark', `\uFEFF${text}`, expected],
    ['in Windows-1252', windows1252, expected],
    ['in UTF-16, little-endian', utf16, expected],
    ['in UTF-16, big-endian', Buffer.from(utf16).swap16(), expected],
    ['of one column, with a semicolon in a value', column(['x', 'a;b']), [{ note: 'x' }, { note: 'a;b' }]],
    ['of one column, with a tab in a value', column(['a', 'b\tc']), [{ note: 'a' }, { note: 'b\tc' }]],
  ])('%s', async (_how, bytes, rowsOfFile) => {
    const fileInfo = await world.upload('a.csv', bytes);
    await using sql = await world.open(duckdb, { files: [{ name: 'a', fileInfo }] });
    await using sheet = await world.open(excelcsv, { fileInfo });

    expect((await sql.execute({ query: 'select * from a' })).data).toEqual(rowsOfFile);
    expect((await sheet.execute({})).data).toEqual(rowsOfFile);
    expect(readdirSync(world.files.folder).filter((name) => name.startsWith('decoded'))).toEqual([]);
  });
});

test('a file of another tenant is refused', async () => {
  const file = await world.upload('a.csv', 'a\n1\n');
  const stranger = await aTenant(world.cluster);
  await using other = await world.open(duckdb, { files: [{ name: 'a', fileInfo: file }] }, stranger);

  await expect(other.test()).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('two tables of one name are refused', async () => {
  const fileInfo = await world.upload('a.csv', 'a\n1\n');

  await expect(
    world.open(duckdb, {
      files: [
        { name: 'a', fileInfo },
        { name: 'A', fileInfo },
      ],
    }),
  ).rejects.toThrow('must have different names');
});

test('the files and their columns can be browsed', async () => {
  const browse = async (...path: string[]) => datasource.connection.browse?.(path, AbortSignal.timeout(10_000));

  expect(await browse()).toEqual(
    ['facts', 'lines', 'orders', 'people'].map((name) => ({ name, kind: 'table', isContainer: true })),
  );
  expect(await browse('facts')).toEqual([
    { name: 'n', kind: 'column', isContainer: false, type: 'BIGINT', details: { isNullable: true } },
    { name: 'twice', kind: 'column', isContainer: false, type: 'BIGINT', details: { isNullable: true } },
  ]);
  await expect(browse('nothing')).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
