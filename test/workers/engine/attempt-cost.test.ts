import { expect, test } from 'vitest';
import { startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';
import { noops } from '#test/support/graphs.ts';

test('nodes that log nothing create no logger', async () => {
  let created = 0;
  const logger = Object.assign(Object.create(testLogger), {
    child(...args: Parameters<typeof testLogger.child>) {
      created += 1;
      return testLogger.child(...args);
    },
  });
  await using deployment = await startDeployment({}, logger);
  await deployment.startWorker();
  const versionID = await deployment.saveVersion(noops(5), { durability: 'node' });
  const createdBefore = created;

  const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
  await deployment.settle();

  expect(await deployment.read(instanceID)).toMatchObject({ status: 'COMPLETED' });
  expect(created).toBe(createdBefore);
});
