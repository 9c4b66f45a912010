import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aTenant, type TestTenant } from '../../support/factories.ts';
import { eventually } from '../../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
const sockets: Socket[] = [];
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  tenant = await aTenant(cluster);
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await eventually(() => expect(cluster.context.bytes.used).toBe(0));
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

    await eventually(() => expect(cluster.context.bytes.used).toBe(bytes));
  },
);

test('those of one user leave room for another', async () => {
  const other = await aTenant(cluster);
  for (let n = 0; n < 20; n += 1) await announce('/upload-logo', { 'content-type': form, 'content-length': 9 * MB });
  await eventually(() => expect(cluster.context.bytes.waiting).toBeGreaterThan(10));

  const began = performance.now();
  const { status } = await cluster
    .as(other.creator)
    .in(other)
    .post('T/workflows', { title: 'x', nodes: [], edges: [], description: 'x'.repeat(500_000) });

  expect(status).toBe(400);
  expect(performance.now() - began).toBeLessThan(2_000);
});
