import { expect, test } from 'vitest';
import { isConnectionError } from '#shared/core/errors.ts';
import { redisURL } from '#test/support/backplane.ts';
import { startDeployment } from '#test/support/deployment.ts';
import { noops } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import { startTCPProxy } from '#test/support/tcp-proxy.ts';

/** TCP itself gives up after a quarter of an hour. */
const MAX_MS = 60_000;

test('a Redis behind a network that swallows packets keeps neither a cancel nor the sweep waiting', async ({
  skip,
}) => {
  if (!redisURL) skip('only the Redis backplane has a Redis');
  await using proxy = await startTCPProxy(redisURL ?? '');
  await using deployment = await startDeployment({ REDIS_URL: proxy.url });
  const { backplane, runs, tenantID } = deployment;
  const received: unknown[] = [];
  backplane.messages.subscribe('test', (message) => void received.push(message));
  const arrives = (text: string) =>
    eventually(async () => {
      await backplane.messages.publish('test', text);
      expect(received).toContain(text);
    }, MAX_MS);
  await arrives('before');
  const [id = ''] = await runs.acceptMany([deployment.newRun(await deployment.saveVersion(noops(1)))]);

  proxy.silence();
  const began = performance.now();
  const [status, sentinel] = await Promise.allSettled([runs.stop(tenantID, id), backplane.sentinel()]);

  expect(performance.now() - began).toBeLessThan(MAX_MS);
  expect(status).toEqual({ status: 'fulfilled', value: 'CANCELLED' });
  expect(sentinel.status === 'rejected' && isConnectionError(sentinel.reason)).toBe(true);
  proxy.heal();
  await arrives('after');
});

test.for(['cut', 'silence'] as const)(
  'a consumer ends a job and closes after a %s of its network',
  async (how, { skip }) => {
    if (!redisURL) skip('only the Redis backplane has a Redis');
    await using proxy = await startTCPProxy(redisURL ?? '');
    await using deployment = await startDeployment({ REDIS_URL: proxy.url });
    const { backplane } = deployment;
    const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const process = () => {
      begun.resolve();
      return end.promise;
    };
    const consumer = backplane.worker('jobs', process, { concurrency: 1, maxStalledCount: 1, leaseMs: 5_000 });
    void consumer.run();
    await backplane.add('jobs', [{ name: 'one', data: {}, opts: {} }]);
    await begun.promise;

    proxy[how]();
    const began = performance.now();
    const closed = consumer.close();
    end.resolve();
    await closed;

    expect(performance.now() - began).toBeLessThan(MAX_MS);
  },
);
