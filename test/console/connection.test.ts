import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from 'socket.io';
import { io, type Socket } from 'socket.io-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectionOptions, pollAfterTimeouts } from '#ops/console/client/connection.ts';
import { startUpgradeProxy } from '#test/support/upgrade-proxy.ts';

const http = createServer();
const server = new Server(http);
let url = '';
const started: string[] = [];

beforeAll(async () => {
  server.on('connection', ({ conn }) => void started.push(conn.transport.name));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

async function connect(through: string): Promise<Socket> {
  const socket = io(through, { ...connectionOptions, timeout: 500, forceNew: true });
  pollAfterTimeouts(socket);
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  return socket;
}

test('a socket is a WebSocket, goes on by polling where a proxy refuses that, and begins with polling where one holds it', async () => {
  await using refusing = await startUpgradeProxy(url);
  await using holding = await startUpgradeProxy(url, { holds: true });
  const sockets = [await connect(url), await connect(refusing.url), await connect(holding.url)];

  expect(started).toEqual(['websocket', 'polling', 'polling']);
  expect(refusing.upgrades).toBe(1);
  // A balancer may know no way back to the same server: each new connection is first tried without one.
  const manager = sockets[2]?.io;
  manager?.engine.close();
  await expect.poll(() => manager?.opts.transports).toEqual(['websocket', 'polling']);
  for (const socket of sockets) socket.disconnect();
});
