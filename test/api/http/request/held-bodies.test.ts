import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import express from 'express';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { sendResponse } from '#api/http/serve/send-response.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aTenant, type TestTenant } from '../../../support/factories.ts';
import { paramFixture } from '../../../support/route-fixtures.ts';
import { eventually } from '../../../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
const sockets: Socket[] = [];
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  tenant = await aTenant(cluster);
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await eventually(() => expect(cluster.context.requests.bytes.used).toBe(0));
});
afterAll(() => cluster[Symbol.asyncDispose]());

const MB = 1024 * 1024;
const form = 'multipart/form-data; boundary=b';

/** Sends the head of a request, and nothing of its body. */
async function announce(path: string, headers: Record<string, string | number>): Promise<void> {
  const { port, hostname } = new URL(cluster.baseURL);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  await once(socket, 'connect');
  const authorization = `Bearer ${await cluster.tokenFor(tenant.creator)}`;
  const lines = Object.entries({ host: 'a', authorization, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  socket.write(`POST /api/v1/tenants/${tenant.id}${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
}

test.each([
  ['JSON', '/workflows', { 'content-type': 'application/json', 'content-length': 4 * MB }, 8 * MB],
  [
    'JSON of unknown length',
    '/workflows',
    { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
    10 * MB,
  ],
  ['a file', '/upload-logo', { 'content-type': form, 'content-length': 9 * MB }, 18 * MB],
  ['a file of unknown length', '/upload-logo', { 'content-type': form, 'transfer-encoding': 'chunked' }, 20 * MB],
])(
  'a request with %s holds its bytes twice, before they have come, until its connection ends',
  async (_what, path, headers, bytes) => {
    await announce(path, headers);

    await eventually(() => expect(cluster.context.requests.bytes.used).toBe(bytes));
  },
);

test('those of one user leave room for another', async () => {
  const other = await aTenant(cluster);
  for (let n = 0; n < 20; n += 1) await announce('/upload-logo', { 'content-type': form, 'content-length': 9 * MB });
  await eventually(() => expect(cluster.context.requests.bytes.waiting).toBeGreaterThan(10));

  const { status } = await cluster
    .as(other.creator)
    .in(other)
    .post('T/workflows', { title: 'x', nodes: [], edges: [], description: 'x'.repeat(500_000) });

  expect(status).toBe(400);
  expect(cluster.context.requests.bytes.waiting).toBeGreaterThan(10);
});

/** Asks, and reads nothing of the answer. */
async function askAndLeave(port: number, head: string): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  socket.pause().on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(head);
}

test('answers that are not read hold their bytes, and others are refused before they hold more than a share', async () => {
  const other = await aTenant(cluster);
  const pathOf = async (of: TestTenant) => {
    const id = await paramFixture('dashboardID')(cluster, of);
    const notes = `jsonb_build_object('notes', repeat('x', 4500000))`;
    await cluster.pool.query(`update dashboard set dashboard_config = ${notes} where id = $1`, [id]);
    return `/api/v1/tenants/${of.id}/dashboards/${id}`;
  };
  const [path, ofOther] = [await pathOf(tenant), await pathOf(other)];
  const head = `GET ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${await cluster.tokenFor(tenant.creator)}\r\n\r\n`;
  for (let n = 0; n < 10; n += 1) await askAndLeave(Number(new URL(cluster.baseURL).port), head);
  await eventually(() => expect(cluster.context.requests.bytes.used).toBeGreaterThan(25 * MB));

  await eventually(async () => expect(await cluster.as(tenant.creator).get(path)).toMatchObject({ status: 503 }));
  expect(cluster.context.requests.bytes.used).toBeLessThan(40 * MB);
  expect(await cluster.as(other.creator).get(ofOther)).toMatchObject({ status: 200 });
});

test('a client that does not take its answer is cut off, later for a longer answer', async () => {
  const left: number[] = [];
  const app = express().get('/:megabytes', async (request, response) => {
    const began = performance.now();
    response.once('close', () => left.push(performance.now() - began));
    const fields = { text: 'x'.repeat(Number(request.params.megabytes) * MB) };
    await sendResponse({ request, response }, { status: 200, fields }, { leastMs: 50, bytesPerSecond: 100 * MB });
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A TCP server's address is never a string.
  const { port } = server.address() as AddressInfo;
  for (const megabytes of [10, 40]) await askAndLeave(port, `GET /${megabytes} HTTP/1.1\r\nhost: a\r\n\r\n`);

  await eventually(() => expect(left).toHaveLength(2));
  expect(left.at(-1)).toBeGreaterThan(400);
  server.close();
});
