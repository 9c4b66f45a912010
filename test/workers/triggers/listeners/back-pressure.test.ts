/** Checks, against real servers, what a connection reads while events cannot be stored. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextRound } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { AppError } from '#shared/core/errors.ts';
import { receiveEvents } from '#test/support/received-events.ts';
import { eventually } from '#test/support/settle.ts';
import { upstreamError } from '#workers/outbound/upstream-error.ts';
import { untilSilent } from '#workers/triggers/listeners/sources/alive.ts';
import { startRedis } from '../../../servers/redis.ts';

/** More than sockets keep: what is not read stays in the memory of the server. */
const MESSAGES = 8_000;
const TEXT = 'x'.repeat(2_000);
/** 256 kB, and what one chunk of a socket has brought besides. */
const MOST_IN_HAND = 200;
const texts = Array.from({ length: MESSAGES }, (_, n) => `${n} ${TEXT}`);

test('a websocket is not read while its events are not stored, and then nothing is missing', async () => {
  await using resources = new AsyncDisposableStack();
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  resources.defer(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const settings = { options: { url: `ws://127.0.0.1:${port}` }, config: {}, isStored: false };
  await using received = await receiveEvents('websocket', settings);
  await received.ready;
  const [client] = server.clients;
  for (const text of texts) client?.send(text);
  await untilStill(() => received.events.length);
  expect(received.events.length).toBeLessThanOrEqual(MOST_IN_HAND);
  expect(client?.bufferedAmount).toBeGreaterThan(0);

  received.store();

  await eventually(() => expect(received.events).toHaveLength(MESSAGES));
  expect(received.events.map(({ body }) => body.toString())).toEqual(texts);
});

test('a channel of Redis is not read while its events are not stored, and then nothing is missing', async () => {
  await using resources = new AsyncDisposableStack();
  const dir = resources.adopt(await mkdtemp(join(tmpdir(), 'gantry-redis-')), (path) =>
    rm(path, { recursive: true, force: true }),
  );
  const server = resources.use(await startRedis({ dir }));
  const client = resources.adopt(new Redis(server.url), (one) => one.disconnect());
  const settings = {
    options: { connectionOption: 'connectionUrl', connectionUrl: server.url },
    config: { channels: 'orders' },
    isStored: false,
  };
  await using received = await receiveEvents('redis', settings);
  await received.ready;
  await Promise.all(texts.map((text) => client.publish('orders', text)));
  await untilStill(() => received.events.length);
  expect(received.events.length).toBeLessThanOrEqual(MOST_IN_HAND);

  received.store();

  await eventually(() => expect(received.events).toHaveLength(MESSAGES));
  expect(received.events.map(({ body }) => body.toString())).toEqual(texts);
});

/** Resolves when a number has not changed in 50 iterations of the event loop. */
async function untilStill(number: () => number): Promise<void> {
  for (let [still, before] = [0, -1]; still < 50; still += 1) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    await nextRound();
    if (number() !== before) still = 0;
    before = number();
  }
  expect(number()).toBeGreaterThan(0);
}

test('a server whose answer cannot be read because nothing is read is not taken for lost', async () => {
  const ended = new AbortController();
  let isPaused = true;
  let asked = 0;
  const context = { signal: ended.signal, wasPausedSince: () => isPaused };
  const ask = () => {
    asked += 1;
    return new Promise<void>(() => undefined);
  };
  const silent = untilSilent('here', context, { ask, everyMs: 1, answerMs: 5 });
  silent.catch(() => undefined);
  await eventually(() => expect(asked).toBeGreaterThan(2));
  isPaused = false;
  await expect(silent).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });

  // A connection that is lost while it is paused is lost.
  isPaused = true;
  const lost = untilSilent('here', context, { ask: () => Promise.reject(upstreamError('lost', 'here')), everyMs: 1 });
  await expect(lost).rejects.toBeInstanceOf(AppError);
});
