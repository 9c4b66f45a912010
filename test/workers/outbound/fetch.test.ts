import { describe, expect, test } from 'vitest';
import { createOutboundFetch, type HTTPRequest } from '#workers/outbound/fetch.ts';
import { createOutbound } from '#workers/outbound/gate.ts';
import { openOutbound } from '../../support/connector.ts';
import { json, startHTTP } from '../../support/http-server.ts';
import { selfSigned } from '../../support/self-signed.ts';
import { startTCP } from '../../support/tcp.ts';

const closed = createOutbound({ allow: [] });
const loopback = { address: '127.0.0.1', prefix: 32, family: 'ipv4' } as const;
const soon = () => AbortSignal.timeout(10_000);
const get = (url: string, more: Partial<HTTPRequest> = {}): HTTPRequest => ({
  url: new URL(url),
  method: 'GET',
  ...more,
});

describe('addresses that are not public are refused', () => {
  const forms = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '017700000001',
    '127.0.0.1.',
    '0.0.0.0',
    '0',
    'localhost',
    'LOCALHOST.',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[0:0:0:0:0:ffff:127.0.0.1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '①②⑦.⓪.⓪.①',
  ];

  test.each(forms)('the server at %s', async (host) => {
    await using server = await startHTTP();
    await using fetch = createOutboundFetch(closed);

    await expect(fetch(get(`http://${host}:${server.port}/`), soon())).rejects.toMatchObject({
      code: 'UPSTREAM_FAILED',
      details: { reason: expect.stringMatching(/not-allowed|unreachable/) },
    });

    expect(server.seen).toEqual([]);
  });

  test.each([
    'http://169.254.169.254/latest/meta-data',
    'http://10.0.0.1',
    'http://192.168.0.1:22',
    'https://[fd00:ec2::254]',
    'http://0xa9fea9fe/',
    'http://2852039166/',
  ])('%s', async (url) => {
    await using fetch = createOutboundFetch(openOutbound);
    await expect(fetch(get(url), soon())).rejects.toMatchObject({ details: { reason: 'not-allowed' } });
  });

  test.each([
    'http://1.1.1.1@127.0.0.1/',
    'http://user:pass@1.1.1.1/',
    'http://1.1.1.1:80@127.0.0.1/',
    'file:///etc/passwd',
    'ftp://1.1.1.1/',
    'gopher://127.0.0.1:6379/_x',
    'data:text/plain,x',
    'http://127.0.0.1:0/',
  ])('%s', async (url) => {
    await using fetch = createOutboundFetch(openOutbound);
    await expect(fetch(get(url), soon())).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
  });
});

describe('a host name', () => {
  test('that resolves to another address after the check is connected to at the checked one', async () => {
    await using server = await startHTTP();
    const answers = ['127.0.0.1', '169.254.169.254'];
    const asked: string[] = [];
    const outbound = createOutbound({ allow: [loopback] }, async (host) => {
      asked.push(host);
      return [answers.shift() ?? '169.254.169.254'];
    });
    await using fetch = createOutboundFetch(outbound);

    const first = await fetch(
      get(`http://rebinds.example:${server.port}/`, { headers: { connection: 'x' } }),
      soon(),
    ).catch((error: unknown) => error);
    expect(first).toMatchObject({ code: 'VALIDATION_ERROR' });
    const { status } = await fetch(get(`http://rebinds.example:${server.port}/`), soon());

    expect(status).toBe(200);
    expect(asked).toEqual(['rebinds.example']);
  });

  test('is checked again for every connection', async () => {
    await using server = await startHTTP((_request, response) => {
      response.writeHead(200, { connection: 'close' }).end('{}');
    });
    const answers = ['127.0.0.1', '169.254.169.254'];
    await using fetch = createOutboundFetch(
      createOutbound({ allow: [loopback] }, async () => [answers.shift() ?? '169.254.169.254']),
    );

    await fetch(get(`http://rebinds.example:${server.port}/`), soon());

    await expect(fetch(get(`http://rebinds.example:${server.port}/`), soon())).rejects.toMatchObject({
      details: { reason: 'not-allowed' },
    });
    expect(server.seen).toHaveLength(1);
  });

  test('with allowed and disallowed addresses is connected to at the allowed ones only', async () => {
    await using server = await startHTTP();
    await using fetch = createOutboundFetch(
      createOutbound({ allow: [loopback] }, async () => ['10.0.0.1', '127.0.0.1', '::1']),
    );
    expect(await fetch(get(`http://both.example:${server.port}/`), soon())).toMatchObject({ status: 200 });
  });
});

describe('a redirect', () => {
  const redirecting = (location: string, status = 302) =>
    startHTTP((_request, response) => void response.writeHead(status, { location }).end());

  test.each([
    'http://169.254.169.254/latest',
    'http://[::ffff:169.254.169.254]/',
    'http://10.0.0.1/',
    '//192.168.1.1/',
  ])('to %s is not followed there', async (location) => {
    await using server = await redirecting(location);
    await using fetch = createOutboundFetch(openOutbound);
    await expect(fetch(get(server.origin), soon())).rejects.toMatchObject({
      details: { reason: 'not-allowed', sent: true },
    });
  });

  test('to an unreachable server reports that the request was sent', async () => {
    await using server = await redirecting('http://127.0.0.1:1/');
    await using fetch = createOutboundFetch(openOutbound);

    await expect(fetch(get(server.origin), soon())).rejects.toMatchObject({
      details: { reason: 'unreachable', sent: true },
    });
    const direct = await fetch(get('http://127.0.0.1:1/'), soon()).catch((error: unknown) => error);
    expect(direct).toMatchObject({ details: { reason: 'unreachable' } });
    expect(direct).not.toMatchObject({ details: { sent: true } });
  });

  test('to loopback is not followed from another host', async () => {
    await using target = await startHTTP();
    await using server = await redirecting(`http://127.0.0.2:${target.port}/`);
    await using fetch = createOutboundFetch(createOutbound({ allow: [loopback] }));
    await expect(fetch(get(server.origin), soon())).rejects.toMatchObject({ details: { reason: 'not-allowed' } });
    expect(target.seen).toEqual([]);
  });

  test.each(['file:///etc/passwd', 'http://a:b@127.0.0.1/', 'javascript:alert(1)'])(
    'to %s is an error',
    async (location) => {
      await using server = await redirecting(location);
      await using fetch = createOutboundFetch(openOutbound);
      await expect(fetch(get(server.origin), soon())).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', retry: false });
    },
  );

  test('to itself ends with an error', async () => {
    await using server = await redirecting('/again');
    await using fetch = createOutboundFetch(openOutbound);
    await expect(fetch(get(server.origin), soon())).rejects.toThrow(/more than 10 times/);
    expect(server.seen).toHaveLength(11);
  });

  test('from https to http is an error', async () => {
    await using plain = await startHTTP();
    await using server = await startHTTP(
      (_request, response) => void response.writeHead(302, { location: plain.origin }).end(),
      { tls: selfSigned },
    );
    await using fetch = createOutboundFetch(openOutbound, { sslVerify: false });
    await expect(fetch(get(server.origin), soon())).rejects.toThrow(/without encryption/);
    expect(plain.seen).toEqual([]);
  });

  test('to another port of the same host leaves the credentials behind; one to the same origin does not', async () => {
    await using other = await startHTTP((_request, response) => json(response, {}));
    await using server = await startHTTP(
      ({ url }, response) =>
        void response.writeHead(302, { location: url === '/' ? '/again' : `${other.origin}/` }).end(),
    );
    await using fetch = createOutboundFetch(openOutbound);
    const headers = { authorization: 'Bearer secret', cookie: 'a=1', 'x-api-key': 'secret', accept: 'text/plain' };

    await fetch(get(server.origin, { headers }), soon());

    expect(server.seen.map((seen) => seen.headers['x-api-key'])).toEqual(['secret', 'secret']);
    const [seen] = other.seen;
    expect(seen?.headers).toMatchObject({ accept: 'text/plain' });
    expect(Object.keys(seen?.headers ?? {})).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/authorization|cookie|x-api-key/)]),
    );
  });

  test.each([
    [301, 'POST', 'GET', ''],
    [302, 'POST', 'GET', ''],
    [303, 'PUT', 'GET', ''],
    [307, 'POST', 'POST', 'x'],
    [308, 'PUT', 'PUT', 'x'],
    [301, 'PUT', 'PUT', 'x'],
  ])('with %i changes a %s to a %s', async (status, method, then, body) => {
    await using server = await startHTTP(({ url }, response) =>
      url === '/there' ? json(response, {}) : void response.writeHead(status, { location: '/there' }).end(),
    );
    await using fetch = createOutboundFetch(openOutbound);

    await fetch(get(server.origin, { method, body: 'x', headers: { 'x-own': '1' } }), soon());

    expect(server.seen[1]).toMatchObject({ method: then, body, headers: { 'x-own': '1' } });
  });
});

test('a certificate is verified against the name', async () => {
  await using server = await startHTTP(undefined, { tls: selfSigned });
  await using fetch = createOutboundFetch(openOutbound);
  await expect(fetch(get(`https://localhost:${server.port}/`), soon())).rejects.toMatchObject({
    details: { reason: 'tls' },
  });
  expect(server.seen).toEqual([]);
});

test('endless headers are not read to the end', async () => {
  await using server = await startTCP((socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    const timer = setInterval(() => socket.write(`x-${Math.random()}: ${'y'.repeat(10_000)}\r\n`), 1);
    socket.on('close', () => clearInterval(timer));
  });
  await using fetch = createOutboundFetch(openOutbound);
  await expect(fetch(get(`http://127.0.0.1:${server.port}/`), soon())).rejects.toMatchObject({
    code: 'UPSTREAM_FAILED',
  });
});

test('an endless body is not read to the end', async () => {
  await using server = await startHTTP((_request, response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    };
    response.on('drain', more);
    more();
  });
  await using fetch = createOutboundFetch(openOutbound, { maxBytes: 1_000_000 });
  await expect(fetch(get(server.origin), soon())).rejects.toMatchObject({ details: { reason: 'too-large' } });
});
