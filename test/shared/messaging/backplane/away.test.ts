import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { createProducer } from '#shared/messaging/producer.ts';
import { workflowRuns } from '#shared/messaging/queues/workflow-runs.ts';
import { readConfig } from '#shared/process/config.ts';
import { redisURL } from '#test/support/backplane.ts';
import { startDeployment } from '#test/support/deployment.ts';
import { testLogger, testSecurity, testServers } from '#test/support/environment.ts';
import { eventually } from '#test/support/settle.ts';
import { type StatementProxy, startStatementProxy, type Verdict } from '#test/support/statement-proxy.ts';
import { startRedis } from '../../../servers/redis.ts';

test('a server that goes away between two statements of a consumer does not end the process', async ({ skip }) => {
  if (redisURL) skip('only the Postgres backplane has connections to Postgres');
  await consumeBehind((proxy) => {
    let ended = 0;
    proxy.decide = ({ application }) => {
      if (ended === 5 || !application.includes('.worker')) return 'pass';
      ended += 1;
      return 'end';
    };
    return () => expect(ended).toBe(5);
  });
});

test('a server that goes away as it accepts a connection of a consumer does not end the process', async ({ skip }) => {
  if (redisURL) skip('only the Postgres backplane has connections to Postgres');
  const uncaught: Error[] = [];
  const listener = (error: Error) => void uncaught.push(error);
  process.on('uncaughtExceptionMonitor', listener);
  await consumeBehind((proxy) => {
    let accepted = 0;
    proxy.endsAtStart = (application) => {
      if (!application.includes('.worker')) return false;
      accepted += 1;
      // Every other one, so that the one that listens is among them.
      return accepted < 8 && accepted % 2 === 0;
    };
    return () => expect(accepted).toBeGreaterThan(3);
  });
  process.off('uncaughtExceptionMonitor', listener);
  expect(uncaught).toEqual([]);
});

test('a consumer takes a job within seconds after a server is back that refused its connections', async ({ skip }) => {
  if (redisURL) skip('the connections of Redis open again by themselves');
  let healed = 0;
  await consumeBehind((proxy) => {
    setTimeout(() => proxy.cut(), 1_000);
    setTimeout(() => {
      proxy.heal();
      healed = performance.now();
    }, 4_000);
    return () => expect(healed).toBeGreaterThan(0);
  });
  // BullMQ's own setting would try again 15 s after the cut, which is 12 s later.
  expect(performance.now() - healed).toBeLessThan(10_000);
});

/** Starts a consumer behind a proxy that `disturb` changes, and has it take a job once what that answers holds. */
async function consumeBehind(disturb: (proxy: StatementProxy) => () => void): Promise<void> {
  await using deployment = await startDeployment();
  await using proxy = await startStatementProxy(deployment.config.db.url);
  const config = readConfig({ ...deployment.env, DATABASE_URL: proxy.databaseURL }).backplane;
  await using backplane = await createBackplane(config, testLogger);
  const wasDisturbed = disturb(proxy);
  const done = Promise.withResolvers<void>();
  const options = { concurrency: 1, maxStalledCount: 1, leaseMs: 5_000 };
  const consumer = backplane.worker(workflowRuns.name, async () => done.resolve(), options);
  const running = consumer.run().catch(() => undefined);

  await eventually(wasDisturbed);
  await deployment.producer.enqueue(workflowRuns, [{ instanceID: newID(), epoch: 1 }]);
  void running.then(() => consumer.run());
  await done.promise;
  await consumer.close();
}

test('a queue whose first job comes while Redis is away takes jobs when it is back', async ({ skip }) => {
  if (!redisURL) skip('only the Redis backplane has a Redis');
  const dir = await mkdtemp(join(tmpdir(), 'gantry-away-'));
  {
    await using redis = await startRedis({ dir });
    const env = { NODE_ENV: 'test', DATABASE_URL: testServers.databaseURL, REDIS_URL: redis.url, ...testSecurity };
    await using backplane = await createBackplane(readConfig(env).backplane, testLogger);
    const producer = createProducer(backplane);
    const add = () => producer.enqueue(workflowRuns, [{ instanceID: newID(), epoch: 1 }]);
    await backplane.ping();
    await redis.kill9();
    await expect(add()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(backplane.ping()).rejects.toThrow();

    await redis.restart();

    await eventually(add);
  }
  await rm(dir, { recursive: true, force: true });
});

test('jobs that are added at once share statements, and a failed statement fails every one of them', async ({
  skip,
}) => {
  if (redisURL) skip('Redis takes jobs in a pipeline of its own');
  await using deployment = await startDeployment();
  await using proxy = await startStatementProxy(deployment.config.db.url);
  await using backplane = await createBackplane(
    readConfig({ ...deployment.env, DATABASE_URL: proxy.databaseURL }).backplane,
    testLogger,
  );
  const producer = createProducer(backplane);
  const addMany = (count: number) =>
    Promise.allSettled(
      Array.from({ length: count }, () => producer.enqueue(workflowRuns, [{ instanceID: newID(), epoch: 1 }])),
    );
  const waiting = () => backplane.queue(workflowRuns.name).getWaitingCount();
  await addMany(1);
  let statements = 0;
  let fate: Verdict = 'pass';
  proxy.decide = ({ text }) => {
    if (!/add_jobs?(_bulk)?\b/.test(text)) return 'pass';
    statements += 1;
    return fate;
  };

  const added = await addMany(200);

  expect(added.filter(({ status }) => status === 'rejected')).toEqual([]);
  expect(await waiting()).toBe(201);
  expect(statements).toBeLessThan(5);

  for (const count of [1, 100]) {
    fate = { lose: 'statement' };
    const failed = await addMany(count);
    fate = 'pass';

    expect(failed.filter(({ status }) => status === 'fulfilled')).toEqual([]);
    await eventually(async () => expect(await waiting()).toBe(201));
  }
});
