import readExcelFile from 'read-excel-file/node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Client } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aTenant, type TestTenant } from '../../../support/factories.ts';

let cluster: Cluster;
let tenant: TestTenant;
let api: Client;

beforeAll(async () => {
  cluster = await startCluster({ workers: ['tenant.database'] });
  tenant = await aTenant(cluster);
  api = cluster.as(tenant.creator).in(tenant);
  await sql(`
    create table things (id int primary key, word text, "big one" bigint, doc jsonb, yes boolean, price numeric);
    insert into things values (1, E'a,"b"\\nc', 9007199254740993, '{"x": 1}', true, 0.10), (2, '', null, null, false, null), (3, '=1+1', -1, '[]', null, 1234567890.1234567);
    create table many as select n as id, repeat('ä', 50) as word from generate_series(1, 300000) as n;
    create table none (id int);`);
});
afterAll(() => cluster[Symbol.asyncDispose]());

async function sql(text: string): Promise<void> {
  const answer = await api.post('T/database/execute-raw-sql', { sql: text });
  expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 200 });
}

const rowsOf = (table: string) => {
  const [name, query] = table.split('?');
  return `T/database/schemas/public/tables/${name}/rows/export${query ? `?${query}` : ''}`;
};

/** Downloads a file that is not text. */
async function download(table: string, body: object): Promise<Response> {
  return fetch(`${cluster.baseURL}${rowsOf(table).replace('T', `/api/v1/tenants/${tenant.id}`)}`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${await cluster.tokenFor(tenant.creator)}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

test('CSV has a byte order mark on request', async () => {
  const first = async (query: string) =>
    (await api.patch(`${rowsOf('none')}${query}`, { exportFormat: 'csv' })).body.codePointAt(0);
  // The client of the tests decodes as browsers do: without the mark.
  const bytes = await (await download('none?bom=true', { exportFormat: 'csv' })).arrayBuffer();
  expect([...new Uint8Array(bytes).subarray(0, 5)]).toEqual([0xef, 0xbb, 0xbf, 0x69, 0x64]);
  expect(await first('')).toBe('i'.codePointAt(0));
});

const stored = async () => (await cluster.pool.query('select 1 from result_page')).rows.length;

test('exports are files of the rows that match the filter', async () => {
  const csv = await api.patch(rowsOf('things'), { where: { id: { '<': 3 } } });
  const json = await api.patch(rowsOf('things'), { exportFormat: 'json', order: 'id desc' });
  const other = await api.patch(rowsOf('things'), { exportFormat: 'pdf' });

  expect(csv.headers.get('content-disposition')).toBe('attachment; filename=export.csv');
  expect(csv.headers.get('content-type')).toContain('text/csv');
  expect(csv.body).toBe(
    'id,word,big one,doc,yes,price\r\n1,"a,""b""\nc",9007199254740993,"{""x"":1}",true,0.10\r\n2,"",,,false,\r\n',
  );
  expect(json.headers.get('content-disposition')).toBe('attachment; filename=export.json');
  expect(json.body.map(({ id }: { id: number }) => id)).toEqual([3, 2, 1]);
  expect(other.body.error.message).toContain('exportFormat: must be json, csv or xlsx');
  expect((await api.patch(rowsOf('none'), { exportFormat: 'json' })).body).toEqual([]);
  expect((await api.patch(rowsOf('none'), {})).body).toBe('id\r\n');
});

test('a CSV file has no text that a spreadsheet would run, unless it is to be kept', async () => {
  const texts = [
    '=1+1',
    '+1+1',
    '-1+1',
    '@SUM(1)',
    '\t=1',
    '\r=1',
    '＝1',
    "'=1",
    'a=1',
    '-5',
    '+1.5e3',
    '=HYPERLINK("a,b")',
  ];
  await sql(`create table "=cmd" (n int, "+text" text, amount numeric)`);
  const rows = texts.map((text, n) => ({ n, '+text': text, amount: '-0.10' }));
  await api.post('T/database/schemas/public/tables/%3Dcmd/rows', { databaseTableRowData: rows });
  const lines = async (query = '') =>
    (await api.patch(`${rowsOf('%3Dcmd')}${query}`, { order: 'n' })).body.split('\r\n').slice(0, -1);

  expect(await lines()).toEqual([
    "n,'+text,amount",
    "0,'=1+1,-0.10",
    "1,'+1+1,-0.10",
    "2,'-1+1,-0.10",
    "3,'@SUM(1),-0.10",
    `4,"'\t'=1",-0.10`,
    `5,"'\r'=1",-0.10`,
    "6,'＝1,-0.10",
    "7,'=1,-0.10",
    '8,a=1,-0.10',
    '9,-5,-0.10',
    '10,+1.5e3,-0.10',
    '11,"\'=HYPERLINK(""a,b"")",-0.10',
  ]);
  expect((await lines('?formulas=keep')).slice(0, 3)).toEqual(['n,+text,amount', '0,=1+1,-0.10', '1,+1+1,-0.10']);
  expect((await api.patch(`${rowsOf('things')}?formulas=no`, {})).status).toBe(400);
});

test('a workbook has booleans and safe numbers as such and everything else as text, formulas included', async () => {
  const response = await download('things', { exportFormat: 'xlsx', order: 'id' });
  const bytes = Buffer.from(await response.arrayBuffer());

  expect(response.headers.get('content-disposition')).toBe('attachment; filename=export.xlsx');
  expect(response.headers.get('content-type')).toContain('spreadsheetml');
  const [sheet] = await readExcelFile(bytes);
  expect(sheet?.data).toEqual([
    ['id', 'word', 'big one', 'doc', 'yes', 'price'],
    [1, 'a,"b"\nc', '9007199254740993', '{"x":1}', true, 0.1],
    [2, null, null, null, false, null],
    [3, '=1+1', -1, '[]', null, '1234567890.1234567'],
  ]);
});

test('many rows are one snapshot of the table, complete, and no temporary file is left', async () => {
  const response = await download('many', { exportFormat: 'csv', order: 'id desc' });
  expect(await stored()).toBeGreaterThan(5);
  await sql('delete from many where id < 100000');
  let bytes = 0;
  let lines = 0;
  const before = process.memoryUsage().heapUsed;
  let most = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    for (const byte of chunk) if (byte === 10) lines += 1;
    most = Math.max(most, process.memoryUsage().heapUsed - before);
  }

  const digits = Array.from({ length: 300_000 }, (_, n) => String(n + 1).length).reduce((sum, n) => sum + n, 0);
  expect(lines).toBe(300_001);
  expect(bytes).toBe('id,word\r\n'.length + 300_000 * (1 + 100 + 2) + digits);
  expect(most).toBeLessThan(150 * 1024 * 1024);
  await expect.poll(stored).toBe(0);
});

test('a file that cannot be finished is recognizably incomplete', async () => {
  const response = await download('many', {});
  await cluster.pool.query('delete from result_page');

  await expect(response.arrayBuffer()).rejects.toThrow();
  expect((await api.patch(rowsOf('things'), {})).status).toBe(200);
});

test('a client that disconnects leaves nothing behind', async () => {
  const response = await download('many', {});
  expect(await stored()).toBeGreaterThan(0);
  await response.body?.cancel();

  await expect.poll(stored).toBe(0);
});
