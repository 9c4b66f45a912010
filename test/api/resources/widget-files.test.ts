import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newID } from '#shared/ids.ts';
import type { Client } from '../../support/client.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aMember, aTenant, aWidget, type TestTenant } from '../../support/factories.ts';
import { aFile, aPNG } from '../../support/route-fixtures.ts';
import { eventually } from '../../support/settle.ts';

let folder: string;
let cluster: Cluster;
let tenant: TestTenant;
let api: Client;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gantry-files-'));
  cluster = await startCluster({ workers: false, settings: { FILES_DIR: folder } });
  tenant = await aTenant(cluster);
  api = cluster.as(tenant.creator).in(tenant);
});
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const upload = (bytes: Buffer | string, name = 'a.png', who = api) =>
  who.post('T/widgets/upload', aFile(Buffer.from(bytes), { name }));

async function fetchFile(url: string): Promise<Response> {
  const authorization = `Bearer ${await cluster.tokenFor(tenant.creator)}`;
  return fetch(cluster.baseURL + url, { headers: { authorization } });
}

/** The files of this tenant on the disk. */
const onDisk = (of = tenant) => readdir(join(folder, of.id)).catch(() => []);

test('an image is kept in the folder, and shown in place by a browser that runs nothing in it', async () => {
  const { status, body } = await upload(aPNG(), '../../Größe 1.png');
  const answer = await fetchFile(body.url);

  expect(status).toBe(201);
  expect(body).toMatchObject({ fileName: 'Größe 1.png', fileType: 'image/png', fileSize: aPNG().length });
  expect(body.filePath).toMatch(new RegExp(`^widget-files/${tenant.id}/[\\da-f-]{36}$`));
  expect(await onDisk()).toContain(body.filePath.split('/')[2]);
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(aPNG());
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'image/png',
    'content-disposition': `inline; filename="file"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%201.png`,
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, no-store',
  });
});

test.each([
  ['a PDF', Buffer.from('%PDF-1.7 …')],
  ['an archive', Buffer.from('PK\x03\x04 anything', 'latin1')],
  ['a text', Buffer.from('a < b, and alert(1)')],
])('%s is sent to be saved', async (_what, bytes) => {
  const { body } = await upload(bytes);
  const answer = await fetchFile(body.url);

  expect(answer.headers.get('content-disposition')).toMatch(/^attachment; /);
  expect(answer.headers.get('content-type')).toBe('application/octet-stream');
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(bytes);
});

test.each([
  ['HTML', '<!DOCTYPE html><script>alert(1)</script>'],
  ['HTML without a head', 'text <img src=x onerror=alert(1)>'],
  ['SVG', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'],
  ['SVG in XML', '<?xml version="1.0"?><x/>'],
  ['a program', '\x7fELF\x02\x01\x01\0'],
])('%s is refused under the name of an image', async (_what, text) => {
  expect(await upload(text, 'a.png')).toMatchObject({
    status: 400,
    body: { error: { code: 'VALIDATION_ERROR', message: expect.stringMatching(/^file: must be an image/) } },
  });
});

test('a page behind the bytes of an image is sent as that image', async () => {
  const { body } = await upload(Buffer.concat([aPNG(), Buffer.from('<html><script>alert(1)</script>')]), 'a.html');
  const answer = await fetchFile(body.url);

  expect(answer.headers.get('content-type')).toBe('image/png');
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
});

test('a larger file, no file and two files are refused, and nothing is stored', async () => {
  const before = await onDisk();
  const large = await upload(Buffer.concat([aPNG(), Buffer.alloc(10 * 1024 ** 2)]));
  const none = await api.post('T/widgets/upload', aFile(aPNG(), { field: 'other' }));

  expect([large.status, none.status]).toEqual([413, 400]);
  expect(none.body.error.message).toContain('file: is required');
  expect(await onDisk()).toEqual(before);
});

describe('a path', () => {
  test('leads nowhere else', async () => {
    const { body } = await upload(aPNG());
    const id = body.filePath.split('/')[2];
    const table = await api.post('T/datasources/upload', aFile(Buffer.from('a\n1\n'), { name: 'a.csv' }));
    const wrong = [
      '../../etc/passwd',
      `widget-files/${tenant.id}/../${id}`,
      `widget-files/${tenant.id}/${id}/..`,
      `widget-files/${tenant.id}/${id}%00`,
      `/widget-files/${tenant.id}/${id}`,
      'widget-files',
      '',
    ];

    for (const path of wrong)
      expect(await api.get(`T/widgets/files?path=${encodeURIComponent(path)}`), path).toMatchObject({
        status: 400,
        body: { error: { details: { issues: [{ path: ['path'] }] } } },
      });
    for (const path of [`widget-files/${tenant.id}/${newID()}`, `widget-files/${tenant.id}/${table.body.fileID}`])
      expect((await api.get(`T/widgets/files?path=${path}`)).status, path).toBe(404);
    expect((await api.get(`T/datasources/files/${id}`)).status).toBe(404);
    expect((await api.get('T/datasources/files')).body.files.map(({ fileID }: { fileID: string }) => fileID)).toEqual([
      table.body.fileID,
    ]);
    expect((await api.delete(`T/datasources/files/${id}`)).status).toBe(404);
  });

  test('of another tenant is not found there, and not from here', async () => {
    const { body } = await upload(aPNG());
    const id = body.filePath.split('/')[2];
    const other = await aTenant(cluster);
    const they = cluster.as(other.creator).in(other);

    for (const path of [body.filePath, `widget-files/${other.id}/${id}`])
      expect((await they.get(`T/widgets/files?path=${path}`)).status).toBe(404);
    expect((await they.get(body.url)).status).toBe(403);
  });

  test('is open to a member who may execute one widget, and to no other', async () => {
    const { body } = await upload(aPNG());
    const { id } = await aWidget(cluster, { tenant });
    const rule = { object: `widget:${id}`, action: 'execute' };
    const viewer = await aMember(cluster, { tenant, rules: [rule] });
    const other = await aMember(cluster, { tenant, can: ['workflow.read', 'widget.read'] });
    const statusFor = async (who: { email: string }) =>
      (await fetch(cluster.baseURL + body.url, { headers: { authorization: `Bearer ${await cluster.tokenFor(who)}` } }))
        .status;

    expect([await statusFor(viewer), await statusFor(other)]).toEqual([200, 403]);
    expect((await upload(aPNG(), 'a.png', cluster.as(viewer).in(tenant))).status).toBe(403);
  });
});

test('a connection that ends in the middle of an upload leaves nothing', async () => {
  const own = await aTenant(cluster);
  const token = await cluster.tokenFor(own.creator);
  const { port } = new URL(cluster.baseURL);
  const socket = connect(Number(port), '127.0.0.1');
  const head = [
    `POST /api/v1/tenants/${own.id}/widgets/upload HTTP/1.1`,
    'Host: localhost',
    `Authorization: Bearer ${token}`,
    'Content-Type: multipart/form-data; boundary=b',
    'Content-Length: 1000000',
  ];
  const part = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n';
  await new Promise((resolve) =>
    socket.write(`${head.join('\r\n')}\r\n\r\n${part}${aPNG().toString('latin1')}`, resolve),
  );
  socket.destroy();

  await eventually(async () => {
    const { rows } = await cluster.pool.query(
      'select (select count(*) from tenant_file where tenant_id = $1)::int as files, (select count(*) from file_garbage where key like $2)::int as begun',
      [own.id, `${own.id}/%`],
    );
    expect(rows).toEqual([{ files: 0, begun: 0 }]);
  });
  expect(await onDisk(own)).toEqual([]);
});
