import { io, type Socket } from 'socket.io-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aTenant, aUser } from '../../../support/factories.ts';
import { eventually } from '../../../support/settle.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({
    workers: false,
    apis: 2,
    settings: { USER_REQUESTS_PER_MINUTE: '8', CONNECTIONS_PER_ADDRESS: '2', TRUSTED_PROXIES: 'loopback' },
  });
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** How many were refused for a reason, as the metrics of the process count them. */
function refusals(reason: string, { context }: Pick<Cluster, 'context'> = cluster): number {
  const samples = context.requests.refusals.counts.samples.filter(({ labels }) => labels?.reason === reason);
  return samples.reduce((sum, { value }) => sum + value, 0);
}

describe('a user', () => {
  test('has a limit of requests a minute, and each answer tells the rest', async () => {
    const tenant = await aTenant(cluster);
    const me = cluster.as(tenant.creator).in(tenant);

    for (let n = 0; n < 8; n += 1) {
      const { status, headers } = await me.get(n % 2 === 0 ? 'T/workflows' : '/api/v1/tenants');
      expect(status).toBe(200);
      expect(headers.get('ratelimit-limit')).toBe('8');
      expect(headers.get('ratelimit-policy')).toBe('8;w=60');
      expect(headers.get('ratelimit-remaining')).toBe(String(7 - n));
    }
    const refused = await me.get('T/workflows');
    expect(refused).toMatchObject({
      status: 429,
      body: { error: { code: 'RATE_LIMITED', message: 'A user may make 8 requests a minute' } },
    });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refusals('user requests')).toBe(1);

    const other = await aUser(cluster);
    expect((await cluster.as(other).get('/api/v1/tenants')).status).toBe(200);
    // The other process learns of it.
    const there = cluster.as(tenant.creator, cluster.apis[1]).in(tenant);
    await eventually(async () => expect((await there.get('T/workflows')).status).toBe(429));
  });

  test('is limited by events on sockets as well', async () => {
    const user = await aUser(cluster);
    await using socket = await cluster.socket(user);
    for (let n = 0; n < 8; n += 1)
      expect(await socket.ask('leave_room', 'tenant:none')).toMatchObject({ success: true });

    const counted = refusals('user requests');
    expect(await socket.ask('leave_room', 'tenant:none')).toMatchObject({
      success: false,
      error: { code: 'RATE_LIMITED' },
    });
    expect(refusals('user requests')).toBe(counted + 1);
  });
});

test('a socket has a limit of events, and is disconnected when it goes on', async () => {
  await using free = await startCluster({ workers: false, settings: { USER_REQUESTS_PER_MINUTE: '0' } });
  const user = await aUser(free);
  expect((await free.as(user).get('/api/v1/tenants')).headers.get('ratelimit-limit')).toBeNull();
  await using socket = await free.socket(user);
  for (let n = 0; n < 2_000; n += 1) socket.raw.emit('leave_room', 'tenant:none');
  expect(await socket.ask('leave_room', 'tenant:none')).toMatchObject({ error: { code: 'RATE_LIMITED' } });
  expect(socket.raw.connected).toBe(true);
  expect(refusals('socket events', free)).toBeGreaterThan(0);

  for (let n = 0; n < 10_000; n += 1) socket.raw.emit('leave_room', 'tenant:none');

  await eventually(async () => expect(socket.raw.connected).toBe(false));
});

describe('an address', () => {
  const open: Socket[] = [];
  afterAll(() => {
    for (const socket of open) socket.disconnect();
  });

  /** Connects as a client behind a proxy. */
  async function connectFrom(address: string, token: string): Promise<Socket> {
    const extraHeaders = { 'x-forwarded-for': address };
    const options = { auth: { token }, transports: ['websocket'], reconnection: false, forceNew: true, extraHeaders };
    const socket = io(cluster.baseURL, options);
    open.push(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('connect_error', reject);
    });
    return socket;
  }

  test('has a limit of connections, counted behind trusted proxies and not for loopback', async () => {
    const user = await aUser(cluster);
    const token = await cluster.tokenFor(user);
    const healthFrom = (address: string) =>
      fetch(`${cluster.baseURL}/health`, { headers: { 'x-forwarded-for': address } }).then(({ status }) => status);
    const first = await connectFrom('203.0.113.5', token);
    await connectFrom('203.0.113.5', token);

    await expect(connectFrom('203.0.113.5', token)).rejects.toThrow();
    const refused = await fetch(`${cluster.baseURL}/health`, { headers: { 'x-forwarded-for': '203.0.113.5' } });
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('10');
    expect(await refused.json()).toMatchObject({ success: false, error: { code: 'RATE_LIMITED' } });
    expect(refusals('connections')).toBe(2);
    expect(await healthFrom('203.0.113.6')).toBe(200);
    expect(await healthFrom('127.0.0.1')).toBe(200);

    first.disconnect();
    await eventually(async () => expect(await healthFrom('203.0.113.5')).toBe(200));
  });
});
