import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createServer } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { certificates } from '#test/support/certificates.ts';
import { openOutbound } from '#test/support/connector.ts';
import { startTCP } from '#test/support/tcp.ts';
import { connectURL, encrypt, tlsOptions } from '#workers/outbound/tls.ts';

const server = createServer({ cert: certificates.server, key: certificates.serverKey }, (socket) => {
  socket.on('error', () => undefined);
  socket.end(String(socket.servername));
});
let port = 0;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterAll(() => void server.close());

const trusted = { tlsVerify: true, caCertificate: certificates.authority };

test.each([
  ['a name', 'localhost', trusted, 'localhost'],
  ['a name with a trailing dot', 'localhost.', trusted, 'localhost'],
  ['an address, which goes unverified', '127.0.0.1', { tlsVerify: false }, 'false'],
])('the server gets %s', async (_what, host, options, told) => {
  const encrypted = await encryptTo(port, host, options);
  const [first] = await once(encrypted, 'data');
  expect(String(first)).toBe(told);
});

test.each([
  ['is of an authority that is not trusted', 'localhost', { tlsVerify: true }, /issued by no trusted authority/],
  ['is for another name', 'localhost.example', trusted, /is for another host/],
  ['is not for the address', '127.0.0.1', trusted, /is for another host/],
])('a certificate that %s fails and closes the socket', async (_what, host, options, message) => {
  const socket = await dial(port);
  await expect(handshake(socket, host, options)).rejects.toMatchObject({
    code: 'UPSTREAM_FAILED',
    message: expect.stringMatching(message),
    retry: false,
    details: { reason: 'tls' },
  });
  expect(socket.destroyed).toBe(true);
});

test('a silent server fails at the time limit, and the socket is closed', async () => {
  await using silent = await startTCP();
  const socket = await dial(silent.port);
  await expect(handshake(socket, 'localhost', { ...trusted, timeoutMs: 100 })).rejects.toMatchObject({
    code: 'UPSTREAM_TIMEOUT',
    details: { reason: 'timeout' },
  });
  expect(socket.destroyed).toBe(true);
});

test('a handshake ends with the signal', async () => {
  await using silent = await startTCP();
  const stop = new AbortController();
  const failed = expect(
    handshake(await dial(silent.port), 'localhost', { ...trusted, signal: stop.signal }),
  ).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT', details: { reason: 'timeout' } });
  stop.abort();
  await failed;
});

test('a server that disconnects during the handshake is a TLS error, and can be retried over HTTP', async () => {
  await using hangsUp = await startTCP((socket) => socket.destroy());
  await expect(encryptTo(hangsUp.port, 'localhost', trusted)).rejects.toMatchObject({ details: { reason: 'tls' } });
  const url = new URL(`https://localhost:${hangsUp.port}`);
  await expect(
    connectURL(openOutbound, url, { sslVerify: true, signal: AbortSignal.timeout(5_000) }),
  ).rejects.toMatchObject({ retry: true, details: { reason: 'lost' } });
});

interface Options {
  tlsVerify: boolean;
  caCertificate?: string;
  timeoutMs?: number;
  signal?: AbortSignal;
}

async function encryptTo(to: number, host: string, options: Options): Promise<Socket> {
  return handshake(await dial(to), host, options);
}

function handshake(socket: Socket, host: string, { timeoutMs = 5_000, signal, ...verification }: Options) {
  return encrypt(socket, {
    where: `${host}:1`,
    tls: tlsOptions(host, verification),
    signal: signal ?? AbortSignal.timeout(5_000),
    timeoutMs,
  });
}

async function dial(to: number): Promise<Socket> {
  const socket = connect(to, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}
