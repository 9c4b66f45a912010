/** The sockets' adapter in its own process, because a leaked handle keeps that process alive. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Server } from 'socket.io';
import { expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { redisURL as url } from '#test/support/backplane.ts';
import { freshDatabase } from '#test/support/database.ts';
import { testLogger, testServers } from '#test/support/environment.ts';
import { eventually } from '#test/support/settle.ts';
import { startStatementProxy } from '#test/support/statement-proxy.ts';

test('a process that stops while the adapter connects exits', async () => {
  const { databaseURL } = testServers;
  const config = { prefix: 'sockets_test', databaseURL, ...(url && { redis: { url, sentinels: [] } }) };
  const script = `
    import { Redis } from 'ioredis';
import { Server } from 'socket.io';
    import { createBackplane } from '#shared/messaging/backplane/index.ts';
    import { createLogger } from '#shared/core/logger.ts';
    const backplane = await createBackplane(${JSON.stringify(config)}, createLogger({ level: 'silent' }));
    const { adapter } = new Server({ adapter: backplane.adapter() }).of('/');
    await adapter.close();
    await backplane[Symbol.asyncDispose]();
    console.log('disposed');`;

  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: join(import.meta.dirname, '../../../..'),
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 90_000,
  });
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);

  expect({ out, code }).toEqual({ out: 'disposed\n', code: 0 });
});

test('a process that only sends reaches the gateways, and on Redis does not subscribe to what others send', async () => {
  const config = {
    prefix: newID(),
    databaseURL: testServers.databaseURL,
    ...(url && { redis: { url, sentinels: [], sentinelMaster: '' } }),
  };
  await using gateway = await createBackplane(config, testLogger);
  await using first = await createBackplane(config, testLogger);
  await using second = await createBackplane(config, testLogger);
  const received: string[] = [];
  const listening = new Server({ adapter: gateway.adapter() }).of('/');
  listening.on('news', (text: string) => received.push(text));
  const [one, two] = [first, second].map((backplane) => new Server({ adapter: backplane.sendingAdapter() }).of('/'));

  await eventually(() => {
    one?.serverSideEmit('news', 'of the first');
    two?.serverSideEmit('news', 'of the second');
    expect(new Set(received)).toEqual(new Set(['of the first', 'of the second']));
  });

  if (url) {
    const redis = new Redis(url);
    const subscribers = () => redis.pubsub('NUMSUB', `${config.prefix}.io-request#/#`);
    await eventually(async () => expect(await subscribers()).toEqual([expect.any(String), 1])).finally(() =>
      redis.disconnect(),
    );
  }
  for (const namespace of [listening, one, two]) await namespace?.adapter.close();
});

test('sockets go on after their connections have broken, again and again', async ({ skip }) => {
  if (url) skip('the adapter of Redis opens its connections again by itself');
  await using database = await freshDatabase();
  await using proxy = await startStatementProxy(database.url);
  const config = { prefix: newID(), databaseURL: proxy.databaseURL };
  await using gateway = await createBackplane(config, testLogger);
  await using sender = await createBackplane(config, testLogger);
  const received: string[] = [];
  const listening = new Server({ adapter: gateway.adapter() }).of('/');
  listening.on('news', (text: string) => received.push(text));
  const sending = new Server({ adapter: sender.sendingAdapter() }).of('/');
  const arrives = (text: string) =>
    eventually(() => {
      sending.serverSideEmit('news', text);
      expect(received).toContain(text);
    });
  await arrives('at first');

  for (const loses of ['nothing', 'a LISTEN', 'a LISTEN', 'nothing']) {
    let isDue = loses === 'a LISTEN';
    proxy.decide = ({ text }) => {
      if (!isDue || !text.startsWith('LISTEN')) return 'pass';
      isDue = false;
      return { lose: 'statement' };
    };
    proxy.cut();
    proxy.heal();
    await eventually(() => expect(isDue).toBe(false));
    await arrives(`after ${loses} ${received.length}`);
  }
  // Longer than the adapter waits before it asks for a connection again. One of them listens: nothing comes twice.
  await sleep(3_500);
  const last = () => received.filter((text) => text === 'last').length;
  sending.serverSideEmit('news', 'last');
  await eventually(() => expect(last()).toBe(1));
  await sleep(300);
  expect(last()).toBe(1);
  for (const namespace of [listening, sending]) await namespace.adapter.close();
});
