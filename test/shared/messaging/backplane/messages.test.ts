import pg from 'pg';
import { expect, test, vi } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { createPostgresBackplane } from '#shared/messaging/backplane/postgres.ts';
import { testLogger, testServers } from '#test/support/environment.ts';
import { eventually } from '#test/support/settle.ts';
import { startTCPProxy } from '#test/support/tcp-proxy.ts';

test('while Postgres is away, one connection at a time is tried; messages are received again afterwards', async () => {
  await using proxy = await startTCPProxy(testServers.databaseURL);
  const config = { prefix: newID(), databaseURL: proxy.url };
  await using backplane = createPostgresBackplane(config, testLogger);
  await using sender = createPostgresBackplane({ ...config, databaseURL: testServers.databaseURL }, testLogger);
  const received = new Set<string>();
  const isReceived = async (channel: string) => {
    await sender.messages.publish(channel, null);
    expect(received).toContain(channel);
  };
  backplane.messages.subscribe('before', () => received.add('before'));
  await eventually(() => isReceived('before'));

  using timers = vi.spyOn(globalThis, 'setTimeout');
  proxy.cut();
  await eventually(() => expect(proxy.refused).toBeGreaterThan(7));
  // Each failed attempt is one timer. If it led to two, there would be 2^8.
  expect(timers.mock.calls.filter(([, ms]) => ms === 500 || ms === 1_000).length).toBeLessThan(20);
  timers.mockRestore();
  backplane.messages.subscribe('meanwhile', () => received.add('meanwhile'));
  received.clear();
  proxy.heal();

  await eventually(() => isReceived('before'));
  await eventually(() => isReceived('meanwhile'));
});

test('channels that are added at once are listened to one after the other', async () => {
  await using backplane = createPostgresBackplane(
    { prefix: newID(), databaseURL: testServers.databaseURL },
    testLogger,
  );
  const received = new Set<string>();
  const channels = ['a', 'b', 'c', 'd'];
  const add = (channel: string) => backplane.messages.subscribe(channel, () => received.add(channel));
  const isReceived = async (channel: string) => {
    await backplane.messages.publish(channel, null);
    expect(received).toContain(channel);
  };
  add('first');
  await eventually(() => isReceived('first'));
  const query: (text: string) => Promise<unknown> = pg.Client.prototype.query;
  let running = 0;
  let most = 0;
  using queries = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(async function (
    this: pg.Client,
    text: string,
  ) {
    running += 1;
    most = Math.max(most, running);
    return await query.call(this, text).finally(() => {
      running -= 1;
    });
  });

  channels.forEach(add);
  await eventually(() => expect(queries).toHaveBeenCalledTimes(channels.length));
  queries.mockRestore();
  for (const channel of channels) await eventually(() => isReceived(channel));
  // The driver warns of a statement that is asked for while another runs; its next version refuses it.
  expect(most).toBe(1);
});
