import { expect, test } from 'vitest';
import { startDeployment } from '#test/support/deployment.ts';
import { code, graph } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';

test('a slot that a node gets after its run was stopped is free again', async () => {
  await using deployment = await startDeployment({ WORKER_SLOTS: '1' });
  const worker = await deployment.startWorker();
  const spin = code('while (true) {}');
  const versionID = await deployment.saveVersion(
    graph({ start: { type: 'start' }, first: spin, second: spin }, ['start>first', 'start>second']),
  );
  const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
  await eventually(async () => {
    const events = await deployment.events(instanceID);
    expect(events.filter(({ status }) => status === 'RUNNING')).toHaveLength(2);
    expect(worker.engine.stats.slotsUsed).toBe(1);
  });

  await deployment.runs.stop(deployment.tenantID, instanceID);

  await eventually(() => expect(worker.engine.stats.slotsUsed).toBe(0), 3000);
});
