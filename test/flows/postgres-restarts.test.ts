import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import { migrateAll } from '#ops/migrate-all.ts';
import { runFirstSample } from '#ops/samples/first-run.ts';
import { newID } from '#shared/core/ids.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { readConfig } from '#shared/process/config.ts';
import { testLogger, testSecurity } from '#test/support/environment.ts';
import { startOwnPostgres } from '#test/support/own-postgres.ts';
import { spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';

/** The queues are in Postgres as well. With Redis beside it: reliability.test.ts and outages.test.ts. */
test('processes that start before Postgres wait for it, and outlive its restarts', async () => {
  await using resources = new AsyncDisposableStack();
  const { postgres, dir } = resources.use(await startOwnPostgres());
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = {
    NODE_ENV: 'test',
    DATABASE_URL: postgres.url,
    BACKPLANE_PREFIX: `t${newID().replaceAll('-', '').slice(-20)}`,
    ...testSecurity,
    PORT: String(port),
    DEV_ISSUER_KEY_FILE: join(dir, 'key.json'),
    WORKER_SESSION_SECONDS: '2',
    SANDBOX_PROCESSES: '1',
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
  };
  const config = readConfig(env);
  {
    await using backplane = await createBackplane(config.backplane, testLogger);
    await migrateAll(config, backplane, testLogger);
  }
  await postgres.kill9();
  const api = resources.use(spawnNode(['api/main.ts'], env));
  const worker = resources.use(spawnNode(['workers/main.ts'], env));
  await eventually(async () => {
    const answer = await fetch(`${url}/ready`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ success: false, checks: { postgres: 'is away' } });
  });
  expect((await fetch(`${url}/health`)).status).toBe(200);

  await postgres.restart();
  await ready();
  await runsSample();

  for (let restart = 1; restart <= 2; restart += 1) {
    await postgres.restart();
    await ready();
    await runsSample();
  }

  expect([api.child.exitCode, worker.child.exitCode]).toEqual([null, null]);

  async function ready(): Promise<void> {
    await eventually(async () => expect((await fetch(`${url}/ready`)).status).toBe(200));
  }

  /** Runs the sample through API, queue, worker and socket. */
  async function runsSample(): Promise<void> {
    await eventually(async () => void (await runFirstSample(url, () => undefined)));
  }
});
