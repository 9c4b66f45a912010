import { brotliCompressSync, deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { restapi } from '#shared/datasources/types/restapi.ts';
import { openDatasource } from '#test/support/connector.ts';
import { json, startHTTP } from '#test/support/http-server.ts';
import { selfSigned } from '#test/support/self-signed.ts';
import { eventually } from '#test/support/settle.ts';
import { startTCP } from '#test/support/tcp.ts';
import { createOutbound } from '#workers/outbound/gate.ts';

interface Echo {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string;
}

async function open(more: JsonObject = {}, answer?: Parameters<typeof startHTTP>[0]) {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startHTTP(answer));
  const datasource = stack.use(await openDatasource(restapi, { baseUrl: `${server.origin}/v1`, ...more }));
  const owned = stack.move();
  const ask = async (query: JsonObject, inputs: JsonObject = {}) =>
    (await datasource.execute({ apiEndpoint: '/x', ...query }, inputs)).data as unknown as Echo;
  return { server, datasource, ask, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

describe('a request', () => {
  test('has its values in the declared places', async () => {
    await using api = await open({
      headers: [{ key: 'X-Own', value: 'o' }],
      queryParams: [{ key: 'v', value: '2' }],
    });

    const echo = await api.ask(
      {
        apiEndpoint: '/users/{{inputs.id}}?full=1',
        method: 'POST',
        headers: [{ key: 'X-Name', value: 'a{{inputs.n}}' }],
        queryParams: [
          { key: 'q', value: '{{inputs.text}}' },
          { key: 'ids', value: '{{inputs.list}}' },
          { key: 'none', value: '{{inputs.missing}}' },
        ],
        body: '{"text": {{inputs.text}}, "quoted": "<{{inputs.text}}>", "list": {{inputs.list}}}',
      },
      { id: 'a/b?c#d', n: 5, text: '"&x=1', list: [1, 2] },
    );

    expect(echo.url).toBe('/v1/users/a%2Fb%3Fc%23d?full=1&v=2&q=%22%26x%3D1&ids=1&ids=2');
    expect(echo.headers).toMatchObject({ 'x-own': 'o', 'x-name': 'a5', 'content-type': 'application/json' });
    expect(JSON.parse(echo.body)).toEqual({ text: '"&x=1', quoted: '<"&x=1>', list: [1, 2] });
  });

  test('sends forms, XML and text', async () => {
    await using api = await open();
    const inputs = { t: '<a>&"', o: { k: [1, 'x y'] } };

    const form = await api.ask(
      { method: 'POST', contentType: 'form', body: { a: '{{inputs.t}}', o: '{{inputs.o}}' } },
      inputs,
    );
    const xml = await api.ask(
      { method: 'POST', contentType: 'xml', body: '<r a="{{inputs.t}}">{{inputs.t}}</r>' },
      inputs,
    );
    const text = await api.ask({ method: 'POST', contentType: 'text', body: 'say {{inputs.t}}' }, inputs);

    expect([...new URLSearchParams(form.body)]).toEqual([
      ['a', '<a>&"'],
      ['o[k][0]', '1'],
      ['o[k][1]', 'x y'],
    ]);
    const exact = await api.ask({ method: 'POST', contentType: 'form', body: '{"n": 12345678901234567890.5}' });
    expect(exact.body).toBe('n=12345678901234567890.5');
    expect(xml.body).toBe('<r a="&lt;a&gt;&amp;&quot;">&lt;a&gt;&amp;&quot;</r>');
    expect(xml.headers['content-type']).toBe('application/xml');
    expect(text.body).toBe('say <a>&"');
  });

  test.each([
    'https://evil.example/',
    '//evil.example/x',
    '/../admin',
    '/a/%2e%2e/b',
    '/a/..%2f..%2fb',
    '/a\\..\\b',
    'x#y',
  ])('stays below the base URL despite %s', async (apiEndpoint) => {
    await using api = await open();
    await expect(api.ask({ apiEndpoint })).rejects.toMatchObject({ code: 'VALIDATION_ERROR', message: /apiEndpoint/ });
    expect(api.server.seen).toEqual([]);
  });

  test.each(['..', '../../admin', '.', '..\\x'])('stays below the base URL despite the value %s', async (id) => {
    await using api = await open();
    await expect(api.ask({ apiEndpoint: '/a/{{inputs.id}}/b' }, { id })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
    });
    expect(api.server.seen).toEqual([]);
  });

  test.each([
    ['a second header', 'X-A', 'a\r\nX-B: b'],
    ['a name that is none', 'X A', 'a'],
    ['another host', 'Host', 'evil.example'],
    ['another length', 'Content-Length', '0'],
    ['another framing', 'Transfer-Encoding', 'chunked'],
  ])('cannot have %s', async (_what, key, value) => {
    await using api = await open();
    await expect(api.ask({ headers: [{ key: key, value: '{{inputs.value}}' }] }, { value })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      message: /headers/,
    });
    expect(api.server.seen).toEqual([]);
  });

  test('has the idempotency key of its attempt when it changes data', async () => {
    await using api = await open();
    const run = { idempotencyKey: 'run.node.0' };

    await api.datasource.execute({ apiEndpoint: '/x', method: 'POST', body: '{}' }, {}, run);
    await api.datasource.execute({ apiEndpoint: '/x' }, {}, run);

    expect(api.server.seen.map(({ headers }) => headers['idempotency-key'])).toEqual(['run.node.0', undefined]);
  });
});

describe('an answer', () => {
  const answering = (type: string, body: string | Buffer) =>
    open({}, (_request, response) => {
      response.writeHead(200, type === '' ? {} : { 'content-type': type });
      response.end(body);
    });

  test('keeps numbers that a double cannot hold', async () => {
    await using api = await answering(
      'application/json',
      '{"big": 9007199254740993, "small": 42, "long": 0.12345678901234567891, "huge": 1e400, "f": 0.1, "list": [null, true]}',
    );
    expect(await api.ask({})).toEqual({
      big: '9007199254740993',
      small: 42,
      long: '0.12345678901234567891',
      huge: '1e400',
      f: 0.1,
      list: [null, true],
    });
  });

  test.each<[string, string | Buffer, Json]>([
    ['application/problem+json', '{"a":1}', { a: 1 }],
    ['text/plain; charset=iso-8859-1', Buffer.from([0xe9]), 'é'],
    ['application/xml', '<a/>', '<a/>'],
    ['application/octet-stream', Buffer.from([0, 255]), 'AP8='],
    ['', 'plain', 'plain'],
    ['application/json', '', null],
    ['application/json; charset = "ISO-8859-1"', Buffer.from([0x22, 0xe9, 0x22]), 'é'],
    ['application/json', Buffer.from('\uFEFF"é"', 'utf16le'), 'é'],
    ['text/plain; charset=utf-16', Buffer.from('\uFEFFé', 'utf16le').swap16(), 'é'],
    [
      'application/xml',
      Buffer.from('<?xml version="1.0" encoding="windows-1252"?><a>é</a>', 'latin1'),
      '<?xml version="1.0" encoding="windows-1252"?><a>é</a>',
    ],
    ['text/xml', Buffer.from('<?xml version="1.0"?><a>é</a>', 'utf16le').swap16(), '<?xml version="1.0"?><a>é</a>'],
    ['text/html', Buffer.from('<meta charset=latin1>é', 'latin1'), '<meta charset=latin1>é'],
    ['', Buffer.from('a\0b'), 'YQBi'],
  ])('of %s is decoded accordingly', async (type, body, expected) => {
    await using api = await answering(type, body);
    expect(await api.ask({})).toEqual(expected);
  });

  test.each<[string, Buffer, string]>([
    ['application/json', Buffer.from([0x22, 0xe9, 0x22]), 'byte 1 is not utf-8'],
    ['text/plain', Buffer.from([0x61, 0xe9]), 'byte 1 is not utf-8'],
    ['text/plain; charset=klingon', Buffer.from('a'), 'the charset "klingon" is not known'],
  ])('of %s whose characters are not known is an error', async (type, body, message) => {
    await using api = await answering(type, body);
    await expect(api.ask({})).rejects.toMatchObject({
      code: 'UPSTREAM_FAILED',
      message: expect.stringContaining(message),
    });
  });

  test.each([
    ['zstd', zstdCompressSync('[1]')],
    ['deflate', deflateRawSync('[1]')],
    ['gzip, br', brotliCompressSync(gzipSync('[1]'))],
  ])('in %s is decompressed', async (coding, body) => {
    await using api = await open({}, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': coding }).end(body);
    });
    expect(await api.ask({})).toEqual([1]);
  });

  test('that does not match its content type is an error', async () => {
    await using api = await answering('application/json', '<html>');
    await expect(api.ask({})).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', message: /is not JSON/ });
  });

  test('that is a redirect is the result, if it is not followed', async () => {
    await using api = await open({ followRedirects: false }, (_request, response) => {
      response.writeHead(303, { location: '/v1/there?a=1', 'content-type': 'text/plain' }).end('See there');
    });
    expect((await api.datasource.execute({ apiEndpoint: '/x', method: 'POST', body: '{}' })).data).toEqual({
      status: 303,
      location: `${api.server.origin}/v1/there?a=1`,
      body: 'See there',
    });
    await expect(api.datasource.execute({ apiEndpoint: '/x', pagination: { type: 'link' } })).rejects.toMatchObject({
      code: 'UPSTREAM_FAILED',
      message: expect.stringContaining('does not follow'),
    });
    expect(api.server.seen.map(({ url }) => url)).toEqual(['/v1/x', '/v1/x']);
  });

  test('has no more rows than requested', async () => {
    await using api = await answering('application/json', JSON.stringify([1, 2, 3]));
    const result = await api.datasource.execute({ apiEndpoint: '/' }, {}, { maxRows: 2 });
    expect(result).toEqual({ data: [1, 2], rowCount: 2, truncated: true });
  });

  test('with an error status is an error with that status, without the secret it repeats', async () => {
    await using api = await open({ authType: 'bearer', bearerToken: 'tok"en-0123' }, (request, response) =>
      json(response, { saw: request.headers.authorization }, 422),
    );
    const error = await api.ask({}).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'UPSTREAM_FAILED', retry: false, details: { status: 422 } });
    expect(JSON.stringify(error)).not.toContain('0123');
  });

  test.each([
    ['plain', (size: number) => ({ body: Buffer.alloc(size), headers: {} })],
    ['compressed', (size: number) => ({ body: gzipSync(Buffer.alloc(size)), headers: { 'content-encoding': 'gzip' } })],
  ])('that is too large is refused, %s', async (_what, make) => {
    const { body, headers } = make(60_000_000);
    await using api = await open({}, (_request, response) => {
      response.writeHead(200, headers).end(body);
    });
    const before = process.memoryUsage().rss;

    await expect(api.ask({})).rejects.toMatchObject({ details: { reason: 'too-large' } });

    expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000);
  });
});

describe('credentials', () => {
  test.each<[string, JsonObject, Partial<Echo>]>([
    [
      'basic',
      { authType: 'basic', username: 'u', password: 'p:é' },
      { headers: { authorization: `Basic ${Buffer.from('u:p:é').toString('base64')}` } },
    ],
    ['bearer', { authType: 'bearer', bearerToken: 't' }, { headers: { authorization: 'Bearer t' } }],
    ['a key in a header', { authType: 'apiKey', apiKey: { name: 'X-Key', value: 'k' } }, { headers: { 'x-key': 'k' } }],
    [
      'a key in the address',
      { authType: 'apiKey', apiKey: { in: 'query', name: 'key', value: 'k&' } },
      { url: '/v1/x?key=k%26' },
    ],
  ])('%s', async (_what, options, expected) => {
    await using api = await open(options);
    expect(await api.ask({ headers: [{ key: 'Authorization', value: '{{inputs.no}}' }] })).toMatchObject(expected);
  });

  test('a token is requested once, and again when it is refused', async () => {
    let issued = 0;
    let revoked = '';
    await using tokens = await startHTTP((_request, response) => {
      issued += 1;
      json(response, { access_token: `t${issued}`, expires_in: 3600 });
    });
    await using api = await open(
      {
        authType: 'oauth2',
        oauth2: { clientId: 'c:1', clientSecret: 's', tokenUrl: `${tokens.origin}/token`, scope: 'a b' },
      },
      ({ headers }, response) => json(response, headers, headers.authorization === revoked ? 401 : 200),
    );

    await Promise.all([api.ask({}), api.ask({}), api.ask({})]);
    expect(issued).toBe(1);
    revoked = 'Bearer t1';
    expect(await api.ask({})).toMatchObject({ authorization: 'Bearer t2' });

    expect(tokens.seen[0]).toMatchObject({ method: 'POST', body: 'grant_type=client_credentials&scope=a+b' });
    expect(tokens.seen[0]?.headers.authorization).toBe(`Basic ${Buffer.from('c%3A1:s').toString('base64')}`);
    expect(issued).toBe(2);
  });

  test('that are refused are reported, without their values', async () => {
    await using api = await open({ authType: 'basic', username: 'u', password: 'wrong-secret' }, (_request, response) =>
      json(response, {}, 401),
    );
    const error = await api.datasource.test().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'UPSTREAM_FAILED', retry: false, details: { reason: 'authentication' } });
    expect(String(error)).not.toContain('wrong-secret');
  });

  test('are not sent to another origin', async () => {
    await using other = await startHTTP();
    await using api = await open(
      { authType: 'bearer', bearerToken: 't', headers: [{ key: 'X-Key', value: 'k' }] },
      (_request, response) => void response.writeHead(302, { location: `${other.origin}/there` }).end(),
    );

    await api.ask({ method: 'POST', body: '{"a":1}' });

    expect(other.seen).toHaveLength(1);
    expect(other.seen[0]).toMatchObject({ method: 'GET', url: '/there', body: '' });
    expect(Object.keys(other.seen[0]?.headers ?? {})).not.toEqual(expect.arrayContaining(['authorization']));
    expect(Object.keys(other.seen[0]?.headers ?? {})).not.toEqual(expect.arrayContaining(['x-key']));
  });
});

describe('pages', () => {
  const items = Array.from({ length: 25 }, (_, id) => ({ id }));
  const paged = () =>
    open({}, ({ url, headers }, response) => {
      const { searchParams } = new URL(url, 'http://x');
      const from = Number(
        searchParams.get('offset') ?? searchParams.get('cursor') ?? (Number(searchParams.get('page') ?? 1) - 1) * 10,
      );
      const page = items.slice(from, from + 10);
      const isMore = from + 10 < items.length;
      const next = `http://${headers.host}/v1/x?page=${from / 10 + 2}`;
      json(
        response,
        { data: { items: page }, next: isMore ? String(from + 10) : null },
        200,
        isMore ? { link: `<${next}>; rel="next"` } : {},
      );
    });

  test.each<JsonObject>([
    { type: 'page' },
    { type: 'page', sizeParam: 'size', pageSize: 10 },
    { type: 'offset', pageSize: 10 },
    { type: 'cursor', cursorPath: 'next' },
    { type: 'link' },
  ])('are read to the last: %j', async (kind) => {
    await using api = await paged();
    const pagination = { itemsPath: 'data.items', ...kind };

    const all = await api.datasource.execute({ apiEndpoint: '/x', pagination });
    const some = await api.datasource.execute({ apiEndpoint: '/x', pagination }, {}, { maxRows: 12 });
    const few = await api.datasource.execute({ apiEndpoint: '/x', pagination: { ...pagination, maxPages: 1 } });

    expect(all).toEqual({ data: items, rowCount: 25, truncated: false });
    expect(some).toEqual({ data: items.slice(0, 12), rowCount: 12, truncated: true });
    expect(few).toMatchObject({ rowCount: 10, truncated: true });
  });

  /** Answers each address by its place in a list of pages, which each name the next. */
  const linked = (pages: Record<string, { items?: Json; next?: Json }>) =>
    open({}, ({ url }, response) => json(response, pages[url.slice('/v1'.length)] ?? {}));
  const byLink = { type: 'link', path: 'next', itemsPath: 'items' };

  test.each<[string, Json | undefined]>([
    ['is empty', []],
    ['has no list', undefined],
  ])('go on after one that %s and has a next link', async (_what, items) => {
    await using api = await linked({
      '/x': { items: [1], next: '/v1/x?p=2' },
      '/x?p=2': { ...(items !== undefined && { items }), next: '/v1/x?p=3' },
      '/x?p=3': { items: [2, 3] },
    });
    const result = await api.datasource.execute({ apiEndpoint: '/x', pagination: byLink });
    expect(result).toEqual({ data: [1, 2, 3], rowCount: 3, truncated: false });
  });

  test.each<[string, Parameters<typeof linked>[0], string]>([
    ['itself', { '/x': { items: [1], next: '/v1/x' } }, 'the next one is /v1/x, which was read before'],
    [
      'one of those before',
      {
        '/x': { items: [1], next: '/v1/x?p=2' },
        '/x?p=2': { items: [2], next: '/v1/x?key=secret-0123' },
        '/x?key=secret-0123': { items: [3], next: '/v1/x?p=2' },
      },
      'the next one is /v1/x?p=2, which was read before',
    ],
    ['no URL', { '/x': { items: [1], next: { href: '/v1/x?p=2' } } }, 'is not a URL, but an object'],
  ])('whose next link is %s are an error that names it', async (_what, pages, message) => {
    await using api = await linked(pages);
    await expect(api.datasource.execute({ apiEndpoint: '/x', pagination: byLink })).rejects.toMatchObject({
      code: 'UPSTREAM_FAILED',
      retry: false,
      message: expect.stringContaining(message),
    });
  });

  test('that are wanted are given though the next one was read before', async () => {
    await using api = await linked({ '/x': { items: [1, 2], next: '/v1/x' } });
    const result = await api.datasource.execute({ apiEndpoint: '/x', pagination: byLink }, {}, { maxRows: 2 });
    expect(result).toEqual({ data: [1, 2], rowCount: 2, truncated: true });
  });

  test('end at an empty one that is its own next page, as feeds do that are polled', async () => {
    await using api = await linked({
      '/x': { items: [1], next: '/v1/x?p=2' },
      '/x?p=2': { items: [], next: '/v1/x?p=2' },
    });
    const result = await api.datasource.execute({ apiEndpoint: '/x', pagination: byLink });
    expect(result).toEqual({ data: [1], rowCount: 1, truncated: false });
  });

  test.each([
    ['a parameter', { cursorIn: 'query' }],
    ['the body', { cursorIn: 'body', method: 'POST', body: {} }],
  ])('whose cursor goes in a circle in %s are an error that names it', async (_what, { cursorIn, ...asked }) => {
    const following: Record<string, string> = { '': 'a', a: 'b', b: 'a' };
    await using api = await open({ queryParams: [{ key: 'key', value: 'secret-0123' }] }, ({ url, body }, response) => {
      const sent = cursorIn === 'body' ? JSON.parse(body).cursor : new URL(url, 'http://x').searchParams.get('cursor');
      json(response, { items: [1], next: following[sent ?? ''] });
    });
    const pagination = { type: 'cursor', cursorPath: 'next', cursorIn, itemsPath: 'items' };
    const failed = api.datasource.execute({ apiEndpoint: '/x', ...asked, pagination });
    await expect(failed).rejects.toMatchObject({
      message: expect.stringMatching(
        cursorIn === 'body' ? /the cursor "a", which/ : /\/v1\/x\?key=\W+&cursor=a, which/,
      ),
    });
    expect(api.server.seen).toHaveLength(3);
  });

  test('go on while the flag says so, in any form of yes', async () => {
    await using api = await open({}, ({ url }, response) => {
      const isFirst = !url.includes('cursor');
      json(response, { items: [isFirst ? 1 : 2], next: 'c', more: isFirst ? 'true' : 0 });
    });
    const pagination = { type: 'cursor', cursorPath: 'next', morePath: 'more', itemsPath: 'items' };
    expect(await api.datasource.execute({ apiEndpoint: '/x', pagination })).toMatchObject({
      data: [1, 2],
      truncated: false,
    });
  });

  test.each(['http://169.254.169.254/latest', '/admin'])('are not read at %s', async (target) => {
    await using api = await open({}, (_request, response) =>
      json(response, [1], 200, { link: `<${target}>; rel=next` }),
    );
    await expect(api.datasource.execute({ apiEndpoint: '/x', pagination: { type: 'link' } })).rejects.toMatchObject({
      code: 'UPSTREAM_FAILED',
      message: /somewhere else/,
    });
    expect(api.server.seen).toHaveLength(1);
  });
});

describe('failures', () => {
  const failing = (times: number, headers: Record<string, string> = {}) => {
    let left = times;
    return open({}, (_request, response) => {
      left -= 1;
      json(response, {}, left >= 0 ? 503 : 200, headers);
    });
  };

  test('that are temporary are retried as often as declared', async () => {
    await using api = await failing(2, { 'retry-after': '0' });
    await api.ask({ retries: 2 });
    expect(api.server.seen).toHaveLength(3);
  });

  test('are not retried when that could repeat the work', async () => {
    await using api = await failing(1, { 'retry-after': '0' });
    await expect(api.ask({ method: 'POST', retries: 2 })).rejects.toMatchObject({ details: { status: 503 } });
    await using keyed = await failing(1, { 'retry-after': '0' });
    await keyed.datasource.execute({ apiEndpoint: '/x', method: 'POST', retries: 2 }, {}, { idempotencyKey: 'k' });
    expect([api.server.seen.length, keyed.server.seen.length]).toEqual([1, 2]);
  });

  test('with a long Retry-After are reported instead of waited for', async () => {
    await using api = await failing(1, { 'retry-after': '3600' });
    await expect(api.ask({ retries: 2 })).rejects.toMatchObject({
      retryAfter: 3600,
      message: expect.stringContaining('asks to wait 3600 s'),
      details: { retryAfterSeconds: 3600 },
    });
    expect(api.server.seen).toHaveLength(1);
  });

  test('of a closed port', async () => {
    await using closed = await startHTTP();
    await closed[Symbol.asyncDispose]();
    await using api = await openDatasource(restapi, { baseUrl: closed.origin });
    await expect(api.test()).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', details: { reason: 'unreachable' } });
  });

  test('of a certificate from an unknown authority', async () => {
    await using server = await startHTTP(undefined, { tls: selfSigned });
    await using closed = await openDatasource(restapi, { baseUrl: server.origin });
    await using open = await openDatasource(restapi, { baseUrl: server.origin, sslVerify: false });
    await expect(closed.test()).rejects.toMatchObject({ details: { reason: 'tls' } });
    await open.test();
  });

  test('of a server that does not speak HTTP', async () => {
    await using server = await startTCP((socket) => socket.end('SSH-2.0-none\r\n'));
    await using api = await openDatasource(restapi, { baseUrl: `http://127.0.0.1:${server.port}` });
    await expect(api.test()).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });
  });

  test('of a silent server end the connection', async () => {
    await using api = await open({ timeout: 1 }, () => undefined);
    await expect(api.ask({})).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT', details: { reason: 'timeout' } });
    await expect(
      api.datasource.execute({ apiEndpoint: '/x' }, {}, { signal: AbortSignal.timeout(200) }),
    ).rejects.toMatchObject({ name: 'TimeoutError' });

    await eventually(() => expect(api.server.abandoned()).toBe(2));
  });

  test('end when the server is back', async () => {
    const first = await startHTTP();
    await using api = await openDatasource(restapi, { baseUrl: first.origin });
    await api.test();
    await first[Symbol.asyncDispose]();
    await expect(api.test()).rejects.toMatchObject({ code: 'UPSTREAM_FAILED' });

    await using _again = await startHTTP(undefined, { port: first.port });

    await api.test();
  });

  test('of an address that is not public', async () => {
    await using server = await startHTTP();
    await using api = await openDatasource(
      restapi,
      { baseUrl: server.origin },
      { outbound: createOutbound({ allow: [] }) },
    );
    await expect(api.test()).rejects.toMatchObject({ details: { reason: 'not-allowed' } });
    expect(server.seen).toEqual([]);
  });
});

describe('an error after the request was sent tells so', () => {
  test('in a later attempt', async () => {
    await using api = await open({}, async (_request, response) => {
      if (api.server.seen.length === 1) return void response.writeHead(503).end();
      response.writeHead(302, { location: 'http://10.0.0.1/' }).end();
    });

    const error = await api.ask({ retries: 1 }).catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ code: 'UPSTREAM_FAILED', details: { reason: 'not-allowed', sent: true } });
  });

  test('on a later page', async () => {
    await using api = await open({}, ({ url }, response) => {
      if (url.includes('after=2')) response.socket?.destroy();
      else json(response, { items: [1], next: '2' });
    });
    const pagination = { type: 'cursor', cursorParam: 'after', cursorPath: 'next', itemsPath: 'items' };

    await expect(api.ask({ pagination })).rejects.toMatchObject({ details: { reason: 'lost', sent: true } });
    expect(api.server.seen).toHaveLength(2);
  });
});
