/** The most that one address, one user and one client that reads nothing may take of an API process. */
import { once } from 'node:events';
import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGraphParts } from '#api/realtime/bridge/graph-nodes.ts';
import { attachClientEvents } from '#api/realtime/client-events.ts';
import { sendIntakePause } from '#api/realtime/feeds/intake-pause.ts';
import { createListenerTests } from '#api/realtime/feeds/listener-tests.ts';
import { sendReminders } from '#api/realtime/feeds/reminders.ts';
import { rooms } from '#api/realtime/sockets/rooms.ts';
import { MAX_OF_USER } from '#api/realtime/sockets/socket-limits.ts';
import { createRunWatch } from '#api/streams/run-watch.ts';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { testLogger } from '../../../support/environment.ts';
import { aTenant, aUser } from '../../../support/factories.ts';
import { eventually } from '../../../support/settle.ts';
import { bufferedFor, openPair } from '../../../support/slow-client.ts';

let cluster: Cluster;
beforeAll(async () => {
  const settings = { TRUSTED_PROXIES: 'loopback', CONNECTIONS_PER_ADDRESS: '10' };
  cluster = await startCluster({ workers: false, settings });
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** A request by polling, as a proxy sends it for the address. */
function poll(address: string, { sid, body }: { sid?: string; body?: string } = {}): Promise<Response> {
  const session = sid ? `&sid=${sid}` : '';
  return fetch(`${cluster.baseURL}/socket.io/?EIO=4&transport=polling${session}`, {
    headers: { 'x-forwarded-for': address },
    ...(body !== undefined && { method: 'POST', body }),
  });
}

async function begin(address: string): Promise<string> {
  const answer = await poll(address);
  expect(answer.status).toBe(200);
  const opened: { sid: string } = JSON.parse((await answer.text()).slice(1));
  return opened.sid;
}

test('an address has few sockets that have not said whose they are, and more once they have', async () => {
  const [sid] = [await begin('198.51.100.1'), await begin('198.51.100.1')];

  expect((await poll('198.51.100.1')).status).toBe(403);
  await begin('198.51.100.2');
  const token = await cluster.tokenFor(await aUser(cluster));
  expect((await poll('198.51.100.1', { sid, body: `40${JSON.stringify({ token: 'none' })}` })).status).toBe(200);
  expect(await (await poll('198.51.100.1', { sid })).text()).toContain('USER_AUTH_TOKEN_NOT_FOUND');
  expect((await poll('198.51.100.1')).status).toBe(403);
  await poll('198.51.100.1', { sid, body: `40${JSON.stringify({ token })}` });
  expect(await (await poll('198.51.100.1', { sid })).text()).toMatch(/^40\{"sid"/);
  await begin('198.51.100.1');
});

test('a request by polling is counted until its answer, on a connection of a proxy that stays open', async () => {
  const address = '198.51.100.3';
  const sid = await begin(address);
  const pongs: number[] = [];
  for (let n = 0; n < 15; n += 1) pongs.push((await poll(address, { sid, body: '3' })).status);
  expect(pongs).toEqual(Array(15).fill(200));

  const token = await cluster.tokenFor(await aUser(cluster));
  const headers = {
    'x-forwarded-for': address,
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': '10',
  };
  const lasting = Array.from({ length: 10 }, () => {
    const open = request(`${cluster.baseURL}/api/v1/tenants`, { method: 'POST', headers, agent: false });
    open.on('error', () => undefined).flushHeaders();
    return open;
  });
  await eventually(async () => expect((await poll(address, { sid, body: '3' })).status).toBe(429));
  for (const open of lasting) open.destroy();
  await eventually(async () => expect((await poll(address, { sid, body: '3' })).status).toBe(200));
});

test('a user has a limited number of sockets, and one that closes makes room', async () => {
  const [user, other] = [await aUser(cluster), await aUser(cluster)];
  await using stack = new AsyncDisposableStack();
  const sockets = await Promise.all(Array.from({ length: MAX_OF_USER }, () => cluster.socket(user)));
  for (const socket of sockets) stack.use(socket);

  await expect(cluster.socket(user)).rejects.toMatchObject({
    data: { code: 'RATE_LIMITED', message: 'You have 100 sockets open, and may have 100' },
  });
  stack.use(await cluster.socket(other));
  sockets[0]?.raw.disconnect();
  await eventually(async () => void stack.use(await cluster.socket(user)));
});

test('updates for the room of a tenant are not held for a client that reads nothing', async () => {
  await using pair = await openPair();
  const { socket, client, connection } = pair;
  const update = { tenantID: newID(), workflowID: newID(), pausedAt: null };
  const room = rooms.tenant(update.tenantID);
  socket.data.rooms.set(room, { grant: { tenantID: update.tenantID }, version: 1, leave: () => undefined });
  connection.pause();

  for (let n = 0; n < 5_000; n += 1) sendIntakePause([socket], update);
  expect(bufferedFor(socket)).toBeLessThan(200_000);
  connection.resume();

  await eventually(() => expect(bufferedFor(socket)).toBe(0));
  const { length } = client.messages;
  sendIntakePause([socket], update);
  await eventually(() => expect(client.messages.length).toBeGreaterThan(length));
});

test('reminders are not held for a client that reads nothing', async () => {
  await using pair = await openPair();
  const { socket, client, connection } = pair;
  const tenant = await aTenant(cluster);
  socket.data.userID = tenant.creator.id;
  const room = rooms.tenant(tenant.id);
  socket.data.rooms.set(room, { grant: { tenantID: tenant.id }, version: 1, leave: () => undefined });
  const notice = {
    tenantID: tenant.id,
    workflowID: newID(),
    instanceID: newID(),
    nodeID: 'ask',
    iteration: 0,
    frame: [],
    collectionRequestID: newID(),
    title: 'x'.repeat(16_000),
    number: 1,
    of: 1,
  };
  const remind = (count: number) => sendReminders(() => [socket], cluster.context, Array(count).fill(notice));
  connection.pause();

  await remind(1_000);
  expect(bufferedFor(socket)).toBeLessThan(200_000);
  connection.resume();

  await eventually(() => expect(bufferedFor(socket)).toBe(0));
  const { length } = client.messages;
  await remind(1);
  await eventually(() => expect(client.messages.length).toBeGreaterThan(length));
});

test('a client that asks and does not read the answers is disconnected', async () => {
  await using pair = await openPair();
  const { socket, client, connection } = pair;
  await using watch = createRunWatch({ ...cluster.context, logger: testLogger });
  await using tests = createListenerTests(cluster.context);
  attachClientEvents(socket, { ...cluster.context, watch, tests, parts: createGraphParts(cluster.context.pool) });
  expect(await client.ask('leave_room', 'a')).toMatchObject({ success: true });
  connection.pause();
  const closed = once(socket, 'disconnect');
  socket.emit('workflow_intake_update', { tenantID: newID(), workflowID: null, pausedAt: 'x'.repeat(16 * 1024 ** 2) });
  socket.emit('workflow_intake_update', { tenantID: newID(), workflowID: null, pausedAt: 'x'.repeat(4 * 1024 ** 2) });

  client.raw.emit('leave_room', 'a', () => undefined);

  expect((await closed)[0]).toBe('server namespace disconnect');
});
