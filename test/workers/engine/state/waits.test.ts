import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { compileGraph, WorkflowEdge, WorkflowNode } from '#shared/workflow/graph/graph.ts';
import { type Activation, Progress } from '#shared/workflow/progress/progress.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { code, graph, noop, noops } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';
import { Waits } from '#workers/engine/state/waits.ts';
import type { WorkerContext } from '#workers/process/worker.ts';

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

/** A run that a worker holds: one branch asks a question, the other calls `/first` and then `/second`. The first call is not answered yet. */
async function ownedWithQuestion(origin: string): Promise<string> {
  const call = (path: string) => ({ type: 'http', method: 'GET', url: `${origin}${path}` });
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
    const { rowCount } = await deployment.pool.query('select from run_wait where instance_id = $1', [instanceID]);
    expect(rowCount).toBe(1);
  });
  return instanceID;
}

/** The question is answered, and the outbox entry that the sweep would find is deleted. */
async function answer(instanceID: string): Promise<void> {
  await deployment.pool.query(
    `update collection_request set status = 'COMPLETED', submitted_data = '{"answer":"yes"}' where instance_id = $1`,
    [instanceID],
  );
  await deployment.pool.query('delete from run_notice where instance_id = $1', [instanceID]);
}

// Renewed every hundred seconds.
const longLease = { WORKER_SESSION_SECONDS: '600' };

test('the owner of a run that is woken is told, and goes on while another node of the run is in flight', async () => {
  await using server = await startHTTP(({ url }, response) => void (url !== '/first' && response.end('{}')));
  await using _worker = await deployment.startWorker(longLease);
  const instanceID = await ownedWithQuestion(server.origin);
  await answer(instanceID);

  await deployment.runs.wake([instanceID]);

  await eventually(() => expect(server.seen.map(({ url }) => url).sort()).toEqual(['/answered', '/first']));
  await deployment.runs.stop(deployment.tenantID, instanceID);
});

test('a wake whose message is lost is noticed by the next commit of an owned run, long before the lease is renewed', async () => {
  const answers: ServerResponse[] = [];
  await using server = await startHTTP(({ url }, response) => void (url === '/first' && answers.push(response)));
  await using worker = await deployment.startWorker(longLease);
  const instanceID = await ownedWithQuestion(server.origin);
  await eventually(() => expect(answers).toHaveLength(1));
  // An earlier wake, which finds nothing: the holder knows this one and not the next.
  await deployment.runs.wake([instanceID]);
  await eventually(() => expect(worker.engine.owned.get(instanceID)?.observedWakeSeq).toBeGreaterThan(0));
  await answer(instanceID);

  // As `runs.wake` does, without its message.
  await deployment.pool.query('update workflow_instance set wake_seq = wake_seq + 1 where id = $1', [instanceID]);
  answers[0]?.end('{}');

  await eventually(() => expect(server.seen.map(({ url }) => url).sort()).toEqual(['/answered', '/first', '/second']));
  await deployment.runs.stop(deployment.tenantID, instanceID);
});

test('a run whose question is answered goes on waiting for its sub-workflow', async () => {
  await using server = await startHTTP((_request, response) => void response.end('{}'));
  await using _worker = await deployment.startWorker(longLease);
  const pause = graph({ start: { type: 'start' }, wait: { type: 'delay', delayMinutes: 5 } }, ['start>wait']);
  const { workflowID } = await deployment.saveWorkflow(pause);
  const call = (path: string) => ({ type: 'http', method: 'GET', url: `${server.origin}${path}` });
  const nodes = {
    start: { type: 'start' },
    sub: { type: 'subWorkflow', childWorkflowID: workflowID },
    afterwards: call('/afterwards'),
    question: { type: 'dataCollection', fields: [{ key: 'answer' }] },
    answered: call('/answered'),
  };
  const versionID = await deployment.saveVersion(
    graph(nodes, ['start>sub', 'sub:success>afterwards', 'start>question', 'question>answered']),
  );
  const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
  const parks = (epoch: number) =>
    eventually(async () =>
      expect(await deployment.read(instanceID)).toMatchObject({ status: 'WAITING', held_by: null, epoch }),
    );
  await parks(1);
  await answer(instanceID);

  await deployment.runs.wake([instanceID]);

  await parks(2);
  expect(server.seen.map(({ url }) => url)).toEqual(['/answered']);
  const { rows } = await deployment.pool.query('select node_id from run_wait where instance_id = $1', [instanceID]);
  expect(rows).toEqual([{ node_id: 'sub' }]);
  await deployment.runs.stop(deployment.tenantID, instanceID);
});

test('a run that is about to park and whose question is answered meanwhile goes on', async () => {
  const answers = new Map<string, ServerResponse>();
  await using server = await startHTTP(({ url = '' }, response) => void answers.set(url, response));
  await using worker = await deployment.startWorker(longLease);
  const call = (path: string) => ({ type: 'http', method: 'GET', url: `${server.origin}${path}` });
  const question = { type: 'dataCollection', fields: [{ key: 'answer' }] };
  const nodes = {
    start: { type: 'start' },
    question,
    answered: call('/answered'),
    one: call('/one'),
    two: call('/two'),
  };
  const versionID = await deployment.saveVersion(
    graph(nodes, ['start>question', 'question>answered', 'start>one', 'start>two']),
  );
  const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
  await eventually(async () => {
    expect([...answers.keys()].sort()).toEqual(['/one', '/two']);
    const { rowCount } = await deployment.pool.query('select from run_wait where instance_id = $1', [instanceID]);
    expect(rowCount).toBe(1);
  });
  const run = worker.engine.owned.get(instanceID);

  // The outcome of the first call waits for this lock. That of the second leaves only the question, so the next commit parks the run.
  const blocker = await deployment.pool.connect();
  try {
    await blocker.query('begin');
    await blocker.query('lock table run_event in exclusive mode');
    const isBlocked = async () => {
      const { rowCount } = await deployment.pool.query(
        `select from pg_locks where not granted and relation = 'run_event'::regclass and database = (select oid from pg_database where datname = current_database())`,
      );
      return rowCount;
    };
    answers.get('/one')?.end('{}');
    await eventually(async () => expect(await isBlocked()).toBe(1));
    answers.get('/two')?.end('{}');
    await eventually(() => expect(run?.isIdle).toBe(true));
    await answer(instanceID);
    await deployment.runs.wake([instanceID]);
    // The next node is ready, and starts with the commit.
    await eventually(() => expect(run?.isIdle).toBe(false));
  } finally {
    await blocker.query('commit');
    blocker.release();
  }

  await eventually(() => expect(answers.has('/answered')).toBe(true));
  answers.get('/answered')?.end('{}');
  await eventually(async () => expect(await deployment.read(instanceID)).toMatchObject({ status: 'COMPLETED' }));
  expect(await deployment.read(instanceID)).toMatchObject({ epoch: 1 });
});

/** Lets a fact come just before the first commit that parks a run. */
function wakeBeforePark({ commitPool: pool }: WorkerContext, instanceID: () => string): void {
  const query = pool.query.bind(pool) as (...all: unknown[]) => Promise<unknown>;
  let isDone = false;
  const waking = async (...all: unknown[]) => {
    if ((all[0] as { name?: string }).name === 'commit_steps_and_waits' && !isDone) {
      isDone = true;
      await query('update workflow_instance set wake_seq = wake_seq + 1 where id = $1', [instanceID()]);
    }
    return query(...all);
  };
  Object.assign(pool, { query: waking });
}

test('a run that is woken while it parks is dispatched at once', async () => {
  await using worker = await deployment.startWorker(longLease);
  let id = '';
  wakeBeforePark(worker, () => id);
  const dispatched: string[] = [];
  const { dispatch } = worker.runs;
  const noting = (ids: readonly string[]) => {
    dispatched.push(...ids);
    return dispatch(ids);
  };
  Object.assign(worker.runs, { dispatch: noting });
  const question = { type: 'dataCollection', fields: [{ key: 'answer' }] };
  const versionID = await deployment.saveVersion(graph({ start: { type: 'start' }, question }, ['start>question']));
  [id = ''] = await deployment.runs.acceptMany([deployment.newRun(versionID)]);

  await eventually(async () =>
    expect(await deployment.read(id)).toMatchObject({ status: 'WAITING', held_by: null, ready_at: null, epoch: 2 }),
  );
  expect(dispatched).toEqual([id]);
  await deployment.runs.stop(deployment.tenantID, id);
});

function anActivation(): Activation {
  const { nodes, edges } = noops(1);
  const compiled = runSync(compileGraph(WorkflowNode.array().parse(nodes), WorkflowEdge.array().parse(edges)));
  const [activation] = new Progress(compiled).begin();
  return activation ?? expect.fail('no frame');
}

test.each([
  { kind: 'time', ms: 2_000, holds: true },
  { kind: 'time', ms: 3_000, holds: false },
  { kind: 'input', ms: 1_000, holds: false },
  { kind: 'child', ms: null, holds: false },
] as const)('a wait for $kind of $ms ms keeps the run in its worker: $holds', ({ kind, ms, holds }) => {
  const waits = new Waits();

  waits.begin(anActivation(), { kind, purpose: 'park', ms }, () => undefined);

  expect(waits.size).toBe(1);
  expect(waits.hasShort).toBe(holds);
  waits.stopTimers();
});

test('a delay until a moment tells how long it was, whether its run was owned or parked', async () => {
  await using _worker = await deployment.startWorker();
  const until = { type: 'delay', delayType: 'until', untilTime: '{{ctx.input.moment}}' };
  const versionID = await deployment.saveVersion(graph({ start: { type: 'start' }, until }, ['start>until']));
  const begin = async (ms: number) => {
    const moment = new Date(Date.now() + ms).toISOString();
    return (await deployment.runs.accept(deployment.newRun(versionID, { moment }))).instanceID;
  };
  const delayedMs = async (id: string): Promise<number> => {
    await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED' }));
    const { payload } = (await deployment.events(id)).findLast(({ node_id }) => node_id === 'until') ?? {};
    return Reflect.get(Object(payload?.output), 'delayedMs');
  };
  const [held, parked] = await Promise.all([begin(1_000), begin(3_600_000)]);
  await eventually(async () =>
    expect(await deployment.read(parked)).toMatchObject({ status: 'WAITING', held_by: null }),
  );
  await deployment.pool.query(
    `update run_wait set due_at = due_at - interval '1 hour', created_at = created_at - interval '1 hour' where instance_id = $1`,
    [parked],
  );
  await deployment.runs.wake([parked]);

  const short = await delayedMs(held);
  expect(short).toBeGreaterThan(0);
  expect(short).toBeLessThanOrEqual(1_000);
  const long = await delayedMs(parked);
  expect(long).toBeGreaterThan(3_590_000);
  expect(long).toBeLessThanOrEqual(3_600_001);
});

test('a wait for longer than a timer can be set for is not over at once', async () => {
  const waits = new Waits();
  let isDue = false;

  waits.begin(anActivation(), { kind: 'input', purpose: 'park', ms: 60 * 24 * 3_600_000 }, () => {
    isDue = true;
  });
  await sleep(20);

  expect(isDue).toBe(false);
  waits.stopTimers();
});
