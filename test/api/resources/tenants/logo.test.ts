import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { deleteTenant } from '#shared/tenants/delete-tenant.ts';
import { type Answer, lenient } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aMember, aTenant, type TestTenant } from '../../../support/factories.ts';
import { aFile, aPNG } from '../../../support/route-fixtures.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const MB = 1024 * 1024;
const images: [type: string, head: Buffer][] = [
  ['image/png', aPNG()],
  ['image/jpeg', Buffer.from('ffd8ffe000104a46494600010100000100010000ffc0000b080010002001011100', 'hex')],
  ['image/gif', Buffer.from('GIF89a\x01\x00\x01\x00', 'latin1')],
  [
    'image/webp',
    Buffer.from('RIFF\x24\x00\x00\x00WEBPVP8 \x18\x00\x00\x00\x30\x01\x00\x9d\x01\x2a\x10\x00\x10\x00', 'latin1'),
  ],
];

function withPNGSize(width: number, height: number): Buffer {
  const bytes = Buffer.from(aPNG());
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes;
}

async function upload(form: unknown, where = tenant): Promise<Answer> {
  return cluster.as(where.creator).in(where).post('T/upload-logo', form);
}

async function download(url: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(cluster.baseURL + url, { headers });
}

describe('a logo', () => {
  beforeAll(async () => {
    tenant = await aTenant(cluster);
  });

  test.each(images)('of %s is stored, and served to every client with its own type', async (type, head) => {
    const bytes = Buffer.concat([head, Buffer.alloc(1000, 7)]);

    const { status, body } = await upload(aFile(bytes, { name: '../../my logo.exe' }));
    const read = await cluster.as(tenant.creator).in(tenant).get('T/');
    const image = await download(body.url);

    expect(status).toBe(200);
    expect(body).toEqual({
      success: true,
      url: expect.stringMatching(/^\/api\/v1\/tenant-logos\/[0-9a-f-]{36}$/),
      filePath: expect.stringMatching(/^tenant-logos\/[0-9a-f-]{36}$/),
      fileName: 'my logo.exe',
      tenantLogoURL: body.url,
    });
    expect(read.body.tenant.tenantLogoURL).toBe(body.url);
    expect(Buffer.from(await image.arrayBuffer())).toEqual(bytes);
    expect(Object.fromEntries(image.headers)).toMatchObject({
      'content-type': type,
      'x-content-type-options': 'nosniff',
      'cache-control': 'public, max-age=86400',
      'cross-origin-resource-policy': 'cross-origin',
      'content-security-policy': "default-src 'none'; sandbox",
      etag: expect.stringMatching(/^"[\w-]{43}"$/),
    });
  });

  test('names other parts of the form as unknown', async () => {
    const form = () => {
      const parts = aFile();
      parts.append('zz', '1');
      return parts;
    };
    const send = (headers: Record<string, string>) =>
      cluster.as(tenant.creator).in(tenant).post('T/upload-logo', form(), headers);

    expect((await send(lenient)).body.unknownFields).toEqual([{ path: ['zz'], message: 'not known here' }]);
    expect(await send({})).toMatchObject({ status: 400, body: { error: { message: 'zz: not known here' } } });
  });

  test('is not sent again to a client that has it cached', async () => {
    const { body } = await upload(aFile());
    const etag = (await download(body.url)).headers.get('etag') ?? '';

    const again = await download(body.url, { 'if-none-match': etag, 'cache-control': 'max-age=0' });
    const other = await download(body.url, { 'if-none-match': '"other"', 'cache-control': 'max-age=0' });

    expect([again.status, await again.text()]).toEqual([304, '']);
    expect(other.status).toBe(200);
  });

  test('is deleted when another replaces it', async () => {
    const first = (await upload(aFile())).body.url;
    const second = (await upload(aFile(Buffer.concat([aPNG(), Buffer.from('more')])))).body.url;

    expect(second).not.toBe(first);
    expect((await download(first)).status).toBe(404);
    expect((await download(second)).status).toBe(200);
    const { rows } = await cluster.context.pool.query(
      "select from tenant_file where tenant_id = $1 and purpose = 'logo'",
      [tenant.id],
    );
    expect(rows).toHaveLength(1);
  });

  test('of an earlier version is served, and deleted when another replaces it', async () => {
    const own = await aTenant(cluster);
    const id = newID();
    await cluster.pool.query(
      "insert into tenant_logo (tenant_id, id, content_type, digest, bytes, created_at) values ($1, $2, 'image/png', 'abc', $3, now())",
      [own.id, id, aPNG()],
    );
    const url = `/api/v1/tenant-logos/${id}`;
    const image = await download(url);

    expect(Buffer.from(await image.arrayBuffer())).toEqual(aPNG());
    expect(image.headers.get('etag')).toBe('"abc"');
    expect((await upload(aFile(), own)).status).toBe(200);
    expect((await download(url)).status).toBe(404);
  });

  test('replaces the one before in a tenant whose files have no more room', async () => {
    const own = await aTenant(cluster);
    await cluster.pool.query("insert into quota (owner_id, name, max) values ($1, 'files', 1)", [own.id]);

    const answers = [await upload(aFile(), own), await upload(aFile(), own)];

    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const other = aFile(Buffer.from('a\n1\n'), { name: 'a.csv' });
    expect((await cluster.as(own.creator).in(own).post('T/datasources/upload', other)).status).toBe(429);
  });

  test('is one of several concurrent uploads, and the tenant names that one', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => upload(aFile())));

    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const { tenantLogoURL } = (await cluster.as(tenant.creator).in(tenant).get('T/')).body.tenant;
    expect((await download(tenantLogoURL)).status).toBe(200);
    expect(answers.map(({ body }) => body.url)).toContain(tenantLogoURL);
  });

  test.each([
    ['no pixels', withPNGSize(0, 1)],
    ['too many pixels', withPNGSize(8193, 1)],
    ['nothing after its first bytes', aPNG().subarray(0, 16)],
    ['no frame', Buffer.from('ffd8ffe000104a464946', 'hex')],
  ])('with %s is refused, and the field is named', async (_what, bytes) => {
    expect(await upload(aFile(bytes))).toMatchObject({
      status: 400,
      body: { error: { code: 'VALIDATION_ERROR', message: expect.stringContaining('file: ') } },
    });
    expect((await upload(aFile(withPNGSize(8192, 8192)))).status).toBe(200);
  });

  test('can be sent back in an update, be an external URL or be cleared, and nothing else', async () => {
    const { url } = (await upload(aFile())).body;
    const api = cluster.as(tenant.creator).in(tenant);

    expect((await api.patch('T/', { tenantLogoURL: url, tenantTitle: 'Both' })).body.tenant).toMatchObject({
      tenantLogoURL: url,
      tenantTitle: 'Both',
    });
    for (const tenantLogoURL of [
      'http://elsewhere.example/x.png',
      'javascript:alert(1)',
      `/api/v1/tenant-logos/${newID()}`,
      '',
    ])
      expect(await api.patch('T/', { tenantLogoURL })).toMatchObject({
        status: 400,
        body: { error: { code: 'VALIDATION_ERROR', message: expect.stringContaining('tenantLogoURL') } },
      });
    const elsewhere = 'https://elsewhere.example/x.png';
    expect((await api.patch('T/', { tenantLogoURL: elsewhere })).body.tenant.tenantLogoURL).toBe(elsewhere);
    expect((await download(url)).status).toBe(404);
    expect((await api.patch('T/', { tenantLogoURL: null })).body.tenant.tenantLogoURL).toBeNull();
  });

  test('is deleted with its tenant', async () => {
    const own = await aTenant(cluster);
    const { url } = (await upload(aFile(), own)).body;

    await deleteTenant(cluster.context.pool, cluster.context.runs, own.id);

    expect((await download(url)).status).toBe(404);
  });

  test('needs tenant.update on this tenant', async () => {
    const reader = await aMember(cluster, { tenant, can: ['tenant.read'] });
    const updater = await aMember(cluster, {
      tenant,
      rules: [{ object: `tenant:${tenant.id}`, action: 'update' }],
    });

    expect((await cluster.as(reader).in(tenant).post('T/upload-logo', aFile())).status).toBe(403);
    expect((await cluster.as(updater).in(tenant).post('T/upload-logo', aFile())).status).toBe(200);
  });
});

describe('an upload is refused', () => {
  beforeAll(async () => {
    tenant = await aTenant(cluster);
  });

  test.each([
    ['an SVG, which can carry scripts', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>')],
    ['HTML that is called an image', Buffer.from('<html><script>alert(1)</script></html>')],
    ['text', Buffer.from('PNG')],
    ['half a signature', aPNG().subarray(0, 6)],
    ['RIFF that is no WebP', Buffer.from('RIFF\x24\x00\x00\x00WAVEfmt ', 'latin1')],
  ])('%s', async (_what, bytes) => {
    expect(await upload(aFile(bytes, { name: 'logo.png' }))).toMatchObject({
      status: 400,
      body: { error: { code: 'VALIDATION_ERROR', message: expect.stringContaining('PNG, JPEG, GIF or WebP') } },
    });
  });

  test('above 10 MB, but not at exactly 10 MB', async () => {
    const image = (size: number) => Buffer.concat([aPNG(), Buffer.alloc(size - aPNG().length)]);

    expect((await upload(aFile(image(10 * MB)))).status).toBe(200);
    for (const size of [10 * MB + 1, 12 * MB, 40 * MB])
      expect(await upload(aFile(image(size)))).toMatchObject({
        status: 413,
        body: { success: false, error: { code: 'PAYLOAD_TOO_LARGE', message: expect.stringContaining('10 MB') } },
      });
  });

  test('without a file, with another field name, with two files, with an empty one', async () => {
    const two = aFile();
    two.append('file', new Blob([new Uint8Array(aPNG())]), 'b.png');
    const none = new FormData();
    none.append('file', 'text');

    for (const form of [two, none, new FormData(), aFile(aPNG(), { field: 'logo' }), aFile(Buffer.alloc(0))])
      expect(await upload(form)).toMatchObject({
        status: 400,
        body: {
          error: {
            code: expect.stringMatching(/VALIDATION_ERROR|INVALID_REQUEST/),
            message: expect.stringContaining('file'),
          },
        },
      });
  });

  test('when it is not multipart, or is malformed', async () => {
    const api = cluster.as(tenant.creator).in(tenant);
    const boundary = { 'content-type': 'multipart/form-data; boundary=x' };
    const part = (name: string) => `--x\r\ncontent-disposition: form-data; name="${name}"; filename="a"\r\n\r\nabc`;
    const whole = (bytes: string) => `${part('file').replace('abc', bytes)}\r\n--x--\r\n`;
    const endsEarly = 'The body is not valid multipart/form-data: it ends too early';
    const broken: [string, Record<string, string>, string][] = [
      [
        '{}',
        { 'content-type': 'application/json' },
        'Content-Type: expected multipart/form-data with a file named "file", received "application/json"',
      ],
      ['--x\r\n', boundary, endsEarly],
      [part('file'), boundary, endsEarly],
      [part('other'), boundary, 'file: is required, as the one file of multipart/form-data'],
      [whole(''), boundary, 'file: expected a file with content, received an empty one'],
      ['--x--\r\n', boundary, 'file: is required, as the one file of multipart/form-data'],
      ['abc', { 'content-type': 'multipart/form-data' }, 'Content-Type: expected multipart/form-data with a boundary'],
      ['', boundary, endsEarly],
    ];

    for (const [body, headers, message] of broken)
      expect(await api.post('T/upload-logo', body, headers)).toMatchObject({
        status: 400,
        body: { error: { code: expect.stringMatching(/INVALID_REQUEST|VALIDATION_ERROR/), message } },
      });
  });

  test('a client that disconnects during the upload leaves nothing behind', async () => {
    const token = await cluster.tokenFor(tenant.creator);
    const client = new AbortController();
    const endless = new ReadableStream({
      start(controller) {
        controller.enqueue(Buffer.from('--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nabc'));
        setTimeout(() => client.abort(), 50);
      },
    });

    await expect(
      fetch(`${cluster.baseURL}/api/v1/tenants/${tenant.id}/upload-logo`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'multipart/form-data; boundary=x' },
        body: endless,
        duplex: 'half',
        signal: client.signal,
      } as RequestInit),
    ).rejects.toThrow();
    expect((await upload(aFile())).status).toBe(200);
  });
});
