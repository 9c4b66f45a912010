import { expect, test, vi } from 'vitest';
import { createPostgresBackplane } from '#shared/backplane/postgres.ts';
import { newID } from '#shared/ids.ts';
import { testLogger, testServers } from '#test/support/environment.ts';
import { eventually } from '#test/support/settle.ts';
import { startTCPProxy } from '#test/support/tcp-proxy.ts';

test('while Postgres is away, one connection at a time is tried; messages are received again afterwards', async () => {
  const database = new URL(testServers.databaseURL);
  await using proxy = await startTCPProxy({ host: database.hostname, port: Number(database.port) });
  database.port = String(proxy.port);
  const config = { prefix: newID(), databaseURL: database.href };
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
  await eventually(() => expect(proxy.refused).toBeGreaterThan(7), 10_000);
  // Each failed attempt is one timer. If it led to two, there would be 2^8.
  expect(timers.mock.calls.filter(([, ms]) => ms === 500 || ms === 1_000).length).toBeLessThan(20);
  timers.mockRestore();
  backplane.messages.subscribe('meanwhile', () => received.add('meanwhile'));
  received.clear();
  proxy.heal();

  await eventually(() => isReceived('before'));
  await eventually(() => isReceived('meanwhile'));
});
