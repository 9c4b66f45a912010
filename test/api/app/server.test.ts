import { once } from 'node:events';
import { request as rawRequest } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { publicRoute, tenantRoute, userRoute } from '#api/context/routes.ts';
import { newID } from '#shared/core/ids.ts';
import { Json } from '#shared/core/json.ts';
import { type Client, type SmallApi, startSmallApi } from '#test/support/small-api.ts';

const routes = [
  publicRoute({
    name: 'echo',
    method: 'post',
    path: '/webhooks/v1/echo',
    summary: 'Echo',
    description: 'Echo.',
    body: z.object({ text: z.string() }),
    response: z.object({ text: z.string() }),
    idempotent: false,
    handle: async ({ body }) => ({ text: body.text }),
  }),
  userRoute({
    name: 'takeAnything',
    method: 'post',
    path: '/api/v1/anything',
    summary: 'Takes any JSON',
    description: 'Takes any JSON.',
    status: 201,
    body: Json.optional(),
    response: z.object({ received: Json.optional() }),
    idempotent: false,
    handle: async ({ body }) => ({ received: body }),
  }),
  userRoute({
    name: 'fail',
    method: 'get',
    path: '/api/v1/broken',
    summary: 'Throws',
    description: 'Throws.',
    response: z.object({}),
    handle: () => Promise.reject(new Error('password=hunter2')),
  }),
  userRoute({
    name: 'answerUndeclared',
    method: 'get',
    path: '/api/v1/undeclared',
    summary: 'Answers something else than it declares',
    description: 'Answers something else than it declares.',
    response: z.object({ n: z.number() }),
    // @ts-expect-error a handler's answer is what the route declares
    handle: async () => ({ n: 'one' }),
  }),
  tenantRoute({
    name: 'wait',
    method: 'get',
    path: '/wait',
    summary: 'Ends when the client goes away',
    description: 'Ends when the client goes away.',
    permission: 'workflow.list',
    response: z.object({}),
    async handle({ signal }) {
      const aborted = once(signal, 'abort');
      begun();
      await aborted;
      closed();
      return {};
    },
  }),
];
let begun = () => {};
let closed = () => {};

describe('the server', () => {
  let api: SmallApi;
  let ada: Client;
  beforeAll(async () => {
    api = await startSmallApi(routes, { CORS_ORIGINS: 'https://admin.example.com', BODY_LIMIT_BYTES: '100000' });
    ada = await api.as('ada@example.com');
  });
  afterAll(() => api[Symbol.asyncDispose]());

  test('reports that it is alive and ready', async () => {
    const health = await api.send('GET', '/health');
    expect(health.body).toEqual({ success: true, status: 'ok', timestamp: expect.stringMatching(/^\d{4}-.*Z$/) });
    const ready = await api.send('GET', '/ready');
    expect(ready.status).toBe(200);
    expect(ready.body).toEqual({
      success: true,
      status: 'ready',
      checks: {
        postgres: 'ok',
        schema: 'ok',
        backplane: 'ok',
        tenantDatabases: 'ok',
        secrets: 'ok',
        restore: 'ok',
        draining: false,
      },
    });
  });

  test('names what a server of tenants lacks, and is ready', async () => {
    await api.context.pool.query(`insert into tenant_server (name, missing) values ('one', '{pg_signal_backend}')`);

    const { status, body } = await api.send('GET', '/ready');

    expect([status, body.status]).toEqual([200, 'degraded']);
    expect(body.checks.tenantDatabases).toBe(
      'a server of TENANT_DATABASES_URL lacks pg_signal_backend (ops/tenant-server.sql)',
    );
    await api.context.pool.query('delete from tenant_server');
  });

  test('says that it is older than its database, and is ready', async () => {
    const { pool } = api.context;
    await pool.query(
      `insert into schema_migration (name, executed_at) values ('Migration29990101000000_Later', now())`,
    );

    const { status, body } = await api.send('GET', '/ready');
    await pool.query(`delete from schema_migration where name like 'Migration2999%'`);

    expect([status, body.status, body.checks.postgres]).toEqual([200, 'degraded', 'ok']);
    expect(body.checks.schema).toBe(
      'This program is older than its database: a newer version has made a migration that it does not know (Migration29990101000000_Later). Update it',
    );
  });

  test('answers an unknown path like another method of a known one', async () => {
    for (const [method, path] of [
      ['GET', '/nothing'],
      ['GET', '/api/v1/nothing'],
      ['DELETE', '/api/v1/anything'],
      ['PUT', '/health'],
    ] as const) {
      const answer = await ada.send(method, path);
      expect(answer.status).toBe(404);
      expect(answer.body).toMatchObject({ success: false, error: { code: 'INVALID_REQUEST' } });
    }
  });

  test("puts a request id on every answer, the caller's own if it is valid", async () => {
    const own = await api.send('GET', '/health', undefined, { 'x-request-id': 'abc-123' });
    expect(own.headers.get('x-request-id')).toBe('abc-123');
    const odd = await api.send('GET', '/nothing', undefined, { 'x-request-id': 'a b{}' });
    expect(odd.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('rejects a body that cannot be read, and says why', async () => {
    const json = Buffer.from('{"a":"\u00e9"}');
    const form = 'application/x-www-form-urlencoded';
    const cases: [body: string | Buffer<ArrayBuffer>, headers: Record<string, string>, message: string][] = [
      ['{"a": ', {}, 'The body is not valid JSON: it ends too early'],
      ['{"a" 1}', {}, 'The body is not valid JSON: error at position 5 (line 1 column 6)'],
      // The parser's own message repeats the text.
      ['{"password": hunter2}', {}, 'The body is not valid JSON'],
      [json, { 'content-type': 'text/plain' }, 'Content-Type: expected application/json, received "text/plain"'],
      [
        json,
        { 'content-type': 'application/json; charset=klingon' },
        'Content-Type: expected the charset utf-8, received "application/json; charset=klingon"',
      ],
      [
        json.toString('latin1'),
        { 'content-type': 'application/json; charset=iso-8859-1' },
        'Content-Type: expected the charset utf-8, received "application/json; charset=iso-8859-1"',
      ],
      [
        'a=1',
        { 'content-type': `${form}; charset=utf-16` },
        `Content-Type: expected the charset utf-8, received "${form}; charset=utf-16"`,
      ],
      [Buffer.from([...Buffer.from('"'), 0xc3, 0x28, ...Buffer.from('"')]), {}, 'The body is not valid UTF-8'],
      [json, { 'content-encoding': 'gzip' }, 'Content-Encoding: the body is not valid "gzip" data'],
      [
        gzipSync(json).subarray(0, -9),
        { 'content-encoding': 'gzip' },
        'Content-Encoding: the body ends before its "gzip" data is complete',
      ],
      [json, { 'content-encoding': 'br' }, 'Content-Encoding: the body is not valid "br" data'],
      [json, { 'content-encoding': 'zstd' }, 'Content-Encoding: the body is not valid "zstd" data'],
      [
        json,
        { 'content-encoding': 'compress' },
        'Content-Encoding: expected gzip, deflate, br or zstd, received "compress"',
      ],
    ];
    for (const [body, headers, message] of cases) {
      const answer = await sendRaw(body, headers);
      expect(answer).toEqual({ status: 400, error: { code: 'INVALID_REQUEST', message } });
    }
    const zipped = await sendRaw(gzipSync(json), { 'content-encoding': 'gzip' });
    expect(zipped.status).toBe(201);
  });

  async function sendRaw(body: string | Buffer<ArrayBuffer>, headers: Record<string, string>) {
    const response = await fetch(`${api.url}/api/v1/anything`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ada.token}`, 'content-type': 'application/json', ...headers },
      body,
    });
    const { error } = (await response.json()) as { error?: unknown };
    return { status: response.status, error };
  }

  test('rejects a body that is too large, also when it is compressed', async () => {
    const large = await ada.send('POST', '/api/v1/anything', { a: 'x'.repeat(100_000) });
    const error = { code: 'PAYLOAD_TOO_LARGE', message: 'The body is larger than 100000 bytes' };
    expect(large).toMatchObject({ status: 413, body: { error } });
    const zipped = await sendRaw(gzipSync(JSON.stringify({ a: 'x'.repeat(100_000) })), { 'content-encoding': 'gzip' });
    expect(zipped).toEqual({ status: 413, error });
    const fields = await sendRaw('a=&'.repeat(2_000), { 'content-type': 'application/x-www-form-urlencoded' });
    expect(fields).toMatchObject({
      status: 413,
      error: { message: 'The body is a form with too many fields: at most 1000 are allowed' },
    });
    const under = await ada.send('POST', '/api/v1/anything', { a: 'x'.repeat(99_000) });
    expect(under.status).toBe(201);
  });

  test('survives a body that is nested very deeply', async () => {
    const answer = await ada.send('POST', '/api/v1/anything', `${'['.repeat(49_000)}${']'.repeat(49_000)}`);

    const message = 'body: must not be nested deeper than 200 levels';
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR', message } } });
  });

  test.each([
    ['{"n":1e400}', 'n: 1e400'],
    ['[{"a":[1,{"deep":-1E+309}]}]', '0.a.1.deep: -1E+309'],
    ['[1.5,12345678901234e0300]', '1: 12345678901234e0300'],
    ['{"price":12345678901234567890.5}', 'price: 12345678901234567890.5'],
    ['{"small":1e-400}', 'small: 1e-400'],
  ])('rejects a number that a double does not hold: %s', async (body, named) => {
    expect(await ada.send('POST', '/api/v1/anything', body)).toMatchObject({
      status: 400,
      body: {
        error: { code: 'VALIDATION_ERROR', message: `${named} is more than a JSON number holds: send it as a text` },
      },
    });
  });

  test('accepts large and small numbers that a double holds, and such text', async () => {
    const body =
      '{"large":1e300,"small":1e-300,"zeros":1.1000000000000000000,"text":"1e400","word":"Infinity","other":"-1e999"}';

    expect((await ada.send('POST', '/api/v1/anything', body)).body.received).toEqual(JSON.parse(body));
  });

  test('accepts an empty body and a form', async () => {
    expect((await ada.send('POST', '/api/v1/anything')).body).toEqual({ success: true });
    const form = await ada.send('POST', '/api/v1/anything', 'a=1&b=two', {
      'content-type': 'application/x-www-form-urlencoded',
    });
    expect(form.body).toEqual({ success: true, received: { a: '1', b: 'two' } });
    const odd = await ada.send('POST', '/api/v1/anything', '__proto__=1&a=1&a=%C3%A9+x&b%5B%5D=2', {
      'content-type': 'application/x-www-form-urlencoded',
    });
    expect(JSON.stringify(odd.body.received)).toBe('{"__proto__":"1","a":["1","é x"],"b[]":"2"}');
  });

  test('rejects a path that cannot be decoded', async () => {
    expect(await ada.send('GET', '/api/v1/tenants/%zz/wait')).toMatchObject({
      status: 400,
      body: { error: { code: 'INVALID_REQUEST', message: 'The path is not valid percent-encoded UTF-8' } },
    });
  });

  test('rejects invalid UTF-8 in a body, a form, a query string and a path', async () => {
    const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
    const headers = { authorization: `Bearer ${ada.token}` };
    const json = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body };
    const form = { method: 'POST', headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' } };
    for (const answer of [
      await fetch(`${api.url}/api/v1/anything`, json),
      await fetch(`${api.url}/api/v1/anything`, { ...form, body: 'a=%c3%28' }),
      await fetch(`${api.url}/api/v1/anything?a=%ff`, { ...json, body: '{}' }),
      await fetch(`${api.url}/api/v1/tenants/%ff/wait`, { headers }),
    ]) {
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ error: { code: 'INVALID_REQUEST' } });
    }
    const fine = await fetch(`${api.url}/api/v1/anything?a=50%&b=%C3%A9`, { ...json, body: '{"a":"\u00e9"}' });
    expect(fine.status).toBe(201);
  });

  test('hides the details of an internal error', async () => {
    for (const path of ['/api/v1/broken', '/api/v1/undeclared']) {
      const answer = await ada.send('GET', path);
      expect(answer.status).toBe(500);
      expect(answer.body).toEqual({
        success: false,
        error: { code: 'INTERNAL_ERROR', message: expect.not.stringContaining('hunter2') },
      });
    }
  });

  test('lets only listed origins read answers with credentials, and every origin call webhooks', async () => {
    const listed = await api.send('GET', '/health', undefined, { origin: 'https://admin.example.com' });
    expect(listed.headers.get('access-control-allow-origin')).toBe('https://admin.example.com');
    expect(listed.headers.get('access-control-allow-credentials')).toBe('true');

    for (const origin of [
      'https://evil.example.com',
      'null',
      'https://admin.example.com.evil.com',
      'http://admin.example.com',
    ]) {
      const other = await api.send('GET', '/health', undefined, { origin });
      expect(other.headers.get('access-control-allow-origin')).toBeNull();
      const asked = await api.send('OPTIONS', '/api/v1/anything', undefined, {
        origin,
        'access-control-request-method': 'POST',
      });
      expect(asked.headers.get('access-control-allow-origin')).toBeNull();
    }

    const webhook = await api.send(
      'POST',
      '/webhooks/v1/echo',
      { text: 'hi' },
      { origin: 'https://anywhere.example.com' },
    );
    expect(webhook.body).toEqual({ success: true, text: 'hi' });
    expect(webhook.headers.get('access-control-allow-origin')).toBe('*');
    expect(webhook.headers.get('access-control-allow-credentials')).toBeNull();
  });

  test('lets a listed origin send every method and header of the API', async () => {
    const asked = await api.send('OPTIONS', '/api/v1/anything', undefined, {
      origin: 'https://admin.example.com',
      'access-control-request-method': 'PATCH',
      'access-control-request-headers': 'authorization,content-type,idempotency-key',
    });

    expect(asked.status).toBe(204);
    expect(asked.headers.get('access-control-allow-methods')).toContain('PATCH');
    expect(asked.headers.get('access-control-allow-headers')).toContain('idempotency-key');
  });

  test('puts security headers on every answer', async () => {
    const { headers } = await api.send('GET', '/nothing');

    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain("default-src 'self'");
    expect(headers.get('x-powered-by')).toBeNull();
  });

  test('tells a handler that its client has disconnected', async () => {
    const { tenantID, path } = await api.tenant(ada);
    await api.grant(tenantID, { subject: ada.userID, object: '*', action: '*' });
    const { promise, resolve } = Promise.withResolvers<void>();
    closed = resolve;
    const { promise: handling, resolve: begin } = Promise.withResolvers<void>();
    begun = begin;

    const request = rawRequest(`${api.url}${path}/wait`, { headers: { authorization: `Bearer ${ada.token}` } });
    request.on('error', () => {});
    request.end();
    await handling;
    request.destroy();

    await promise;
  });
});

describe('a server whose process is about to stop', () => {
  test('is alive but not ready, and requests stop waiting for runs', async () => {
    await using api = await startSmallApi(routes);
    const {
      runs: { awaited: awaitedRuns },
    } = api.context;
    using expected = awaitedRuns.expect({ tenantID: newID(), instanceID: newID() });
    const waiting = expected.outcome(60_000, new AbortController().signal);

    api.context.drain();

    expect(await waiting).toBeUndefined();
    expect((await api.send('GET', '/health')).status).toBe(200);
    const ready = await api.send('GET', '/ready');
    expect(ready.status).toBe(503);
    expect(ready.body.checks.draining).toBe(true);
  });
});
