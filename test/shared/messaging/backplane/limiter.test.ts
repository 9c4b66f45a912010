import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Backplane, createBackplane } from '#shared/messaging/backplane/index.ts';
import { createLimiter } from '#shared/messaging/backplane/limiter.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';
import { holdEventLoop } from '#test/support/hold-event-loop.ts';

let deployment: Deployment;
let other: Backplane;
beforeAll(async () => {
  deployment = await startDeployment();
  other = await createBackplane(deployment.config.backplane, testLogger);
});
afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await deployment[Symbol.asyncDispose]();
});

const whenAway = 'countHere';

test('processes share one count, and admit exactly the limit of concurrent requests', async () => {
  const limit = { name: newID(), points: 10, seconds: 60, whenAway } as const;
  const limiters = [deployment.backplane.limiter(limit), other.limiter(limit)];

  const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => limiters[n % 2]?.consume('a')));

  expect(answers.filter((answer) => answer?.allowed)).toHaveLength(10);
  expect(Math.max(...answers.map((answer) => answer?.remaining ?? -1))).toBe(9);
  const last = await limiters[0]?.consume('a');
  expect(last).toMatchObject({ allowed: false, limit: 10, remaining: 0 });
  expect(last?.resetSeconds).toBeGreaterThan(50);
  expect(last?.resetSeconds).toBeLessThanOrEqual(60);
});

test('thousands of concurrent requests over two processes get exactly the limit, each with its own rank', async () => {
  const limit = { name: newID(), points: 1000, seconds: 60, whenAway } as const;
  const limiters = [deployment.backplane.limiter(limit), other.limiter(limit)];

  const asked = Array.from({ length: 3000 }, (_, n) => limiters[n % 2]?.consume('a'));
  // The process is busy longer than any of its timers, while the store, which has just been asked, answers.
  for (let n = 0; n < 2; n += 1) await new Promise((resolve) => setImmediate(resolve));
  holdEventLoop(2_500);
  const answers = await Promise.all(asked);

  const passed = answers.filter((answer) => answer?.allowed);
  expect(passed).toHaveLength(1000);
  expect(new Set(passed.map((answer) => answer?.remaining)).size).toBe(1000);
});

test('keys and limits are counted separately, requests of several points count as several, and a reset clears the count', async () => {
  const name = newID();
  const limiter = deployment.backplane.limiter({ name, points: 5, seconds: 60, whenAway });
  const namesake = deployment.backplane.limiter({ name: `${name}.2`, points: 5, seconds: 60, whenAway });

  expect(await limiter.consume('a', 4)).toMatchObject({ allowed: true, remaining: 1 });
  expect(await limiter.consume('a', 2)).toMatchObject({ allowed: false });
  expect(await limiter.consume('b')).toMatchObject({ allowed: true, remaining: 4 });
  expect(await namesake.consume('a')).toMatchObject({ allowed: true, remaining: 4 });
  await limiter.reset('a');
  expect(await limiter.consume('a')).toMatchObject({ allowed: true, remaining: 4 });
});

test('what a process counted by itself is in the shared count when its backplane has ended', async () => {
  const limit = { name: newID(), points: 5, seconds: 60, whenAway } as const;
  const ending = await createBackplane(deployment.config.backplane, testLogger);
  await ending.limiter({ ...limit, addEveryMs: 60_000 }).consume('a', 3);

  await ending[Symbol.asyncDispose]();

  expect(await other.limiter(limit).consume('a')).toMatchObject({ allowed: true, remaining: 1 });
});

test('the count starts again after the period', async () => {
  const limiter = deployment.backplane.limiter({ name: newID(), points: 1, seconds: 1, whenAway });
  await limiter.consume('a');
  expect(await limiter.consume('a')).toMatchObject({ allowed: false, resetSeconds: 1 });

  await expect.poll(async () => (await limiter.consume('a')).allowed).toBe(true);
});

test.each(['is gone', 'is silent'])(
  'when the store %s, a process counts by itself, or refuses if so configured',
  async (how) => {
    await using store = await brokenStore({ isListening: how === 'is silent' });
    const { backplane: config } = deployment.config;
    await using broken = await createBackplane(
      {
        ...config,
        databaseURL: `postgres://x:x@127.0.0.1:${store.port}/x`,
        ...(config.redis && { redis: { ...config.redis, url: `redis://127.0.0.1:${store.port}` } }),
      },
      testLogger,
    );
    const lenient = broken.limiter({ name: 'lenient', points: 5, seconds: 60, whenAway });
    const strict = broken.limiter({ name: 'strict', points: 5, seconds: 60, whenAway: 'refuse' });

    expect(await lenient.consume('a')).toEqual({ allowed: true, limit: 5, remaining: 4, resetSeconds: 60 });
    const answers = await Promise.all(Array.from({ length: 100 }, () => lenient.consume('a')));
    expect(answers.map(({ allowed, remaining }) => allowed && remaining)).toEqual([
      3,
      2,
      1,
      0,
      ...Array(96).fill(false),
    ]);
    expect(await lenient.consume('b')).toMatchObject({ allowed: true, remaining: 4 });
    await expect(strict.consume('a')).rejects.toMatchObject({ code: 'UNAVAILABLE', status: 503 });
    await strict.reset('a');
  },
);

test('requests admitted during an outage of the store are counted afterwards', async () => {
  const store = new ForgetfulStore({ points: 5, duration: 60 });
  const limiter = createLimiter(store, { name: 'back', points: 5, seconds: 60, whenAway }, testLogger);
  await limiter.consume('a');
  store.isAway = true;
  for (let n = 0; n < 2; n += 1) expect(await limiter.consume('a')).toMatchObject({ allowed: true, remaining: 3 - n });

  store.isAway = false;
  await store.delete('a');

  // The store lost the first request; the count that this process still has to report is kept.
  await new Promise((resolve) => setTimeout(resolve, 1100));
  await limiter.consume('a');
  await expect.poll(async () => (await store.get('a'))?.consumedPoints).toBe(3);
  expect(await limiter.consume('a')).toMatchObject({ allowed: true, remaining: 1 });
});

class ForgetfulStore extends RateLimiterMemory {
  isAway = false;

  override async consume(key: string, points?: number): Promise<RateLimiterRes> {
    if (this.isAway) throw new Error('away');
    return super.consume(key, points);
  }
}

async function brokenStore({ isListening }: { isListening: boolean }) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  if (!isListening) await close();
  return { port, [Symbol.asyncDispose]: close };
}
