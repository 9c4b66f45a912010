import { expect, test } from 'vitest';
import { startDeployment } from '#test/support/deployment.ts';
import { graph } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';

test('a slot that a node gets after its run was stopped is free again', async () => {
  await using deployment = await startDeployment({ WORKER_SLOTS: '1' });
  await using server = await startHTTP(() => undefined);
  const worker = await deployment.startWorker();
  const call = { type: 'http', method: 'GET', url: server.origin };
  const versionID = await deployment.saveVersion(
    graph({ start: { type: 'start' }, first: call, second: call }, ['start>first', 'start>second']),
  );
  const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
  await eventually(async () => {
    const events = await deployment.events(instanceID);
    expect(events.filter(({ status }) => status === 'RUNNING')).toHaveLength(2);
    expect(worker.engine.stats.slotsUsed).toBe(1);
    expect(server.seen).toHaveLength(1);
  });

  await deployment.runs.stop(deployment.tenantID, instanceID);

  await eventually(() => expect(worker.engine.stats.slotsUsed).toBe(0), 3000);
  expect(server.seen).toHaveLength(1);
});
