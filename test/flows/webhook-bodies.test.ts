import { createHmac } from 'node:crypto';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '#shared/core/json.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aListener, aTenant, aWorkflow, chain, type TestTenant } from '#test/support/factories.ts';
import { eventually } from '#test/support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
let workflowID: string;
beforeAll(async () => {
  cluster = await startCluster({ workers: ['listener.events'] });
  tenant = await aTenant(cluster);
  workflowID = (await aWorkflow(cluster, { tenant, ...chain({}) })).id;
});
afterAll(() => cluster[Symbol.asyncDispose]());

interface Sent {
  type?: string;
  headers?: Record<string, string>;
  body: string | Buffer;
  query?: string;
}

const JSON_TYPE = 'application/json';
const FORM = 'application/x-www-form-urlencoded';

async function aStartingListener(settings: Partial<Parameters<typeof aListener>[1]> = {}) {
  const actions = [{ actionType: 'trigger_workflow', actionConfig: { workflowID } }];
  return aListener(cluster, { tenant, actions, ...settings });
}

async function deliver(path: string, { type = JSON_TYPE, headers = {}, body, query = '' }: Sent) {
  const response = await fetch(`${cluster.baseURL}/webhooks/v1/inbound/${path}${query}`, {
    method: 'POST',
    headers: { ...(type !== '' && { 'content-type': type }), ...headers },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  });
  const text = await response.text();
  return { status: response.status, message: JSON.parse(text).error?.message as string | undefined };
}

/** The event as the workflow gets it. */
async function received(listener: { id: string }, sent: Sent): Promise<JsonObject> {
  expect(await deliver(listener.id, sent)).toEqual({ status: 200, message: undefined });
  let event: JsonObject = {};
  await eventually(async () => {
    const { rows } = await cluster.pool.query<{ state: string; error: unknown; input: JsonObject }>(
      `select e.state, e.error, i.input from listener_event e left join workflow_instance i on i.id = e.instance_id
       where e.listener_id = $1 order by e.id desc limit 1`,
      [listener.id],
    );
    expect(rows[0]).toMatchObject({ state: 'done' });
    event = rows[0]?.input.event as JsonObject;
  });
  return event;
}

async function countEvents({ id }: { id: string }): Promise<number> {
  const { rows } = await cluster.pool.query('select from listener_event where listener_id = $1', [id]);
  return rows.length;
}

const utf16le = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le');
const utf16be = (text: string) => utf16le(text).swap16();
/** "é" in windows-1252 and ISO-8859-1. */
const LATIN = Buffer.from([0xe9]);
const latinJSON = Buffer.concat([Buffer.from('{"a":"'), LATIN, Buffer.from('"}')]);

describe('a body', () => {
  test.each<[string, Sent, unknown]>([
    [
      'JSON in the charset that it names',
      { type: `${JSON_TYPE}; charset = "windows-1252"`, body: latinJSON },
      { a: 'é' },
    ],
    ['JSON with a byte order mark', { body: Buffer.from('\uFEFF{"a":"é"}') }, { a: 'é' }],
    ['JSON in UTF-16', { body: utf16be('{"a":"é"}') }, { a: 'é' }],
    ['JSON with a pair of escapes', { body: '{"a":"\\ud83d\\ude00 \\\\u0000"}' }, { a: '😀 \\u0000' }],
    ['text in the charset that it names', { type: "text/plain; charset='latin1'", body: LATIN }, 'é'],
    ['text in UTF-16', { type: 'text/plain; charset=utf-16', body: utf16le('é') }, 'é'],
    [
      'XML in the encoding of its first line',
      { type: 'text/xml', body: Buffer.concat([Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a>'), LATIN]) },
      '<?xml version="1.0" encoding="ISO-8859-1"?><a>é',
    ],
    ['text that is not UTF-8', { type: 'text/plain', body: LATIN }, { base64: '6Q==' }],
    ['text with a NUL', { type: 'text/plain', body: 'a\0' }, { base64: 'YQA=' }],
    ['octets that happen to be UTF-8', { type: 'application/octet-stream', body: 'ab' }, { base64: 'YWI=' }],
    ['bytes of no type', { type: '', body: Buffer.from([1, 0]) }, { base64: 'AQA=' }],
    ['a form in the charset that it names', { type: `${FORM};charset=iso-8859-15`, body: 'a=%A4' }, { a: '€' }],
    ['a form with repeated fields', { type: FORM, body: 'a=1%2C2&a=3&b=&a=' }, { a: ['1,2', '3', ''], b: '' }],
  ])('of %s', async (_what, sent, expected) => {
    expect((await received(await aStartingListener(), sent)).body).toEqual(expected);
  });

  test.each<[string, Sent, number, string]>([
    ['a NUL in JSON', { body: '{"a":[{"b":"x\\u0000"}]}' }, 400, 'body.a.0.b: must not contain the character NUL'],
    ['half a pair in JSON', { body: '{"a":"\\ud83d \\ude00"}' }, 400, 'body.a: must not contain the character NUL or'],
    ['half a pair in a key', { body: '{"\\udc00":1}' }, 400, 'half of a surrogate pair: \\udc00 at byte 2'],
    ['a NUL in UTF-16', { body: utf16le('{"a":"\\u0000"}') }, 400, 'body.a: must not contain'],
    ['JSON of another charset', { body: latinJSON }, 400, 'body: byte 6 is not utf-8'],
    [
      'an unknown charset',
      { type: `${JSON_TYPE}; charset=klingon`, body: '{}' },
      415,
      'the charset "klingon" is not known',
    ],
    ['an unknown charset of text', { type: 'text/plain; charset=klingon', body: 'a' }, 415, 'the charset "klingon"'],
    [
      'an unknown charset of XML',
      { type: 'text/xml', body: '<?xml encoding="klingon"?>' },
      415,
      'the charset "klingon"',
    ],
    ['a NUL in a form', { type: FORM, body: 'b=1&a=%00' }, 400, 'body.a: must not contain the character NUL'],
    [
      'a form of another charset',
      { type: FORM, body: 'b=1&a=x%e9' },
      400,
      'body: byte 1 is not utf-8 in the field "a"',
    ],
    ['too many fields', { type: FORM, body: 'a&'.repeat(10_001) }, 400, 'more than 10000 fields'],
    ['a NUL in the query', { body: '{}', query: '?b=1&a=%00' }, 400, 'query.a: must not contain the character NUL'],
    ['a query of another charset', { body: '{}', query: '?a=%e9' }, 400, 'query: byte 0 is not utf-8 in the field "a"'],
  ])('is refused, and not stored, with %s', async (_what, sent, status, message) => {
    const listener = await aStartingListener();
    expect(await deliver(listener.id, sent)).toEqual({ status, message: expect.stringContaining(message) });
    expect(await countEvents(listener)).toBe(0);
  });

  test('is refused for a path or a query of several parts as well', async () => {
    const listener = await aStartingListener({ endpointPath: 'nul/:name' });
    const refused = {
      status: 400,
      message: expect.stringContaining('params.name: must not contain the character NUL'),
    };
    expect(await deliver(`${tenant.id}/nul/a%00`, { body: '{}' })).toEqual(refused);
    expect(await deliver(`${tenant.id}/nul/a`, { body: '{}', query: '?b=1&a=%e9' })).toEqual({
      status: 400,
      message: 'query: byte 0 is not utf-8 in the field "a"',
    });
    expect(await countEvents(listener)).toBe(0);
  });

  test('keeps repeated parameters of a query as a list', async () => {
    const event = await received(await aStartingListener(), { body: '{}', query: '?a=1%2C2&a=3&b=%C3%A9?c=1' });
    expect(event.query).toEqual({ a: ['1,2', '3'], b: 'é?c=1' });
  });
});

test('an event that a script makes unstorable fails with the field that is wrong', async () => {
  const script = 'return { list: ["a", "\\0"] };';
  const actions: { actionType: string; actionConfig: JsonObject }[] = [
    { actionType: 'transform', actionConfig: { script } },
    { actionType: 'trigger_workflow', actionConfig: { workflowID } },
  ];
  const listener = await aStartingListener({ actions });
  await deliver(listener.id, { body: '{}' });
  await eventually(async () => {
    const { rows } = await cluster.pool.query('select state, error from listener_event where listener_id = $1', [
      listener.id,
    ]);
    const message = 'list.1: must not contain the character NUL or half of a surrogate pair';
    expect(rows).toEqual([{ state: 'dead', error: { code: 'VALIDATION_ERROR', message } }]);
  });
});

describe('a compressed body', () => {
  const text = '{"a":"é"}';
  const secret = 'the secret';
  const options = { authType: 'github', authSecret: secret };
  const signed = (body: Buffer, coding: string): Sent => {
    const signature = createHmac('sha256', secret).update(body).digest('hex');
    return { body, headers: { 'content-encoding': coding, 'x-hub-signature-256': `sha256=${signature}` } };
  };

  test.each([
    ['gzip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['br', brotliCompressSync(text)],
    ['zstd', zstdCompressSync(text)],
    ['gzip, BR', brotliCompressSync(gzipSync(text))],
    ['Identity', Buffer.from(text)],
  ])('of %s is decompressed, and its signature is that of what was sent', async (coding, body) => {
    const listener = await aStartingListener({ options });
    expect((await received(listener, signed(body, coding))).body).toEqual({ a: 'é' });
    expect((await deliver(listener.id, { ...signed(Buffer.from(text), coding), body })).status).toBe(
      coding === 'Identity' ? 200 : 401,
    );
  });

  test.each([
    ['gzip', gzipSync],
    ['br', (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
    ['zstd', zstdCompressSync],
  ])('that is a bomb of %s is 413, and takes no more memory than the limit', async (coding, compress) => {
    const listener = await aStartingListener({ config: { maxBodyBytes: 300_000 } });
    const body = compress(Buffer.alloc(200_000_000));
    const before = process.memoryUsage().rss;

    expect(await deliver(listener.id, { body, headers: { 'content-encoding': coding } })).toEqual({
      status: 413,
      message: 'The body is larger than the 300000 bytes that this listener takes',
    });

    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000);
    expect(await countEvents(listener)).toBe(0);
    await eventually(() => expect(cluster.context.requests.bytes.used).toBe(0));
  });

  test.each([
    ['of another coding', 'compress', text, 415, 'Content-Encoding: expected gzip'],
    ['of four codings, one upon the other', 'gzip, gzip, gzip, gzip', text, 415, 'Content-Encoding: expected gzip'],
    ['that is broken', 'gzip', text, 400, 'The body is not valid gzip'],
    ['that ends too early', 'br', brotliCompressSync(text).subarray(0, 5), 400, 'The body is not valid br'],
  ])('%s is refused', async (_what, coding, body, status, message) => {
    const listener = await aStartingListener();
    expect(await deliver(listener.id, { body, headers: { 'content-encoding': coding } })).toEqual({
      status,
      message: expect.stringContaining(message),
    });
    expect(await countEvents(listener)).toBe(0);
  });
});

describe('a form with files', () => {
  const CSV = `a,b\n${'1,2\n'.repeat(20_000)}`;

  async function formOf(entries: [string, string | Blob, string?][]): Promise<Sent> {
    const form = new FormData();
    for (const [name, value, fileName] of entries)
      if (typeof value === 'string') form.append(name, value);
      else form.append(name, value, fileName);
    const sent = new Response(form);
    return { type: sent.headers.get('content-type') ?? '', body: Buffer.from(await sent.arrayBuffer()) };
  }

  test('has its fields by name, small files as base64, and large ones in the store of the tenant', async () => {
    const listener = await aStartingListener();
    const sent = await formOf([
      ['who', 'Zoë'],
      ['tag', '1,2'],
      ['tag', '3'],
      ['photo', new Blob([new Uint8Array([0, 255])], { type: 'image/png' }), 'dot ä.png'],
      ['long', new Blob(['x'], { type: 'text/plain' }), `dir/a\u202E${'x'.repeat(300)}.txt`],
      ['table', new Blob([CSV], { type: 'application/vnd.ms-excel' }), `${'n'.repeat(300)}.csv`],
    ]);

    const { body } = await received(listener, sent);
    const { table, ...small } = body as { table: JsonObject } & JsonObject;

    expect(small).toEqual({
      who: 'Zoë',
      tag: ['1,2', '3'],
      photo: { fileName: 'dot ä.png', fileType: 'image/png', fileSize: 2, base64: 'AP8=' },
      long: { fileName: `a${'x'.repeat(250)}.txt`, fileType: 'text/plain', fileSize: 1, base64: 'eA==' },
    });
    const api = cluster.as(tenant.creator).in(tenant);
    const fileID = expect.any(String);
    const about = { fileName: `${'n'.repeat(251)}.csv`, fileType: 'application/vnd.ms-excel', fileSize: CSV.length };
    expect(table).toEqual({ ...about, fileID, filePath: `tenant-files/${table.fileID}`, url: expect.any(String) });
    const { files } = (await api.get('T/datasources/files')).body;
    expect(files).toEqual([
      {
        ...about,
        fileID: table.fileID,
        filePath: table.filePath,
        url: table.url,
        fileType: 'text/csv',
        createdAt: expect.any(String),
      },
    ]);
    const download = await fetch(`${cluster.baseURL}${table.url}`, {
      headers: { authorization: `Bearer ${await cluster.tokenFor(tenant.creator)}` },
    });
    expect(await download.text()).toBe(CSV);
  });

  test('is stored once, although an attempt at its event fails', async () => {
    const { pool } = cluster;
    const other = await aTenant(cluster);
    const { id } = await aWorkflow(cluster, { tenant: other, ...chain({}) });
    const actions = [{ actionType: 'trigger_workflow', actionConfig: { workflowID: id } }];
    const listener = await aListener(cluster, { tenant: other, actions });
    await pool.query(`insert into quota (owner_id, name, max) values ($1, 'runs', 0)`, [other.id]);
    await deliver(listener.id, await formOf([['table', new Blob([CSV]), 'numbers.csv']]));
    const attempts = async () => {
      const { rows } = await pool.query<{ n: number }>(
        `select attempts + (state = 'done')::int as n from listener_event where listener_id = $1`,
        [listener.id],
      );
      return rows[0]?.n ?? 0;
    };

    await eventually(async () => expect(await attempts()).toBeGreaterThan(1));

    await pool.query('delete from quota where owner_id = $1', [other.id]);
    await eventually(async () => {
      const { rows } = await pool.query('select state from listener_event where listener_id = $1', [listener.id]);
      expect(rows).toEqual([{ state: 'done' }]);
    });
    const { rows } = await pool.query('select from tenant_file where tenant_id = $1', [other.id]);
    expect(rows).toHaveLength(1);
  });

  test('beyond the quota of files is a dead letter that says so', async () => {
    const other = await aTenant(cluster);
    const listener = await aListener(cluster, { tenant: other });
    await cluster.pool.query(`insert into quota (owner_id, name, max) values ($1, 'files', 0)`, [other.id]);
    await deliver(listener.id, await formOf([['table', new Blob([CSV]), 'numbers.csv']]));
    await eventually(async () => {
      const { rows } = await cluster.pool.query('select state, error from listener_event where listener_id = $1', [
        listener.id,
      ]);
      const message = expect.stringContaining('files');
      expect(rows).toEqual([{ state: 'dead', error: { code: 'QUOTA_EXCEEDED', message } }]);
    });
  });

  const type = 'multipart/form-data; boundary="b b"';
  test.each<[string, Sent, string]>([
    ['without a boundary', { type: 'multipart/form-data', body: '--b\r\n' }, 'expected a boundary'],
    ['without its delimiters', { type, body: 'a=1' }, 'it has none of the delimiters'],
    [
      'that ends too early',
      { type, body: '--b b\r\ncontent-disposition: form-data; name=a\r\n\r\n1' },
      'it ends too early',
    ],
    ['with a broken part', { type, body: '--b b\r\nx\r\n--b b--' }, 'a part without an end of its headers'],
    [
      'with a name that is not UTF-8',
      {
        type,
        body: Buffer.concat([
          Buffer.from('--b b\r\ncontent-disposition: form-data; name=f; filename="'),
          LATIN,
          Buffer.from('"\r\n\r\n1\r\n--b b--'),
        ]),
      },
      'headers are not UTF-8',
    ],
    ['with too many parts', { type, body: `${'--b b\r\n\r\n\r\n'.repeat(1_001)}--b b--` }, 'more than 1000 parts'],
  ])('%s is refused', async (_what, sent, message) => {
    const listener = await aStartingListener();
    expect(await deliver(listener.id, sent)).toEqual({ status: 400, message: expect.stringContaining(message) });
    expect(await countEvents(listener)).toBe(0);
  });

  test('may have a preamble, parts of other charsets, and names as RFC 8187 writes them', async () => {
    const part = (disposition: string, rest: string) =>
      `--b b\r\nContent-Disposition: form-data; ${disposition}\r\n${rest}\r\n`;
    const body = Buffer.concat([
      Buffer.from(`preamble\r\n${part('name="a"', 'content-type: text/plain; charset=latin1\r\n\r\n').slice(0, -2)}`),
      LATIN,
      Buffer.from(`\r\n${part(`name=f; filename="x"; filename*=UTF-8''%e2%82%ac.txt`, '\r\nx')}`),
      Buffer.from(part('name=unnamed; filename=""', '\r\ny')),
      Buffer.from(`${part('name=none; filename=""', '\r\n')}--b b--\r\nend`),
    ]);
    expect((await received(await aStartingListener(), { type, body })).body).toEqual({
      a: 'é',
      f: { fileName: '€.txt', fileType: '', fileSize: 1, base64: 'eA==' },
      unnamed: { fileName: 'file', fileType: '', fileSize: 1, base64: 'eQ==' },
    });
  });
});
