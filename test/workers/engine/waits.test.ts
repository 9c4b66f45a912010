import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { code, graph, noop } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
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

test('a wake whose message is lost is noticed by the next commit of a held run, long before the lease is renewed', async () => {
  await using server = await startHTTP(({ url }, response) => void (url === '/first' && answers.push(response)));
  const answers: ServerResponse[] = [];
  // Renewed every hundred seconds.
  await using _worker = await deployment.startWorker({ WORKER_SESSION_SECONDS: '600' });
  const call = (path: string) => ({ type: 'http', method: 'GET', url: `${server.origin}${path}` });
  const question = { type: 'dataCollection', fields: [{ key: 'answer' }] };
  const versionID = await deployment.saveVersion(
    graph(
      {
        start: { type: 'start' },
        question,
        answered: call('/answered'),
        first: call('/first'),
        second: call('/second'),
      },
      ['start>question', 'question>answered', 'start>first', 'first:success>second'],
    ),
  );
  const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
  await eventually(async () => {
    expect(answers).toHaveLength(1);
    const { rowCount } = await deployment.pool.query('select from run_wait where instance_id = $1', [instanceID]);
    expect(rowCount).toBe(1);
  });

  // As `runs.wake` does, without its message; and without the notice that the sweep would find.
  await deployment.pool.query(
    `update collection_request set status = 'COMPLETED', submitted_data = '{"answer":"yes"}' where instance_id = $1`,
    [instanceID],
  );
  await deployment.pool.query(
    `with told as (delete from run_notice where instance_id = $1)
     update workflow_instance set wake_seq = wake_seq + 1 where id = $1`,
    [instanceID],
  );
  answers[0]?.end('{}');

  await eventually(() => expect(server.seen.map(({ url }) => url).sort()).toEqual(['/answered', '/first', '/second']));
  await deployment.runs.stop(deployment.tenantID, instanceID);
});
