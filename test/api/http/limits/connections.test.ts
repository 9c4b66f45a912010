/** Limits of a server on connections that come without a proxy. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterEach, describe, expect, test } from 'vitest';
import { createServer } from '#api/app/server.ts';
import { limitConnections } from '#api/http/limits/connections.ts';
import { eventually } from '../../../support/settle.ts';

const resources: (() => void)[] = [];
afterEach(() => {
  for (const end of resources.splice(0)) end();
});

/** An address of this machine that is not loopback. */
const [own] = Object.values(networkInterfaces())
  .flat()
  .flatMap((one) => (one && !one.internal && one.family === 'IPv4' ? one.address : []));

async function listen(server: Server): Promise<number> {
  resources.push(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function open(host: string, port: number): Promise<Socket> {
  const socket = connect({ host, port });
  resources.push(() => socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Sends a request on the connection. Answers with the status line, or with nothing if the server has closed it. */
async function ask(socket: Socket, request = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'): Promise<string> {
  let said = '';
  socket.setEncoding('utf8').on('data', (text) => {
    said += text;
  });
  socket.write(request);
  await eventually(() => expect(said !== '' || socket.closed).toBe(true));
  return said.split('\r\n')[0] ?? '';
}

describe('connections of one address', () => {
  const answers = () => createServer((_request, response) => response.end('ok'));

  test.skipIf(own === undefined)('are limited, and one that ends makes room', async () => {
    const server = answers();
    let refused = 0;
    limitConnections(server, { maxPerAddress: 2, trustedProxies: [] }, () => {
      refused += 1;
    });
    const port = await listen(server);
    const [first, second] = [await open(own ?? '', port), await open(own ?? '', port)];
    expect([await ask(first), await ask(second)]).toEqual(['HTTP/1.1 200 OK', 'HTTP/1.1 200 OK']);

    expect(await ask(await open(own ?? '', port))).toBe('');
    expect(refused).toBe(1);
    expect(await ask(await open('127.0.0.1', port)), 'another address').toBe('HTTP/1.1 200 OK');

    first.destroy();
    await eventually(async () => expect(await ask(await open(own ?? '', port))).toBe('HTTP/1.1 200 OK'));
  });

  test('are not limited for loopback', async () => {
    const server = answers();
    limitConnections(server, { maxPerAddress: 2, trustedProxies: [] });
    const port = await listen(server);

    for (let n = 0; n < 5; n += 1) expect(await ask(await open('127.0.0.1', port))).toBe('HTTP/1.1 200 OK');
  });

  test.skipIf(own === undefined)('are not limited for a trusted proxy, and not if the limit is 0', async () => {
    for (const options of [
      { maxPerAddress: 2, trustedProxies: [own ?? ''] },
      { maxPerAddress: 0, trustedProxies: [] },
    ]) {
      const server = answers();
      limitConnections(server, options);
      const port = await listen(server);
      for (let n = 0; n < 5; n += 1) expect(await ask(await open(own ?? '', port))).toBe('HTTP/1.1 200 OK');
    }
  });
});

describe('a client that sends the headers of a request slowly', () => {
  test('has 20 s', () => {
    expect(createServer(() => undefined)).toMatchObject({ headersTimeout: 20_000, keepAliveTimeout: 75_000 });
  });

  test('is then answered with 408, and its connection closed; one that has sent them may take longer', async () => {
    const server = createServer((_request, response) => void setTimeout(() => response.end('ok'), 400), {
      headersTimeout: 100,
      connectionsCheckingInterval: 20,
    });
    const port = await listen(server);
    const [slow, quick] = [await open('127.0.0.1', port), await open('127.0.0.1', port)];

    const [refused, answered] = await Promise.all([ask(slow, 'GET / HTTP/1.1\r\nHost: x\r\n'), ask(quick)]);

    expect(refused).toBe('HTTP/1.1 408 Request Timeout');
    await eventually(() => expect(slow.closed).toBe(true));
    expect(answered).toBe('HTTP/1.1 200 OK');
  });
});
