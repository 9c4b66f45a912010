import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import { runFirstSample } from '#ops/samples/first-run.ts';
import { redisURL } from '#test/support/backplane.ts';
import { startDeployment } from '#test/support/deployment.ts';
import { spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';
import { startRedis } from '../servers/redis.ts';

test('processes that start before Redis wait for it and say so, and outlive its restarts', async ({ skip }) => {
  if (!redisURL) skip('only the Redis backplane has a Redis');
  await using resources = new AsyncDisposableStack();
  const dir = resources.adopt(await mkdtemp(join(tmpdir(), 'gantry-redis-')), (path) =>
    rm(path, { recursive: true, force: true }),
  );
  const redis = resources.use(await startRedis({ dir }));
  const deployment = resources.use(await startDeployment({ WORKER_SESSION_SECONDS: '2', REDIS_URL: redis.url }));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = { ...deployment.env, PORT: String(port), DEV_ISSUER_KEY_FILE: join(dir, 'key.json') };
  await redis.kill9();

  const api = resources.use(spawnNode(['api/main.ts'], env));
  const worker = resources.use(spawnNode(['workers/main.ts'], env));
  await saysThatItIsAway();
  expect((await fetch(`${url}/health`)).status).toBe(200);
  await redis.restart();
  await runsSample();

  for (let restart = 1; restart <= 2; restart += 1) {
    await redis.kill9();
    await saysThatItIsAway();
    await redis.restart();
    await runsSample();
  }
  expect([api.child.exitCode, worker.child.exitCode]).toEqual([null, null]);

  async function saysThatItIsAway(): Promise<void> {
    await eventually(async () => {
      const answer = await fetch(`${url}/ready`);
      expect(answer.status).toBe(503);
      expect(await answer.json()).toMatchObject({
        success: false,
        checks: { backplane: expect.not.stringMatching(/^ok$/) },
      });
    });
  }

  /** Runs the sample through API, queue, worker and socket. */
  async function runsSample(): Promise<void> {
    await eventually(async () => expect((await fetch(`${url}/ready`)).status).toBe(200));
    await eventually(async () => void (await runFirstSample(url, () => undefined)));
  }
});
