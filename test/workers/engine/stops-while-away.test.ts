/** A worker that is told to stop while a store does not answer. On Postgres its queues are away as well. */
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { redisURL } from '#test/support/backplane.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { graph } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';
import { startStatementProxy } from '#test/support/statement-proxy.ts';
import { startTCPProxy } from '#test/support/tcp-proxy.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment({ WORKER_SESSION_SECONDS: '2' });
});
afterAll(() => deployment[Symbol.asyncDispose]());

test.each([
  { heals: true, after: 'once Postgres is back' },
  { heals: false, after: 'when its lease is over' },
])('a worker that stops while Postgres is away ends without an error, and its runs go on $after', async ({ heals }) => {
  await using proxy = await startStatementProxy(deployment.config.db.url);
  await using server = await startHTTP((_request, response) => void waiting.push(response));
  const waiting: ServerResponse[] = [];
  const worker = await deployment.startWorker({ DATABASE_URL: proxy.databaseURL });
  const asks = { type: 'http', url: server.origin };
  const versionID = await deployment.saveVersion(graph({ start: { type: 'start' }, asks }, ['start>asks']));
  const [id = ''] = await deployment.runs.acceptMany([deployment.newRun(versionID)]);
  await deployment.runs.dispatchQueued();
  await eventually(() => expect(waiting).toHaveLength(1));

  proxy.cut();
  const stopped = worker[Symbol.asyncDispose]();
  await sleep(1_000);
  expect((await deployment.read(id)).held_by).not.toBeNull();
  if (heals) proxy.heal();
  await stopped;

  const { held_by } = await deployment.read(id);
  if (heals) expect(held_by).toBeNull();
  proxy.heal();
  await using _next = await deployment.startWorker();
  await eventually(() => expect(waiting).toHaveLength(2));
  waiting[1]?.end('{}');
  await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED' }));
});

test.for([
  { heals: true, when: 'comes back' },
  { heals: false, when: 'stays away' },
])(
  'a worker that stops while Redis is away hands its runs back and ends, if Redis $when',
  async ({ heals }, { skip }) => {
    if (!redisURL) skip('only the Redis backplane has a Redis');
    await using proxy = await startTCPProxy(redisURL ?? '');
    await using server = await startHTTP((_request, response) => void waiting.push(response));
    const waiting: ServerResponse[] = [];
    const worker = await deployment.startWorker({ REDIS_URL: proxy.url });
    const asks = { type: 'http', url: server.origin };
    const versionID = await deployment.saveVersion(graph({ start: { type: 'start' }, asks }, ['start>asks']));
    const [id = ''] = await deployment.runs.acceptMany([deployment.newRun(versionID)]);
    await deployment.runs.dispatchQueued();
    await eventually(() => expect(waiting).toHaveLength(1));

    proxy.cut();
    await sleep(1_000);
    const stopped = worker[Symbol.asyncDispose]();
    await sleep(1_000);
    if (heals) proxy.heal();
    await stopped;

    expect((await deployment.read(id)).held_by).toBeNull();
    await deployment.runs.stop(deployment.tenantID, id);
  },
);
