import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { Answer } from '../../support/client.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aMember, aTenant, type TestTenant } from '../../support/factories.ts';
import { aFile, aPNG } from '../../support/route-fixtures.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const MB = 1024 * 1024;

function upload(name: string, bytes: Buffer | string, where = tenant): Promise<Answer> {
  return cluster
    .as(where.creator)
    .in(where)
    .post('T/datasources/upload', aFile(Buffer.from(bytes), { name }));
}

function api(where = tenant) {
  return cluster.as(where.creator).in(where);
}

function aTable(size: number): Buffer {
  return Buffer.from('a,b\n'.padEnd(size, '1,2\n'));
}

describe('a file', () => {
  test('is downloaded byte for byte, as an attachment', async () => {
    const text = `${aTable(3 * MB + 17)}`;

    const { status, body } = await upload("../../Umsätze 'Q1'.csv", text);
    const read = await api().get(body.url);

    expect(status).toBe(201);
    expect(body).toEqual({
      success: true,
      fileID: expect.any(String),
      url: `/api/v1/tenants/${tenant.id}/datasources/files/${body.fileID}`,
      filePath: `tenant-files/${body.fileID}`,
      fileName: "Umsätze 'Q1'.csv",
      fileSize: 3 * MB + 17,
      fileType: 'text/csv',
      createdAt: expect.any(String),
    });
    expect(read.body === text).toBe(true);
    expect(Object.fromEntries(read.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': String(3 * MB + 17),
      'content-disposition': `attachment; filename="file"; filename*=UTF-8''Ums%C3%A4tze%20%27Q1%27.csv`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'private, no-store',
    });
  });

  test('is stored in pieces of a megabyte at most', async () => {
    const { body } = await upload('a.csv', aTable(10 * MB));

    const { rows } = await cluster.context.pool.query<{ size: number }>(
      'select length(bytes) as size from tenant_file_chunk where file_id = $1 order by position',
      [body.fileID],
    );

    expect(rows.map(({ size }) => size)).toEqual(Array.from({ length: 10 }, () => MB));
  });

  test('larger than 10 MB is refused', async () => {
    expect(await upload('a.csv', aTable(10 * MB + 1))).toMatchObject({ status: 413 });
  });

  test.each([
    ['text/csv', 'a.csv', Buffer.from('a;b\n1;2\n')],
    ['text/csv', 'a.html', Buffer.from('<script>alert(1)</script>')],
    ['text/csv', 'a.csv', Buffer.from('\uFEFFa;b\n', 'utf16le')],
    ['text/tab-separated-values', 'a.tsv', Buffer.from('a\tb\n')],
    ['application/json', 'a.csv', Buffer.from('[{"a":1}]')],
    ['application/json', 'a.jsonl', Buffer.from('{"a":1}\n{"a":2}\n')],
    ['application/vnd.apache.parquet', 'a', Buffer.from('PAR1....PAR1')],
    ['application/vnd.sqlite3', 'a.csv', Buffer.from('SQLite format 3\0...')],
  ])('is %s, judged by its content', async (type, name, bytes) => {
    expect((await upload(name, bytes)).body.fileType).toBe(type);
  });

  test.each([
    ['an image', aPNG()],
    ['noise', randomBytes(5_000)],
    ['a program', Buffer.from('\x7fELF\x02\x01\x01\0', 'latin1')],
    ['an archive', Buffer.from('PK\x03\x04 evil.sh')],
    ['an old workbook', Buffer.from('d0cf11e0a1b11ae1', 'hex')],
  ])('that is %s is refused under any name', async (_what, bytes) => {
    expect(await upload('a.csv', bytes)).toMatchObject({
      status: 400,
      body: { error: { code: 'VALIDATION_ERROR', message: expect.stringContaining('file: must be CSV') } },
    });
  });

  test('in use is deleted only by force, and the answer names its users', async () => {
    const own = await aTenant(cluster);
    const { body: file } = await upload('a.csv', 'a\n1\n', own);
    const create = async (datasourceTitle: string, datasourceType: string, datasourceOptions: object) =>
      (await api(own).post('T/datasources', { datasourceTitle, datasourceType, datasourceOptions })).body.datasource.id;
    const sheet = await create('Sheet', 'excelcsv', {
      fileInfo: { filePath: file.filePath.toUpperCase().replace('TENANT-FILES', 'tenant-files') },
    });
    const joined = await create('Joined', 'duckdb', {
      files: [{ name: 'a', fileInfo: { filePath: file.filePath } }],
    });
    await create('Other', 'excelcsv', { fileInfo: { filePath: `tenant-files/${newID()}` } });
    const path = `T/datasources/files/${file.fileID}`;
    const cleaner = await aMember(cluster, { tenant: own, can: ['datasource.delete'] });

    const refused = await api(own).delete(path);
    expect(refused).toMatchObject({
      status: 409,
      body: {
        error: {
          code: 'CONFLICT',
          message: '2 datasources use this file; force=true deletes it all the same',
          details: {
            datasources: [
              { datasourceID: joined, datasourceTitle: 'Joined' },
              { datasourceID: sheet, datasourceTitle: 'Sheet' },
            ],
            others: { datasources: 0 },
          },
        },
      },
    });
    const { error } = (await cluster.as(cleaner).in(own).delete(path)).body;
    expect(error.details).toEqual({ datasources: [], others: { datasources: 2 } });
    expect((await api(own).get(file.url)).status).toBe(200);

    await api(own).delete(`T/datasources/${joined}`);
    expect((await api(own).delete(path)).body.error.message).toMatch(/^1 datasource uses /);
    expect((await api(own).delete(`${path}?force=true`)).status).toBe(200);
    expect((await api(own).delete(path)).status).toBe(404);
  });

  test('is listed and deleted, with all of its pieces', async () => {
    const own = await aTenant(cluster);
    const { body } = await upload('a.csv', aTable(MB + 1), own);

    const listed = await api(own).get('T/datasources/files');
    const deleted = await api(own).delete(`T/datasources/files/${body.fileID}`);

    const { success, ...file } = body;
    expect(listed.body).toMatchObject({ files: [file], totalCount: 1 });
    expect(deleted.status).toBe(200);
    expect((await api(own).get(body.url)).status).toBe(404);
    expect((await api(own).delete(`T/datasources/files/${body.fileID}`)).status).toBe(404);
    const { rows } = await cluster.context.pool.query('select from tenant_file_chunk where file_id = $1', [
      body.fileID,
    ]);
    expect(rows).toEqual([]);
  });

  test('cannot be read from another tenant, nor by a member without the permission', async () => {
    const { body } = await upload('a.csv', 'a\n1\n');
    const other = await aTenant(cluster);
    const lister = await aMember(cluster, { tenant, can: ['datasource.list'] });

    expect((await api(other).get(`T/datasources/files/${body.fileID}`)).status).toBe(404);
    expect((await api(other).delete(`T/datasources/files/${body.fileID}`)).status).toBe(404);
    expect((await cluster.as(lister).in(tenant).get(`T/datasources/files/${body.fileID}`)).status).toBe(403);
    expect((await cluster.as(lister).in(tenant).get('T/datasources/files')).status).toBe(200);
    expect((await api().get(body.url)).status).toBe(200);
  });
});

test('the files of a tenant share one limit, also for concurrent uploads', async () => {
  const full = await aTenant(cluster);
  await cluster.context.pool.query(
    `insert into tenant_file (id, tenant_id, file_name, file_type, file_size, digest, creator_id)
     values ($1, $2, 'a', 'text/csv', $3, repeat('0', 64), $2)`,
    [newID(), full.id, 1024 * MB - 3 * 100],
  );

  const answers = await Promise.all(Array.from({ length: 6 }, () => upload('a.csv', aTable(100), full)));

  expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 429, 429, 429]);
  expect(answers.find(({ status }) => status === 429)?.body.error.code).toBe('QUOTA_EXCEEDED');
});
