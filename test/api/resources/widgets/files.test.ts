import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { Client } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aMember, aTenant, aWidget, type TestTenant } from '../../../support/factories.ts';
import { aFile, aPNG } from '../../../support/route-fixtures.ts';
import { eventually } from '../../../support/settle.ts';

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

async function fetchFile(url: string, headers: Record<string, string> = {}): Promise<Response> {
  const authorization = `Bearer ${await cluster.tokenFor(tenant.creator)}`;
  return fetch(cluster.baseURL + url, { headers: { authorization, ...headers } });
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

describe('a range', () => {
  const video = Buffer.concat([Buffer.from('\0\0\0\x18ftypmp42', 'latin1'), Buffer.from('0123456789'.repeat(10))]);
  const size = video.length;

  test.each([
    ['from the middle', 'bytes=12-21', [12, 21]],
    ['to the end', `bytes=${size - 3}-`, [size - 3, size - 1]],
    ['of the last bytes', 'bytes=-5', [size - 5, size - 1]],
    ['beyond the end', 'bytes=100-9999', [100, size - 1]],
    ['of two neighbours', 'bytes=0-3,4-9', [0, 9]],
  ])('%s is sent alone', async (_what, range, [start = 0, end = 0]) => {
    const { body } = await upload(video, 'a.mp4');
    const answer = await fetchFile(body.url, { range });

    expect(answer.status).toBe(206);
    expect(answer.headers.get('content-range')).toBe(`bytes ${start}-${end}/${size}`);
    expect(answer.headers.get('content-type')).toBe('video/mp4');
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(video.subarray(start, end + 1));
  });

  test('that is malformed, one of several, or of another version is answered with the whole file', async () => {
    const { body } = await upload(video, 'a.mp4');
    const whole = await fetchFile(body.url);
    const etag = whole.headers.get('etag') ?? '';
    const asked: Record<string, string>[] = [
      { range: 'bytes=a-b' },
      { range: 'items=0-1' },
      { range: 'bytes=0-1,50-51' },
      { range: 'bytes=0-1', 'if-range': '"another"' },
    ];

    expect(whole.headers.get('accept-ranges')).toBe('bytes');
    for (const headers of asked) {
      const answer = await fetchFile(body.url, headers);
      expect([answer.status, Buffer.from(await answer.arrayBuffer())], JSON.stringify(headers)).toEqual([200, video]);
    }
    expect((await fetchFile(body.url, { range: 'bytes=0-1', 'if-range': etag })).status).toBe(206);
  });

  test('outside of the file is refused with its size', async () => {
    const { body } = await upload(video, 'a.mp4');
    const answer = await fetchFile(body.url, { range: 'bytes=5000-' });

    expect([answer.status, answer.headers.get('content-range')]).toEqual([416, `bytes */${size}`]);
    expect(await answer.json()).toMatchObject({ success: false, error: { code: 'INVALID_REQUEST' } });
  });
});

describe('files of a tenant', () => {
  test('are listed, newest first, without those of datasources', async () => {
    const own = await aTenant(cluster);
    const who = cluster.as(own.creator).in(own);
    const [first, second] = [await upload('one', 'one.txt', who), await upload('two', 'two.txt', who)];
    await who.post('T/datasources/upload', aFile(Buffer.from('a\n1\n'), { name: 'a.csv' }));
    await who.post('T/upload-logo', aFile());

    const { body } = await who.get('T/widgets/uploads');

    const { success, message, ...newest } = second.body;
    expect(body).toMatchObject({ files: [newest, { fileID: first.body.fileID }], totalCount: 2 });
    expect(
      (
        await cluster
          .as(await aMember(cluster, { tenant: own }))
          .in(own)
          .get('T/widgets/uploads')
      ).status,
    ).toBe(403);
  });

  test('in use are deleted only by force, and the answer names the users that the caller may read', async () => {
    const { body: file } = await upload(aPNG());
    const used = await aWidget(cluster, { tenant, config: { properties: { src: file.url.toUpperCase() } } });
    await aWidget(cluster, { tenant, config: { properties: { src: 'elsewhere' } } });
    const config = { appPageTitle: 'Page', appPageConfig: { background: file.filePath } };
    const { appPage } = (await api.post('T/app-pages', config)).body;
    const path = `T/widgets/uploads/${file.fileID}`;
    const cleaner = cluster.as(await aMember(cluster, { tenant, can: ['widget.delete'] })).in(tenant);

    expect(await api.delete(path)).toMatchObject({
      status: 409,
      body: {
        error: {
          code: 'CONFLICT',
          message: '2 assets use this file; force=true deletes it all the same',
          details: {
            widgets: [{ widgetID: used.id }],
            appPages: [{ appPageID: appPage.id, appPageTitle: 'Page' }],
            dashboards: [],
            others: { widgets: 0, appPages: 0, dashboards: 0 },
          },
        },
      },
    });
    expect((await cleaner.delete(path)).body.error.details).toMatchObject({
      ...{ widgets: [], appPages: [], others: { widgets: 1, appPages: 1, dashboards: 0 } },
    });
    expect((await fetchFile(file.url)).status).toBe(200);
    expect((await cleaner.delete(`${path}?force=true`)).status).toBe(200);
    expect((await fetchFile(file.url)).status).toBe(404);
    await cluster.context.files.collectGarbage();
    expect(await onDisk()).not.toContain(file.fileID);
  });

  test('of another tenant, of datasources and logos are not deleted', async () => {
    const own = await aTenant(cluster);
    const who = cluster.as(own.creator).in(own);
    const { body } = await upload(aPNG(), 'a.png', who);
    const table = await who.post('T/datasources/upload', aFile(Buffer.from('a\n1\n'), { name: 'a.csv' }));
    const logo = await who.post('T/upload-logo', aFile());
    const other = await aTenant(cluster);
    const viewer = await aMember(cluster, { tenant: own, can: ['widget.execute', 'widget.list'] });

    expect((await cluster.as(other.creator).in(other).delete(`T/widgets/uploads/${body.fileID}`)).status).toBe(404);
    expect((await cluster.as(viewer).in(own).delete(`T/widgets/uploads/${body.fileID}`)).status).toBe(403);
    for (const id of [table.body.fileID, logo.body.url.split('/').at(-1)])
      expect((await who.delete(`T/widgets/uploads/${id}?force=true`)).status).toBe(404);
  });
});

test('the logo of a tenant is in the same store, and gone from it with the next', async () => {
  const own = await aTenant(cluster);
  const who = cluster.as(own.creator).in(own);
  const ids = [await who.post('T/upload-logo', aFile()), await who.post('T/upload-logo', aFile())].map(({ body }) =>
    body.url.split('/').at(-1),
  );
  const { body } = await who.get('T/');

  expect(body.tenant.tenantLogoURL).toContain(ids[1]);
  expect((await fetch(cluster.baseURL + body.tenant.tenantLogoURL)).status).toBe(200);
  await cluster.context.files.collectGarbage();
  expect(await onDisk(own)).toEqual([ids[1]]);
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
