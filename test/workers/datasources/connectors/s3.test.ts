import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { AwsClient } from 'aws4fetch';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { s3 } from '#shared/datasources/types/s3.ts';
import { openDatasource } from '#test/support/connector.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { startTCP } from '#test/support/tcp.ts';
import { startTLSFront } from '#test/support/tls-front.ts';
import { createOutbound } from '#workers/outbound/gate.ts';
import { type EmbeddedS3, findS3, startS3 } from '../../../servers/s3.ts';

const found = await findS3();
if (found.path === null) process.stderr.write(`The tests of s3 against a server are skipped: ${found.reason}\n`);

const keys = { accessKeyId: 'key', secretAccessKey: 'right-secret', bucket: 'files' };

describe.skipIf(found.path === null)('s3', () => {
  let dir: string;
  let server: EmbeddedS3;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'gantry-s3-'));
    server = await startS3({ dir });
    for (const bucket of ['files', 'other', 'many']) await makeBucket(bucket);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true });
  });

  async function makeBucket(name: string): Promise<void> {
    const owner = new AwsClient({ ...server, service: 's3', region: 'us-east-1' });
    const { status } = await owner.fetch(`http://127.0.0.1:${server.port}/${name}`, { method: 'PUT' });
    expect(status).toBe(200);
  }

  const open = (changes: object = {}, more = {}) => {
    const { accessKeyId, secretAccessKey, port } = server;
    const endpoint = `http://127.0.0.1:${port}`;
    return openDatasource(s3, { accessKeyId, secretAccessKey, endpoint, bucket: 'files', ...changes }, more);
  };

  test.each<[string, JsonObject, JsonObject, unknown]>([
    ['text', { body: 'Grüße, 世界 🎉\n' }, { responseType: 'text' }, 'Grüße, 世界 🎉\n'],
    ['nothing', { body: '' }, { responseType: 'text' }, ''],
    ['bytes', { body: '/wABgA==', encoding: 'base64' }, { responseType: 'base64' }, '/wABgA=='],
    ['no bytes', { body: '', encoding: 'base64' }, { responseType: 'base64' }, ''],
    ['JSON', { body: { a: [1, null, 'x'], b: 1.5 } }, { responseType: 'json' }, { a: [1, null, 'x'], b: 1.5 }],
    ['a large number', { body: '{"n":9007199254740993}' }, { responseType: 'json' }, { n: '9007199254740993' }],
  ])('%s is read as it was written', async (_name, put, get, value) => {
    await using datasource = await open();
    const key = 'a value';
    await datasource.execute({ operation: 'putObject', key, ...put });

    expect(await datasource.execute({ operation: 'getObject', key, ...get })).toEqual({ data: value });
  });

  test('five million bytes are written and read', async () => {
    await using datasource = await open();
    const body = randomBytes(5_000_000).toString('base64');
    const put = { operation: 'putObject', key: 'large', body: '{{inputs.body}}', encoding: 'base64' };

    expect((await datasource.execute(put, { body })).data).toMatchObject({ size: 5_000_000 });

    const { data } = await datasource.execute({ operation: 'getObject', key: 'large', responseType: 'base64' });
    expect(data === body).toBe(true);
  });

  test.each([
    'a/b/c.txt',
    'with blank + plus',
    'a?b=c&d#e',
    '100%',
    '%2e%2e/%2F',
    "it's (a) *key*!",
    'ünï/日本/🎉',
    'double//slash',
    '/leading and trailing/',
    '..a/...',
    '<xml>&amp;',
    'back\\slash',
    'tab\there',
  ])('%j is one key, and is listed as such', async (key) => {
    await using datasource = await open();
    const inputs = { key };
    const object = { key: '{{inputs.key}}' };
    await datasource.execute({ operation: 'putObject', ...object, body: key }, inputs);

    expect((await datasource.execute({ operation: 'getObject', ...object }, inputs)).data).toBe(key);
    expect((await datasource.execute({ operation: 'headObject', ...object }, inputs)).data).toMatchObject({ key });
    const listed = await datasource.execute({ operation: 'listObjects', prefix: '{{inputs.key}}' }, inputs);
    expect(listed.data).toMatchObject([{ key, size: Buffer.byteLength(key) }]);
    await datasource.execute({ operation: 'deleteObject', ...object }, inputs);
    expect((await datasource.execute({ operation: 'listObjects', prefix: '{{inputs.key}}' }, inputs)).data).toEqual([]);
  });

  test.each(['..', '../other/x', 'a/../../other/x', './x', 'a/.', '\ud800'])(
    '%j cannot lead to another object',
    async (key) => {
      await using datasource = await open();
      for (const operation of ['getObject', 'putObject', 'deleteObject', 'headObject'])
        await expect(datasource.execute({ operation, key: '{{inputs.key}}' }, { key })).rejects.toMatchObject({
          code: 'VALIDATION_ERROR',
          message: /^key: /,
        });
    },
  );

  test.each(['../files', 'a/b', '..', 'a?b', 'a b', 'ä'])('%j is not a bucket', async (bucket) => {
    await using datasource = await open();
    const query = { operation: 'listObjects', bucket: '{{inputs.bucket}}' };
    await expect(async () => await datasource.execute(query, { bucket })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      message: /bucket/,
    });
    await expect(datasource.connection.browse?.([bucket], AbortSignal.timeout(5_000))).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });

  test('an object has its metadata', async () => {
    await using datasource = await open();
    await datasource.execute({ operation: 'putObject', key: 'typed', body: 'a,b', contentType: 'text/csv' });

    expect((await datasource.execute({ operation: 'headObject', key: 'typed' })).data).toMatchObject({
      key: 'typed',
      size: 3,
      contentType: expect.stringContaining('text/csv'),
      eTag: expect.stringMatching(/^[0-9a-f]{32}$/),
      lastModified: expect.stringContaining('GMT'),
    });
  });

  test('a missing object, one too large and one that is no text have different errors', async () => {
    await using datasource = await open();
    await expect(datasource.execute({ operation: 'getObject', key: 'none' })).rejects.toMatchObject({
      code: 'UPSTREAM_FAILED',
      retry: false,
      details: { status: 404, code: 'NoSuchKey' },
    });
    await expect(datasource.execute({ operation: 'headObject', key: 'none' })).rejects.toMatchObject({
      details: { status: 404 },
    });
    await expect(datasource.execute({ operation: 'listObjects', bucket: 'none' })).rejects.toMatchObject({
      details: { status: 404, code: 'NoSuchBucket' },
    });
    const body = Buffer.alloc(10_000_001).toString('base64');
    await datasource.execute({ operation: 'putObject', key: 'huge', body, encoding: 'base64' });
    await expect(datasource.execute({ operation: 'getObject', key: 'huge' })).rejects.toMatchObject({
      message: /more than 10 MB/,
      details: { reason: 'too-large' },
    });
    await datasource.execute({ operation: 'putObject', key: 'bytes', body: '/w==', encoding: 'base64' });
    await expect(datasource.execute({ operation: 'getObject', key: 'bytes' })).rejects.toMatchObject({
      code: 'DB_ERROR',
      message: /base64/,
      details: { issues: [{ path: ['responseType'] }] },
    });
    await expect(
      datasource.execute({ operation: 'putObject', key: 'b', body: '?', encoding: 'base64' }),
    ).rejects.toThrow(/^body: /);
    await datasource.execute({ operation: 'deleteObject', key: 'huge' });
  });

  test('a list of 2,500 objects is read page by page, up to the requested number', async () => {
    await using datasource = await open({ bucket: 'many' });
    const names = Array.from({ length: 2_500 }, (_, index) => `n/${String(index).padStart(4, '0')}`);
    await server.fill('many', names);
    const list = (query: JsonObject, run = {}) => datasource.execute({ operation: 'listObjects', ...query }, {}, run);
    const keysOf = ({ data }: { data: unknown }) => (data as { key: string }[]).map(({ key }) => key);

    const all = await list({}, { maxRows: 10_000 });
    expect(keysOf(all)).toEqual(names);
    expect(all).toMatchObject({ rowCount: 2_500, truncated: false });
    const some = await list({}, { maxRows: 1_500 });
    expect(keysOf(some)).toEqual(names.slice(0, 1_500));
    expect(some.truncated).toBe(true);
    const few = await list({ maxKeys: 3, startAfter: 'n/0009', prefix: 'n/' });
    expect(keysOf(few)).toEqual(['n/0010', 'n/0011', 'n/0012']);
    const streamed: unknown[] = [];
    const result = await list({}, { maxRows: 10_000, onRows: async (rows: unknown[]) => void streamed.push(...rows) });
    expect(result).toEqual({ data: [], rowCount: 2_500, truncated: false });
    expect(keysOf({ data: streamed })).toEqual(names);
  });

  test('buckets, folders and objects can be browsed', async () => {
    await using datasource = await open({ bucket: '' });
    for (const key of ['a/b/c', 'a/d', 'e', 'f%20/ü/x'])
      await datasource.execute({ operation: 'putObject', bucket: 'other', key, body: 'x' });
    const browse = async (...path: string[]) => {
      const items = await datasource.connection.browse?.(path, AbortSignal.timeout(10_000));
      return items?.map(({ name, kind }) => `${kind} ${name}`);
    };

    expect(await browse()).toEqual(expect.arrayContaining(['bucket files', 'bucket other']));
    expect(await browse('other')).toEqual(['folder a', 'folder f%20', 'object e']);
    expect(await browse('other', 'a')).toEqual(['folder b', 'object d']);
    expect(await browse('other', 'f%20', 'ü')).toEqual(['object x']);
    await expect(browse('none')).rejects.toMatchObject({ details: { code: 'NoSuchBucket' } });
    await using one = await open();
    expect(await one.connection.browse?.([], AbortSignal.timeout(10_000))).toMatchObject([{ name: 'files' }]);
    await expect(datasource.execute({ operation: 'listObjects' })).rejects.toMatchObject({ message: /^bucket: / });
  });

  test('a wrong secret, host and certificate have different errors, without the secret', async () => {
    await using silent = await startTCP();
    await using front = await startTLSFront(server.port);
    for (const bucket of ['', 'files']) {
      await using right = await open({ bucket });
      await right.test();
    }

    const wrong: [object, object][] = [
      [{ secretAccessKey: 'wrong-secret' }, { reason: 'authentication' }],
      [{ secretAccessKey: 'wrong-secret', bucket: '' }, { reason: 'authentication' }],
      [{ accessKeyId: 'tests:nobody', secretAccessKey: 'wrong-secret' }, { reason: 'authentication' }],
      [{ region: 'eu-west-1' }, { code: 'AuthorizationHeaderMalformed' }],
      [{ bucket: 'none', secretAccessKey: server.secretAccessKey }, { code: 'NoSuchBucket' }],
      [{ endpoint: `http://127.0.0.1:${await freePort()}` }, { reason: 'unreachable' }],
      [{ endpoint: 'http://nowhere.invalid' }, { reason: 'unreachable' }],
      [{ endpoint: `https://localhost:${front.port}` }, { reason: 'tls' }],
    ];
    for (const [changes, details] of wrong) {
      await using datasource = await open(changes);
      const error = await datasource.test().catch((failure: unknown) => failure);
      expect(error, JSON.stringify(changes)).toMatchObject({ code: 'UPSTREAM_FAILED', details });
      expect(inspect(error, { depth: 9 })).not.toMatch(/(?:wrong|right)-secret/);
    }
    await using waiting = await open({ endpoint: `http://127.0.0.1:${silent.port}` });
    await expect(waiting.connection.test(AbortSignal.timeout(200))).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  test('many concurrent requests are answered, also after the server was killed', { timeout: 120_000 }, async () => {
    await using datasource = await open();
    const query = { operation: 'putObject', key: 'kept', body: 'still here' };
    await Promise.all(Array.from({ length: 20 }, () => datasource.execute(query)));
    const under = datasource.execute({ operation: 'listObjects' }).catch(() => undefined);
    await server.kill9();
    await under;

    await expect(datasource.execute(query)).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', retry: true });

    await server.restart();
    expect((await datasource.execute({ operation: 'getObject', key: 'kept' })).data).toBe('still here');
  });

  test('an address that is not allowed is not connected to', async () => {
    await using datasource = await open({}, { outbound: createOutbound({ allow: [] }) });

    await expect(datasource.test()).rejects.toMatchObject({ details: { reason: 'not-allowed' } });
  });
});

describe('a malicious server', () => {
  const bomb = `<!DOCTYPE a [<!ENTITY a "${'x'.repeat(1_000)}">${Array.from(
    { length: 9 },
    (_, n) => `<!ENTITY ${'abcdefghij'[n + 1]} "${`&${'abcdefghij'[n]};`.repeat(10)}">`,
  ).join('')}]>`;

  test.each([
    ['entities that grow', `${bomb}<ListBucketResult><Contents><Key>&j;</Key></Contents></ListBucketResult>`],
    [
      'a file of ours',
      '<!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd">]><ListBucketResult>&f;</ListBucketResult>',
    ],
    ['very deep elements', '<a>'.repeat(1_000_000)],
    ['no XML', '{"a":1}'],
    ['half of it', '<ListBucketResult><Contents><Key>a'],
    ['something else', '<html><body>hello</body></html>'],
    ['nothing', ''],
    [
      'a key that decodes to nothing',
      '<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%ff</Key></Contents></ListBucketResult>',
    ],
  ])('may answer a list with %s', async (_name, body) => {
    await using server = await startHTTP((_request, response) => void response.end(body));
    await using datasource = await openDatasource(s3, { ...keys, endpoint: server.origin });

    await expect(datasource.execute({ operation: 'listObjects' })).rejects.toMatchObject({
      code: 'UPSTREAM_FAILED',
      retry: false,
    });
  });

  test('may send a list without end', async () => {
    let page = 0;
    const list = (token: string) =>
      `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>${token}</NextContinuationToken></ListBucketResult>`;
    await using same = await startHTTP((_request, response) => void response.end(list('same')));
    await using other = await startHTTP((_request, response) => {
      page += 1;
      response.end(list(String(page)));
    });

    for (const { origin } of [same, other]) {
      await using datasource = await openDatasource(s3, { ...keys, endpoint: origin });
      await expect(
        datasource.execute({ operation: 'listObjects' }, {}, { signal: AbortSignal.timeout(1_000) }),
      ).rejects.toThrow();
    }
  });

  test('may say that there is more and not where, or go in a circle', async () => {
    const following: Record<string, string> = { '': 'a', a: 'b', b: 'a' };
    const more = (token: string) =>
      `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>${token}</NextContinuationToken></ListBucketResult>`;
    await using silent = await startHTTP((_request, response) => void response.end(more('')));
    await using circle = await startHTTP(({ url }, response) => {
      response.end(more(following[new URL(url, 'http://x').searchParams.get('continuation-token') ?? ''] ?? ''));
    });

    for (const { origin } of [silent, circle]) {
      await using datasource = await openDatasource(s3, { ...keys, endpoint: origin });
      await expect(datasource.execute({ operation: 'listObjects' })).rejects.toMatchObject({
        message: expect.stringContaining('goes on where it was before'),
      });
    }
  });

  test('may send a body without end, or redirect', async () => {
    await using endless = await startHTTP((_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      };
      response.on('drain', more);
      more();
    });
    await using elsewhere = await startHTTP((_request, response) => {
      response.writeHead(307, { location: endless.origin }).end();
    });
    for (const [endpoint, details] of [
      [endless.origin, { reason: 'too-large' }],
      [elsewhere.origin, { status: 307 }],
    ] as const) {
      await using datasource = await openDatasource(s3, { ...keys, endpoint });
      await expect(datasource.execute({ operation: 'getObject', key: 'a' })).rejects.toMatchObject({ details });
    }
  });

  test('may repeat the secret', async () => {
    await using server = await startHTTP(({ headers }, response) => {
      response.writeHead(403, { 'content-type': 'application/xml' });
      response.end(`<Error><Code>${headers.authorization}</Code><Message>right-secret</Message></Error>`);
    });
    await using datasource = await openDatasource(s3, { ...keys, endpoint: server.origin });

    const error = await datasource.execute({ operation: 'getObject', key: 'a' }).catch((failure: unknown) => failure);

    expect(error).toMatchObject({ code: 'UPSTREAM_FAILED', details: { status: 403 } });
    expect(inspect(error, { depth: 9 })).not.toMatch(/right-secret|Signature/);
  });

  test('sees the connection end on an abort', async () => {
    await using server = await startHTTP(() => new Promise(() => undefined));
    await using datasource = await openDatasource(s3, { ...keys, endpoint: server.origin });
    const stop = new AbortController();
    const running = datasource.execute({ operation: 'getObject', key: 'a' }, {}, { signal: stop.signal });
    await expect.poll(() => server.seen).toHaveLength(1);
    stop.abort(new Error('stopped'));

    await expect(running).rejects.toThrow('stopped');
    await expect.poll(() => server.abandoned()).toBe(1);
  });
});

test('buckets of Amazon are host names, if their certificate covers the name', async () => {
  const asked: string[] = [];
  const outbound = {
    ...createOutbound({ allow: [] }),
    connect: async ({ host, port }: { host: string; port: number }) => {
      asked.push(`${host}:${port}`);
      throw new Error('no further');
    },
  };
  for (const bucket of ['files', 'with.dots', '']) {
    const options = { ...keys, bucket, region: bucket === '' ? 'cn-north-1' : 'eu-west-1' };
    await using datasource = await openDatasource(s3, options, { outbound });
    await datasource.test().catch(() => undefined);
  }
  expect(asked).toEqual([
    'files.s3.eu-west-1.amazonaws.com:443',
    's3.eu-west-1.amazonaws.com:443',
    's3.cn-north-1.amazonaws.com.cn:443',
  ]);
});
