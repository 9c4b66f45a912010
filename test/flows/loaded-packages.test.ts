import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '#ops/embedded/ports.ts';
import { redisURL } from '#test/support/backplane.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { type Spawned, spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';

/** A process needs a second and a half of CPU time to start, which may be many seconds on a busy machine. */

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());

const backplane = redisURL
  ? ['@socket.io/redis-adapter', 'bullmq', 'ioredis', 'rate-limiter-flexible', 'socket.io']
  : ['@socket.io/postgres-adapter', 'bullmq', 'rate-limiter-flexible', 'socket.io'];

// Code that reads files of tenants, connects to their servers or runs migrations is loaded by the first request that needs it.
test('an idle worker has loaded no driver, no parser and no entity manager', async () => {
  await using worker = start('workers/main.ts');
  await eventually(async () => {
    const { rows } = await deployment.pool.query('select 1 from worker_session');
    expect(rows).toHaveLength(1);
  });
  expect(await loadedBy(worker)).toEqual(
    [...backplane, 'casbin', 'cron-parser', 'lru-cache', 'oauth4webapi', 'pg', 'pino', 'prom-client', 'zod'].sort(),
  );
});

test('an idle API process has loaded no writer of workbooks', async () => {
  const port = await freePort();
  await using api = start('api/main.ts', { PORT: String(port) });
  await eventually(async () => expect((await fetch(`http://127.0.0.1:${port}/ready`)).status).toBe(200));
  const loaded = [
    '@mikro-orm/core',
    '@mikro-orm/migrations',
    '@mikro-orm/postgresql',
    'busboy',
    'casbin',
    'cors',
    'cron-parser',
    'cronstrue',
  ];
  expect(await loadedBy(api)).toEqual(
    [
      ...backplane,
      ...loaded,
      'express',
      'helmet',
      'jose',
      'lru-cache',
      'minisearch',
      'pg',
      'pino',
      'prom-client',
      'proxy-addr',
      'zod',
    ].sort(),
  );
});

function start(entry: string, more: Record<string, string> = {}): Spawned {
  return spawnNode(['--import', './test/flows/report-packages.ts', entry], { ...deployment.env, ...more });
}

async function loadedBy({ child }: Spawned): Promise<string[]> {
  // Waits for modules that would be loaded only after the start.
  await sleep(500);
  const answered = once(child, 'message');
  child.send('packages');
  const [packages] = (await answered) as [string[]];
  return packages;
}
