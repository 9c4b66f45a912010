import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { graph, noop, noops } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';
import { createVersions } from '#workers/engine/claim/versions.ts';
import { LARGE_LENGTH } from '#workers/engine/state/large-outputs.ts';

let deployment: Deployment;
beforeEach(async () => {
  deployment = await startDeployment({ WORKER_SESSION_SECONDS: '2' });
});
afterEach(() => deployment[Symbol.asyncDispose]());

const LOCKED_MS = 20_000;
const PREPARE_CHILD = 'select version_id, workflow_options';

/** A transaction that keeps others from the table while `work` goes on. Throws if that needs the table itself, and so never ends. */
async function whileLocked(table: string, work: () => Promise<void>, mode = 'access exclusive'): Promise<void> {
  const client = await deployment.pool.connect();
  try {
    await client.query('begin');
    await client.query(`lock table ${table} in ${mode} mode`);
    const late = sleep(LOCKED_MS, undefined, { ref: false }).then(() => {
      throw new Error(`${table} was locked for too long`);
    });
    await Promise.race([work(), late]);
  } finally {
    await client.query('commit');
    client.release();
  }
}

/** Whether a statement, of which a part may be named, waits for the table. */
async function waitingFor(table: string, statement = ''): Promise<boolean> {
  const { rows } = await deployment.pool.query(
    `select from pg_locks l join pg_stat_activity a using (pid)
     where l.relation = $1::regclass and not l.granted and a.datname = current_database() and strpos(a.query, $2) > 0`,
    [table, statement],
  );
  return rows.length > 0;
}

test('a worker that serves no runs adds nothing to the window, and finds no crash-suspected runs', async () => {
  await using _asks = await deployment.startWorker({}, ['query.runs']);
  const versionID = await deployment.saveVersion(noops(1));
  const ids = await deployment.runs.acceptMany([deployment.newRun(versionID)]);

  expect(await deployment.runs.dispatchQueued()).toBe(0);

  const { rows } = await deployment.pool.query<{ slots: number }>('select slots from worker_session');
  expect(rows).toEqual([{ slots: 0 }]);
  await using _worker = await deployment.startWorker();
  await eventually(async () => expect(await deployment.read(ids[0] ?? '')).toMatchObject({ status: 'COMPLETED' }));
});

test('a job that reaches a worker after it began to stop leaves its runs to be dispatched again at once', async () => {
  const worker = await deployment.startWorker();
  const versionID = await deployment.saveVersion(noops(1));
  const [id = ''] = await deployment.runs.acceptMany([deployment.newRun(versionID)]);
  await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED' }));
  await worker.engine.drain();
  const late = await deployment.runs.acceptMany([deployment.newRun(versionID), deployment.newRun(versionID)]);
  await deployment.pool.query(
    'update workflow_instance set dispatched_at = now(), ready_at = now(), held_by = null where id = any($1::uuid[])',
    [late],
  );
  const runs = await Promise.all(
    late.map(async (instanceID) => ({ instanceID, epoch: (await deployment.read(instanceID)).epoch + 1 })),
  );

  expect(await worker.engine.advance({ runs })).toEqual({ outcome: 'drained', runs: 0 });

  for (const id of late)
    expect(await deployment.read(id)).toMatchObject({ dispatched_at: null, ready_at: expect.any(Date), held_by: null });
});

test('a run whose claim is answered after its worker has stopped is handed back, not begun', async () => {
  const worker = await deployment.startWorker({}, ['query.runs']);
  const versionID = await deployment.saveVersion(noops(1));
  const [id = ''] = await deployment.runs.acceptMany([deployment.newRun(versionID)]);

  await using stack = new AsyncDisposableStack();
  const client = stack.adopt(await deployment.pool.connect(), (checkedOut) => checkedOut.release(true));
  await client.query('begin');
  await client.query('select from workflow_instance where id = $1 for no key update', [id]);
  const advancing = worker.engine.advance({ runs: [{ instanceID: id, epoch: 1 }] });
  await eventually(async () => {
    const { rowCount } = await deployment.pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    expect(rowCount).toBe(1);
  });
  // Runs that the lease owns by now are released.
  await worker.engine.drain();
  await client.query('commit');

  expect(await advancing).toEqual({ outcome: 'claimed', runs: 1 });
  await eventually(async () =>
    expect(await deployment.read(id)).toMatchObject({ epoch: 1, held_by: null, ready_at: expect.any(Date) }),
  );
  expect(await deployment.events(id)).toEqual([]);
});

test('a child that is prepared while its run fails is not started, although the failure is not committed yet', async () => {
  const open = new Map<string | undefined, ServerResponse>();
  await using server = await startHTTP(({ url }, response) => void open.set(url, response));
  const child = await deployment.saveWorkflow(noops(1));
  const call = { type: 'subWorkflow', childWorkflowID: child.workflowID };
  const asked = (path: string) => ({ type: 'http', method: 'GET', url: `${server.origin}${path}`, retryLimit: 0 });
  const failing = { ...asked('/failing'), errorHandling: 'fail_workflow' };
  const versionID = await deployment.saveVersion(
    graph({ start: { type: 'start' }, call, failing, quick: asked('/quick'), after: noop }, [
      'start>call',
      'start>failing',
      'start>quick',
      'call:success>after',
    ]),
  );
  const worker = await deployment.startWorker({}, ['query.runs']);
  const [id = ''] = await deployment.runs.acceptMany([deployment.newRun(versionID)]);

  const [failed, prepared] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let committing = Promise.resolve();
  // Locked after the run was accepted, which reads whether its workflow is paused.
  await whileLocked('workflow', async () => {
    await worker.engine.advance({ runs: [{ instanceID: id, epoch: 1 }] });
    await eventually(async () => expect(await waitingFor('workflow', PREPARE_CHILD)).toBe(true));
    await eventually(() => expect([...open.keys()].toSorted()).toEqual(['/failing', '/quick']));
    committing = whileLocked('run_event', async () => {
      open.get('/quick')?.end('{}');
      await eventually(async () => expect(await waitingFor('run_event')).toBe(true));
      // So this outcome waits for the commit of the other.
      open.get('/failing')?.writeHead(500).end('{}');
      await eventually(() => expect([...worker.engine.owned.values()].map(({ isOver }) => isOver)).toEqual([true]));
      failed.resolve();
      await prepared.promise;
    });
    await Promise.race([failed.promise, committing]);
  });
  await eventually(async () => expect(await waitingFor('workflow')).toBe(false));
  // More statements than it takes to prepare a child.
  for (let i = 0; i < 20; i++) await worker.pool.query('select');
  prepared.resolve();
  await committing;

  await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'FAILED' }));
  const { rows } = await deployment.pool.query('select from workflow_instance where parent_id = $1', [id]);
  expect(rows).toEqual([]);
});

test('a run that is woken while it is restored is not taken for finished', async () => {
  const ask = { type: 'dataCollection', fields: [{ key: 'answer', fieldType: 'number' }] };
  const versionID = await deployment.saveVersion(graph({ start: { type: 'start' }, ask }, ['start>ask']));
  const worker = await deployment.startWorker({}, ['query.runs']);
  const [id = ''] = await deployment.runs.acceptMany([deployment.newRun(versionID)]);
  await worker.engine.advance({ runs: [{ instanceID: id, epoch: 1 }] });
  await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'WAITING', held_by: null }));
  await deployment.runs.wake([id]);

  await whileLocked('run_event', async () => {
    await worker.engine.advance({ runs: [{ instanceID: id, epoch: 2 }] });
    await eventually(async () => expect(await waitingFor('run_event')).toBe(true));
    worker.engine.onSignal({ kind: 'woken', instanceID: id });
    // More statements than a read of the waits takes.
    for (let i = 0; i < 20; i++) await worker.pool.query('select');
  });

  await eventually(() => expect(worker.engine.owned.size).toBe(0));
  expect(await deployment.read(id)).toMatchObject({ status: 'WAITING', epoch: 2, held_by: null, output: null });
  const { rows } = await deployment.pool.query('select node_id from run_wait where instance_id = $1', [id]);
  expect(rows).toEqual([{ node_id: 'ask' }]);
});

test('the memory of a run is counted when it is restored, also if it has grown since its last release', async () => {
  await using server = await startHTTP(() => undefined);
  const part = (name: string) => ({
    ...{ type: 'javascript', outputVariable: name },
    code: `return 'x'.repeat(${LARGE_LENGTH - 100});`,
  });
  const versionID = await deployment.saveVersion(
    graph({ start: { type: 'start' }, a: part('a'), b: part('b'), call: { type: 'http', url: server.origin } }, [
      'start>a',
      'a:success>b',
      'b:success>call',
    ]),
  );
  const { engine } = await deployment.startWorker({}, ['query.runs']);
  const [id = ''] = await deployment.runs.acceptMany([deployment.newRun(versionID)]);
  await engine.advance({ runs: [{ instanceID: id, epoch: 1 }] });
  await eventually(() => expect(server.seen).toHaveLength(1));
  engine.abandon();
  await deployment.pool.query(
    'update workflow_instance set held_by = null, epoch = 2, ready_at = now(), held_length = 2 where id = $1',
    [id],
  );

  // It can be read, and commits nothing.
  const isCounted = async () => {
    await engine.advance({ runs: [{ instanceID: id, epoch: 3 }] });
    await eventually(() => expect(engine.stats.residentLength).toBeGreaterThan(1.9 * LARGE_LENGTH));
  };
  await whileLocked('run_event', isCounted, 'exclusive');
});

test('an output that is refused takes no room from the outputs after it', async () => {
  const large = { type: 'javascript', code: 'return "x".repeat(600);' };
  const tooLarge = { type: 'javascript', code: 'return "x".repeat(1500);', retryLimit: 0, errorHandling: 'continue' };
  const versionID = await deployment.saveVersion(
    graph({ start: { type: 'start' }, tooLarge, large }, ['start>tooLarge', 'tooLarge:error>large']),
  );
  await using _worker = await deployment.startWorker({ RUN_OUTPUT_MAX_BYTES: '1500' });
  const [id = ''] = await deployment.runs.acceptMany([deployment.newRun(versionID)]);

  await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED' }));
  const events = await deployment.events(id);
  expect(
    events.filter(({ status }) => status !== 'RUNNING').map(({ node_id, status }) => `${node_id} ${status}`),
  ).toEqual(['start SUCCESS', 'tooLarge FAILED', 'large SUCCESS', 'null COMPLETED']);
});

test('a run whose failure the database refuses as well is tried once a second, and ends when it is taken', async () => {
  const { pool } = deployment;
  const worker = await deployment.startWorker();
  const [id = ''] = await deployment.runs.acceptMany([deployment.newRun(await deployment.saveVersion(noops(1)))]);
  await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED' }));
  await pool.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`,
  );
  await pool.query('create trigger refuse before insert on run_event for each row execute function refuse()');
  const [refused = ''] = await deployment.runs.acceptMany([deployment.newRun(await deployment.saveVersion(noops(1)))]);
  await eventually(() => expect(worker.engine.stats.refused).toBeGreaterThan(2));

  const { refused: before } = worker.engine.stats;
  await sleep(2_000);

  expect(worker.engine.stats.refused - before).toBeLessThanOrEqual(3);
  await pool.query('drop trigger refuse on run_event');
  const error = { code: 'INVALID_OUTPUT' };
  await eventually(async () =>
    expect(await deployment.read(refused)).toMatchObject({ status: 'FAILED', error, epoch: 1, held_by: null }),
  );
});

test('cached versions have a limit together, and one that does not fit is read again', async () => {
  const [first, second] = [await deployment.saveVersion(noops(20)), await deployment.saveVersion(noops(20))];
  const { rows } = await deployment.pool.query<{ length: number }>(
    'select length(nodes::text) + length(edges::text) as length from workflow_version limit 1',
  );
  const length = rows[0]?.length ?? 0;
  let reads = 0;
  const counting = new Proxy(deployment.pool, {
    get: (target, key) =>
      key === 'query'
        ? (...query: unknown[]) => {
            reads += 1;
            return Reflect.apply(target.query, target, query);
          }
        : Reflect.get(target, key),
  });

  const loadAll = async (maxLength: number) => {
    reads = 0;
    const load = createVersions(counting, { maxLength });
    for (const id of [first, first, second, first]) await load(id);
    return reads;
  };

  expect(await loadAll(length * 3)).toBe(2);
  expect(await loadAll(Math.round(length * 1.5))).toBe(3);
});

test('a lease is renewed while every other connection of its worker is busy', async () => {
  const worker = await deployment.startWorker({ DATABASE_POOL: '2' });
  const busy = [1, 2, 3, 4].map(() => worker.pool.query('select pg_sleep(300)').catch(() => undefined));
  const expiry = async () => {
    const { rows } = await deployment.pool.query<{ expires_at: Date }>(
      'select expires_at from worker_session where id = $1',
      [worker.leaseID],
    );
    return rows[0]?.expires_at.getTime() ?? 0;
  };
  const before = await expiry();

  await eventually(async () => expect(await expiry()).toBeGreaterThan(before + 1_000));

  // The last two begin when the first two have ended.
  let ended = 0;
  for (const query of busy) void query.then(() => (ended += 1));
  await eventually(async () => {
    await deployment.pool.query(
      `select pg_cancel_backend(pid) from pg_stat_activity where datname = current_database() and query = 'select pg_sleep(300)'`,
    );
    expect(ended).toBe(4);
  });
});
