import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createBackplane } from '#shared/backplane/index.ts';
import { readConfig } from '#shared/config.ts';
import { newID } from '#shared/ids.ts';
import { createProducer } from '#shared/producer.ts';
import { workflowRuns } from '#shared/queues/workflow-runs.ts';
import { redisURL } from '#test/support/backplane.ts';
import { testLogger, testSecurity, testServers } from '#test/support/environment.ts';
import { eventually } from '#test/support/settle.ts';
import { startRedis } from '../../servers/redis.ts';

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
