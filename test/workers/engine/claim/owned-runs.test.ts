import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { graph, noops } from '#test/support/graphs.ts';
import { json, startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';
import type { WorkerContext } from '#workers/process/worker.ts';

/** Rows that say that a run is held, and a worker that sweeps but takes no runs from the queue: only what the tests do begins one. */
let deployment: Deployment;
let worker: WorkerContext;
let versionID: string;
beforeAll(async () => {
  // So long that no renewal of the lease looks at the runs by itself.
  deployment = await startDeployment({ WORKER_SESSION_SECONDS: '600' });
  worker = await deployment.startWorker({}, ['query.runs']);
  versionID = await deployment.saveVersion(noops(1));
});
afterAll(() => deployment[Symbol.asyncDispose]());
afterEach(() => vi.useRealTimers());

async function run(state: string, values: readonly unknown[] = []): Promise<string> {
  const [id = ''] = await deployment.runs.acceptMany([deployment.newRun(versionID)]);
  await deployment.pool.query(`update workflow_instance set ${state} where id = $1`, [id, ...values]);
  return id;
}

const ownedBy = (leaseID: string) => run(`status = 'RUNNING', epoch = 1, held_by = $2, ready_at = null`, [leaseID]);

test('a run that is released from a lost lease has no mark of an earlier dispatch', async () => {
  const id = await run(
    `status = 'RUNNING', epoch = 1, held_by = $2, ready_at = null, dispatched_at = now() - interval '1 hour'`,
    [newID()],
  );

  await eventually(async () =>
    expect(await deployment.read(id)).toMatchObject({ held_by: null, epoch: 2, ready_at: expect.any(Date) }),
  );

  // The worker has no slots, so the run is not dispatched again.
  expect(await deployment.read(id)).toMatchObject({ dispatched_at: null });
});

test('a run that the database has and its owner does not know is released at the second comparison', async () => {
  const id = await ownedBy(worker.leaseID);
  const compare = (epoch: number) => worker.engine.reconcile([{ id, epoch, wake_seq: 0 }], Date.now());

  // The answer to a claim may be under way: each time another one, here.
  await compare(0);
  await compare(1);
  expect(await deployment.read(id)).toMatchObject({ held_by: worker.leaseID, epoch: 1 });
  await compare(1);

  expect(await deployment.read(id)).toMatchObject({ held_by: null, epoch: 2, ready_at: expect.any(Date) });
});

test('the third loss without progress fails a run, and the second does not', async () => {
  const second = await run('losses = 2');
  const third = await run('losses = 3');

  await eventually(async () =>
    expect(await deployment.read(third)).toMatchObject({ status: 'FAILED', error: { code: 'WORKER_LOST' } }),
  );

  expect(await deployment.read(second)).toMatchObject({ status: 'PENDING', error: null });
});

test('a worker that stops hands back every run of its lease, also one that it does not know, for another one at once', async () => {
  const stopping = await deployment.startWorker({}, ['query.runs']);
  // Its claim was committed, and the answer lost.
  const id = await ownedBy(stopping.leaseID);
  const other = newID();
  await deployment.pool.query(
    `insert into worker_session (id, expires_at, slots, version) values ($1, now() + interval '1 hour', 50, 't')`,
    [other],
  );

  await stopping.engine.drain();

  const released = { held_by: null, epoch: 1, losses: 0, ready_at: expect.any(Date), dispatched_at: expect.any(Date) };
  expect(await deployment.read(id)).toMatchObject(released);
  await deployment.pool.query('delete from worker_session where id = $1', [other]);
});

test('a worker whose lease is over claims nothing', async () => {
  const stopping = await deployment.startWorker({}, ['query.runs']);
  const id = await run('dispatched_at = now()');
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.advanceTimersByTime(600_000);

  const advanced = stopping.engine.advance({ runs: [{ instanceID: id, epoch: 1 }] });
  await deployment.pool.query('select 1');
  expect(stopping.engine.stats.claims.statements).toBe(0);
  // It stops before it has renewed its lease, and leaves the run to others.
  await stopping.engine.drain();

  expect(await advanced).toEqual({ outcome: 'drained', runs: 0 });
  expect(await deployment.read(id)).toMatchObject({ held_by: null, dispatched_at: null, epoch: 0 });
});

test('a worker drops each run that the database has not, unless it was claimed after that was read', async () => {
  await using silent = await startHTTP(() => undefined);
  const call = { type: 'http', method: 'GET', url: silent.origin };
  const calling = await deployment.saveVersion(graph({ start: { type: 'start' }, call }, ['start>call']));
  const ids = await deployment.runs.acceptMany([deployment.newRun(calling), deployment.newRun(calling)]);
  await worker.engine.advance({ runs: ids.map((instanceID) => ({ instanceID, epoch: 1 })) });
  await eventually(() => expect(silent.seen).toHaveLength(2));
  const owned = ids.flatMap((id) => worker.engine.owned.get(id) ?? []);
  const isAborted = () => owned.map(({ signal }) => signal.aborted);

  await worker.engine.reconcile([], Math.min(...owned.map(({ claimedAt }) => claimedAt)));
  expect(isAborted()).toEqual([false, false]);

  await worker.engine.reconcile([], Date.now() + 1);
  expect(isAborted()).toEqual([true, true]);
});

test('a wake of which a worker has not heard is found when its runs are compared', async () => {
  await using silent = await startHTTP(() => undefined);
  const call = { type: 'http', method: 'GET', url: silent.origin };
  const askGraph = await deployment.saveVersion(
    graph({ start: { type: 'start' }, call, ask: { type: 'approval' } }, ['start>call', 'start>ask']),
  );
  const [id = ''] = await deployment.runs.acceptMany([deployment.newRun(askGraph)]);
  await worker.engine.advance({ runs: [{ instanceID: id, epoch: 1 }] });
  const asked = async () =>
    (await deployment.events(id)).flatMap(({ node_id, status }) => (node_id === 'ask' ? status : []));
  await eventually(async () => expect(await asked()).toContain('SUSPENDED'));
  await eventually(() => expect(silent.seen).toHaveLength(1));

  await deployment.pool.query(
    `update collection_request set status = 'COMPLETED', submitted_data = '{"decision":"approve"}' where instance_id = $1`,
    [id],
  );
  // The sweep would tell of it, two seconds later.
  await deployment.pool.query('delete from run_notice where instance_id = $1', [id]);
  await worker.engine.reconcile([{ id, epoch: 1, wake_seq: 1 }], Date.now());

  await eventually(async () => expect(await asked()).toContain('SUCCESS'));
});

test('a worker does not drop a run whose end is being written, although the database has released it', async () => {
  const answer = Promise.withResolvers<void>();
  await using server = await startHTTP(async (_request, response) => {
    await answer.promise;
    json(response, {});
  });
  const call = { type: 'http', method: 'GET', url: server.origin };
  const calling = await deployment.saveVersion(graph({ start: { type: 'start' }, call }, ['start>call']));
  const [id = ''] = await deployment.runs.acceptMany([deployment.newRun(calling)]);
  await worker.engine.advance({ runs: [{ instanceID: id, epoch: 1 }] });
  await eventually(() => expect(server.seen).toHaveLength(1));
  const run = worker.engine.owned.get(id);
  await using stack = new AsyncDisposableStack();
  const client = stack.adopt(await deployment.pool.connect(), (checkedOut) => checkedOut.release(true));
  await client.query('begin');
  await client.query('lock table run_event in access exclusive mode');
  answer.resolve();
  await eventually(async () => {
    const { rows } = await client.query('select from pg_locks where relation = $1::regclass and not granted', [
      'run_event',
    ]);
    expect(rows).toHaveLength(1);
  });

  await worker.engine.reconcile([], Date.now() + 1);
  await client.query('commit');

  await eventually(() => expect(run?.releaseReason).toBe('done'));
  expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED', epoch: 1 });
});

test('a worker that has lost its lease drops all of its runs at once', async () => {
  await using silent = await startHTTP(() => undefined);
  const call = { type: 'http', method: 'GET', url: silent.origin };
  const calling = await deployment.saveVersion(graph({ start: { type: 'start' }, call }, ['start>call']));
  const ids = await deployment.runs.acceptMany([deployment.newRun(calling), deployment.newRun(calling)]);
  await worker.engine.advance({ runs: ids.map((instanceID) => ({ instanceID, epoch: 1 })) });
  await eventually(() => expect(silent.seen).toHaveLength(2));
  const owned = ids.flatMap((id) => worker.engine.owned.get(id) ?? []);

  worker.engine.abandon();

  expect(worker.engine.owned.size).toBe(0);
  expect(owned.map(({ signal }) => signal.aborted)).toEqual([true, true]);
});

test.each([
  { last: 'RUNNING', losses: 1 },
  { last: 'SUSPENDED', losses: 0 },
])(
  'losing the worker while the only open node of a run is $last counts as $losses losses',
  async ({ last, losses }) => {
    const [id = ''] = await deployment.runs.acceptMany([deployment.newRun(versionID)]);
    await deployment.pool.query(
      `insert into run_event (instance_id, seq, node_id, status) values ($1, 1, 'start', 'RUNNING'), ($1, 2, 'start', $2)`,
      [id, last],
    );

    await deployment.pool.query(
      `update workflow_instance set status = 'RUNNING', epoch = 1, seq = 2, held_by = $2, ready_at = null where id = $1`,
      [id, newID()],
    );

    await eventually(async () => expect(await deployment.read(id)).toMatchObject({ held_by: null, losses }));
  },
);

test('an outbox entry of a run that has ended is removed', async () => {
  const id = await run(`status = 'CANCELLED', completed_at = now(), ready_at = null`);
  await deployment.pool.query(
    `insert into run_notice (instance_id, kind, created_at)
     select $1, kind, now() - interval '1 minute' from unnest(array['wake', 'cancel']) as kind`,
    [id],
  );

  await eventually(async () => {
    const { rowCount } = await deployment.pool.query('select from run_notice where instance_id = $1', [id]);
    expect(rowCount).toBe(0);
  });
});
