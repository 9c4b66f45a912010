import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { code, graph, noop } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());

const busyFor = (ms: number) => `const end = Date.now() + ${ms}; while (Date.now() < end);`;

test('a wait that begins and ends while a commit of its run is under way leaves nothing behind', async () => {
  await using _worker = await deployment.startWorker({ SANDBOX_PROCESSES: '2' });
  const failing = code(`${busyFor(600)} throw new Error('no');`, { retryLimit: 1, retryDelaySeconds: 0.01 });
  const versionID = await deployment.saveVersion(
    graph(
      {
        start: { type: 'start' },
        middle: code(`${busyFor(300)} return 1;`),
        failing,
        after: noop,
        instead: noop,
      },
      ['start>middle', 'start>failing', 'middle:success>after', 'failing:error>instead'],
    ),
  );
  const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
  await eventually(async () => expect((await deployment.read(instanceID)).seq).toBe(3));

  // The outcome of `middle` waits for this lock; meanwhile `failing` fails, waits and begins again.
  const blocker = await deployment.pool.connect();
  try {
    await blocker.query('begin');
    await blocker.query('lock table run_event in exclusive mode');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
  } finally {
    await blocker.query('commit');
    blocker.release();
  }

  await eventually(async () => expect(await deployment.read(instanceID)).toMatchObject({ status: 'COMPLETED' }));
  const { rows } = await deployment.pool.query('select node_id from run_wait where instance_id = $1', [instanceID]);
  expect(rows).toEqual([]);
});
