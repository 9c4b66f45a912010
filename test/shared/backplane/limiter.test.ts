import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Backplane, createBackplane } from '#shared/backplane/index.ts';
import { createLimiter } from '#shared/backplane/limiter.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';

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

test('processes count together, and no more pass than may, however many come at once', async () => {
  const limit = { name: 'together', points: 10, seconds: 60, whenAway } as const;
  const limiters = [deployment.backplane.limiter(limit), other.limiter(limit)];

  const answers = await Promise.all(Array.from({ length: 30 }, (_, n) => limiters[n % 2]?.consume('a')));

  expect(answers.filter((answer) => answer?.allowed)).toHaveLength(10);
  expect(Math.max(...answers.map((answer) => answer?.remaining ?? -1))).toBe(9);
  const last = await limiters[0]?.consume('a');
  expect(last).toMatchObject({ allowed: false, limit: 10, remaining: 0 });
  expect(last?.resetSeconds).toBeGreaterThan(50);
  expect(last?.resetSeconds).toBeLessThanOrEqual(60);
});

test('of thousands at once over two processes exactly as many pass as may, and each is told its own place', async () => {
  const limit = { name: 'thousands', points: 1000, seconds: 60, whenAway } as const;
  const limiters = [deployment.backplane.limiter(limit), other.limiter(limit)];

  const asked = Array.from({ length: 3000 }, (_, n) => limiters[n % 2]?.consume('a'));
  // Busier than the patience of any timer, while the store has long answered.
  await new Promise((resolve) => setTimeout(resolve, 5));
  const until = performance.now() + 2500;
  while (performance.now() < until);
  const answers = await Promise.all(asked);

  const passed = answers.filter((answer) => answer?.allowed);
  expect(passed).toHaveLength(1000);
  expect(new Set(passed.map((answer) => answer?.remaining)).size).toBe(1000);
});

test('keys and limits are counted apart, several points at once count as several, and a reset forgets', async () => {
  const limiter = deployment.backplane.limiter({ name: 'apart', points: 5, seconds: 60, whenAway });
  const namesake = deployment.backplane.limiter({ name: 'apart.2', points: 5, seconds: 60, whenAway });

  expect(await limiter.consume('a', 4)).toMatchObject({ allowed: true, remaining: 1 });
  expect(await limiter.consume('a', 2)).toMatchObject({ allowed: false });
  expect(await limiter.consume('b')).toMatchObject({ allowed: true, remaining: 4 });
  expect(await namesake.consume('a')).toMatchObject({ allowed: true, remaining: 4 });
  await limiter.reset('a');
  expect(await limiter.consume('a')).toMatchObject({ allowed: true, remaining: 4 });
});

test('the count begins anew when the time is over', async () => {
  const limiter = deployment.backplane.limiter({ name: 'anew', points: 1, seconds: 1, whenAway });
  await limiter.consume('a');
  expect(await limiter.consume('a')).toMatchObject({ allowed: false, resetSeconds: 1 });

  await expect.poll(async () => (await limiter.consume('a')).allowed, { timeout: 5000 }).toBe(true);
});

test.each(['is gone', 'is silent'])(
  'when the store %s, a process lets pass what may, counted by itself, or nothing, as asked for',
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

test('what passed while the store was away counts when it is back', async () => {
  const store = new ForgetfulStore({ points: 5, duration: 60 });
  const limiter = createLimiter(store, { name: 'back', points: 5, seconds: 60, whenAway }, testLogger);
  await limiter.consume('a');
  store.isAway = true;
  for (let n = 0; n < 2; n += 1) expect(await limiter.consume('a')).toMatchObject({ allowed: true, remaining: 3 - n });

  store.isAway = false;
  await store.delete('a');

  // It has forgotten the first; what this process still owes is not lost.
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
