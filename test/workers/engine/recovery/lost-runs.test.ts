import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';
import { graph, noop, noops } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import { failStaleRuns } from '#workers/engine/recovery/fail-stale-runs.ts';
import { findOverdue } from '#workers/engine/recovery/overdue-runs.ts';

/** Each test leaves the rows as a crash between two statements of the protocol would, and then starts a worker. */
describe('after a crash at any point', () => {
  let deployment: Deployment;
  let versionID: string;
  beforeAll(async () => {
    deployment = await startDeployment({ WORKER_SESSION_SECONDS: '2' });
    versionID = await deployment.saveVersion(noops(3));
  });
  afterAll(() => deployment[Symbol.asyncDispose]());
  let stopWorker: () => Promise<void>;
  beforeEach(async () => {
    await stopWorker?.();
    stopWorker = async () => undefined;
  });

  async function work() {
    const worker = await deployment.startWorker();
    stopWorker = async () => worker[Symbol.asyncDispose]();
    return worker;
  }

  async function accepted(version = versionID): Promise<string> {
    const [id] = await deployment.runs.acceptMany([deployment.newRun(version)]);
    if (!id) throw new Error('not accepted');
    return id;
  }

  async function completes(id: string): Promise<void> {
    await eventually(async () =>
      expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED', held_by: null, ready_at: null }),
    );
    const events = await deployment.events(id);
    const successes = events.filter(({ status }) => status === 'SUCCESS').map(({ node_id }) => node_id);
    expect(new Set(successes).size).toBe(successes.length);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
  }

  test('a claimed run of a dead worker completes', async () => {
    const id = await accepted();
    const dead = newID();
    await deployment.pool.query(
      `insert into worker_session (id, expires_at, ended_at, slots, version) values ($1, now(), now(), 1, 't')`,
      [dead],
    );
    await deployment.pool.query(
      `update workflow_instance set status = 'RUNNING', epoch = 1, held_by = $2, ready_at = null where id = $1`,
      [id, dead],
    );

    await work();

    await completes(id);
    expect(await deployment.read(id)).toMatchObject({ epoch: 3 });
  });

  /** The same two and a half nodes as workers write them, and as those of the version before did. */
  const histories = {
    'with its start in the row of the outcome before it': `
      ($1, 2, 'start', 'SUCCESS', 'output', '{"output":{}}', '["n1"]'),
      ($1, 4, 'n1', 'SUCCESS', 'yes', '{"output":{}}', '["n2"]')`,
    'with its start in a row of its own': `
      ($1, 1, 'start', 'SUCCESS', 'output', '{"output":{}}', null), ($1, 2, 'n1', 'RUNNING', null, null, null),
      ($1, 3, 'n1', 'SUCCESS', 'yes', '{"output":{}}', null), ($1, 4, 'n2', 'RUNNING', null, null, null)`,
  };

  /** A run with this history, whose worker has died. */
  async function lost(history: string, more = ''): Promise<string> {
    const id = await accepted();
    await deployment.pool.query(
      `update workflow_instance set status = 'RUNNING', epoch = 1, held_by = $2, ready_at = null, seq = 4${more} where id = $1`,
      [id, newID()],
    );
    await deployment.pool.query(
      `insert into run_event (instance_id, seq, node_id, status, exit, payload, started) values ${history}`,
      [id],
    );
    return id;
  }

  test.each(Object.entries(histories))(
    'a node in flight, %s, runs again, and finished nodes do not',
    async (_, history) => {
      const id = await lost(history);

      await work();

      await completes(id);
      const events = await deployment.events(id);
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index + 1));
      expect(events.filter(({ node_id }) => node_id === 'n1')).toHaveLength(2);
      expect(
        events.filter(({ node_id }) => node_id === 'n2').map(({ status, attempt }) => `${status} ${attempt}`),
      ).toEqual(['RUNNING 1', 'RUNNING 2', 'SUCCESS 2']);
    },
  );

  test.each(Object.entries(histories))(
    'a run that loses its worker three times, alone, fails and names the node in flight, %s',
    async (_, history) => {
      const id = await lost(history, ', losses = 2, alone = true');

      await work();

      await eventually(async () =>
        expect(await deployment.read(id)).toMatchObject({
          status: 'FAILED',
          error: { code: 'WORKER_LOST', nodeID: 'n2', attempt: 1 },
        }),
      );
      const ends = (await deployment.events(id)).slice(4);
      expect(ends).toMatchObject([
        { seq: 5, node_id: 'n2', status: 'CANCELLED', attempt: 1 },
        { seq: 6, node_id: null, status: 'FAILED' },
      ]);
    },
  );

  test('losing the worker together with other runs does not count, after the first time', async () => {
    const id = await accepted();
    await deployment.pool.query(
      `update workflow_instance set status = 'RUNNING', epoch = 5, losses = 2, alone = false, held_by = $2, ready_at = null, seq = 1 where id = $1`,
      [id, newID()],
    );
    await deployment.pool.query(
      `insert into run_event (instance_id, seq, node_id, status) values ($1, 1, 'start', 'RUNNING')`,
      [id],
    );

    await work();

    await completes(id);
  });

  test('a parent whose child ended without waking it completes', async () => {
    const child = await deployment.saveWorkflow(
      graph({ start: { type: 'start' }, end: { type: 'end' } }, ['start>end']),
    );
    const parentVersion = await deployment.saveVersion(
      graph(
        { start: { type: 'start' }, call: { type: 'subWorkflow', childWorkflowID: child.workflowID }, after: noop },
        ['start>call', 'call:success>after'],
      ),
    );
    const parent = await accepted(parentVersion);
    const childRun = newID();
    await deployment.pool.query(
      `update workflow_instance set status = 'WAITING', epoch = 1, ready_at = null, seq = 3 where id = $1`,
      [parent],
    );
    await deployment.pool.query(
      `insert into run_event (instance_id, seq, node_id, status, exit, payload) values
       ($1, 1, 'start', 'SUCCESS', 'output', '{"output":{}}'), ($1, 2, 'call', 'RUNNING', null, null), ($1, 3, 'call', 'SUSPENDED', null, '{"wait":"child"}')`,
      [parent],
    );
    await deployment.pool.query(
      `insert into run_wait (instance_id, node_id, kind, ref) values ($1, 'call', 'child', $2)`,
      [parent, childRun],
    );
    await deployment.pool.query(
      `insert into workflow_instance (id, tenant_id, workflow_id, version_id, status, deadline_at, caller, parent_id, parent_node_id)
       values ($1, $2, $3, $4, 'RUNNING', now() + interval '1 hour', '{}', $5, 'call')`,
      [childRun, deployment.tenantID, child.workflowID, child.versionID, parent],
    );
    await deployment.pool.query(
      `update workflow_instance set status = 'COMPLETED', completed_at = now() where id = $1`,
      [childRun],
    );

    await work();

    await completes(parent);
  });

  test('children of a cancelled parent are cancelled', async () => {
    const parent = await accepted();
    const childRun = newID();
    await deployment.pool.query(
      `insert into workflow_instance (id, tenant_id, version_id, status, deadline_at, caller, parent_id)
       values ($1, $2, $3, 'WAITING', now() + interval '1 hour', '{}', $4)`,
      [childRun, deployment.tenantID, versionID, parent],
    );
    await deployment.pool.query(
      `insert into run_wait (instance_id, node_id, kind, ref) values ($1, 'call', 'child', $2)`,
      [parent, childRun],
    );
    await deployment.pool.query(
      `with gone as (delete from run_wait where instance_id = $1)
       update workflow_instance set status = 'CANCELLED', completed_at = now(), ready_at = null where id = $1`,
      [parent],
    );

    await work();

    await eventually(async () => expect(await deployment.read(childRun)).toMatchObject({ status: 'CANCELLED' }));
  });

  test('past its deadline a run fails with RUN_TIMEOUT', async () => {
    const slow = await deployment.saveVersion(
      graph({ start: { type: 'start' }, wait: { type: 'delay', delayMinutes: 5 } }, ['start>wait']),
    );
    const { instanceID } = await deployment.runs.accept(deployment.newRun(slow, {}, { timeoutMs: 1500 }));
    const limit = '7 days (the default of `workflowRunTimeout` of its workflow)';
    const message = `The run took longer than ${limit}. It was at "wait"`;
    const error = { code: 'RUN_TIMEOUT', message, nodeID: 'wait', attempt: 1, frame: [] };

    await work();

    await eventually(async () => expect(await deployment.read(instanceID)).toMatchObject({ status: 'FAILED', error }));
    expect((await deployment.events(instanceID)).at(-1)?.payload).toEqual({ error });
    const { rows } = await deployment.pool.query('select from run_wait where instance_id = $1', [instanceID]);
    expect(rows).toEqual([]);
  });

  test('an overdue part comes behind the run around it, and names the limit of that', async () => {
    const limited = await deployment.saveVersion(noops(1), { workflowRunTimeout: '90 s' });
    const part = await accepted();
    const around = await accepted(limited);
    await deployment.pool.query(
      `update workflow_instance set deadline_at = '2026-01-01', parent_id = case when id = $1 then $2::uuid end where id in ($1, $2)`,
      [part, around],
    );

    const overdue = await findOverdue(deployment.pool, { max: 2, except: [] });

    const limit = 'took longer than 90 s (`workflowRunTimeout` of its workflow)';
    expect(overdue).toEqual([
      { id: around, parentID: null, message: `The run ${limit}` },
      { id: part, parentID: around, message: `The run had to end with the run that it is a part of, which ${limit}` },
    ]);
    await deployment.pool.query('delete from workflow_instance where id in ($1, $2)', [part, around]);
  });

  test('a run that does not begin in time fails, and one that begins has its whole time from then on', async () => {
    const within = { timeoutMs: 600_000, queueTimeoutMs: 60_000 };
    const limited = await deployment.saveVersion(noops(3), { queueTimeout: '60 s' });
    const ids = await deployment.runs.acceptMany([
      deployment.newRun(limited, {}, within),
      deployment.newRun(versionID, {}, { timeoutMs: 600_000 }),
    ]);
    const [late = '', patient = ''] = ids;
    // They are not dispatched: no worker runs yet.
    await deployment.pool.query(
      `update workflow_instance set deadline_at = deadline_at - interval '61 s' where id = any($1)`,
      [ids],
    );
    const slow = await deployment.saveVersion(
      graph({ start: { type: 'start' }, wait: { type: 'delay', delayMinutes: 5 } }, ['start>wait']),
    );
    const { instanceID: begun } = await deployment.runs.accept(deployment.newRun(slow, {}, within));

    const worker = await work();
    await worker.sweep.once();

    await eventually(async () => expect((await deployment.read(late)).status).toBe('FAILED'));
    expect((await deployment.read(late)).error).toMatchObject({
      code: 'RUN_TIMEOUT',
      message: 'The run waited longer for its beginning than 1 minute (`queueTimeout` of its workflow)',
    });
    await eventually(async () => expect((await deployment.read(patient)).status).toBe('COMPLETED'));
    await eventually(async () => expect((await deployment.read(begun)).status).toBe('WAITING'));
    const { rows } = await deployment.pool.query<{ seconds: number }>(
      'select extract(epoch from deadline_at - started_at)::float8 as seconds from workflow_instance where id = $1',
      [begun],
    );
    expect(rows).toEqual([{ seconds: 600 }]);
  });

  test('a worker whose lease was ended takes a new one, and its run completes in some worker', async () => {
    const worker = await work();
    const version = await deployment.saveVersion(
      graph({ start: { type: 'start' }, wait: { type: 'delay', delaySeconds: 1, delayMs: 900 }, after: noop }, [
        'start>wait',
        'wait>after',
      ]),
    );
    const { instanceID } = await deployment.runs.accept(deployment.newRun(version));
    await eventually(async () => expect(await deployment.read(instanceID)).toMatchObject({ held_by: worker.leaseID }));
    const before = worker.leaseID;

    await deployment.pool.query('update worker_session set ended_at = now() where id = $1', [before]);

    await completes(instanceID);
    await eventually(() => expect(worker.leaseID).not.toBe(before));
  });
});

describe('stale runs at the start of the service', () => {
  test('a run RUNNING without a heartbeat for longer than the window fails; PENDING and WAITING ones do not', async () => {
    await using deployment = await startDeployment({ STALE_WORKFLOW_WINDOW: '300' });
    const versionID = await deployment.saveVersion(noops(1));
    const [stale, fresh, pending] = (await deployment.runs.acceptMany(
      [1, 2, 3].map(() => deployment.newRun(versionID)),
    )) as [string, string, string];
    const dead = newID();
    for (const [id, age] of [
      [stale, '6 minutes'],
      [fresh, '1 minute'],
    ])
      await deployment.pool.query(
        `update workflow_instance set status = 'RUNNING', epoch = 1, held_by = $2, ready_at = null, updated_at = now() - $3::interval where id = $1`,
        [id, dead, age],
      );
    await deployment.pool.query(
      `update workflow_instance set created_at = now() - interval '1 hour', updated_at = now() - interval '1 hour' where id = $1`,
      [pending],
    );

    await deployment.startWorker();
    await deployment.settle();

    expect(await deployment.read(stale)).toMatchObject({ status: 'FAILED', error: { code: 'WORKER_LOST' } });
    expect(await deployment.read(fresh)).toMatchObject({ status: 'COMPLETED' });
    expect(await deployment.read(pending)).toMatchObject({ status: 'COMPLETED' });
  });

  test('a run that has waited in line for longer than the window fails only if the service was away for as long', async () => {
    await using deployment = await startDeployment({ STALE_WORKFLOW_WINDOW: '300' });
    const versionID = await deployment.saveVersion(noops(1));
    const inLine = async () => {
      const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
      await deployment.pool.query(
        `update workflow_instance set status = 'RUNNING', epoch = 1, ready_at = now() - interval '20 minutes', updated_at = now() - interval '20 minutes' where id = $1`,
        [instanceID],
      );
      return instanceID;
    };
    const id = newID();
    const endedBefore = (age: string) =>
      deployment.pool.query(
        `insert into worker_session (id, expires_at, ended_at, slots, version, kinds) values ($1, now() - $2::interval, now() - $2::interval, 1, '1', '{}')
         on conflict (id) do update set ended_at = excluded.ended_at, expires_at = excluded.expires_at`,
        [id, age],
      );
    const fail = () => failStaleRuns(deployment.pool, deployment.runs, 300_000, testLogger);

    const instanceID = await inLine();
    await endedBefore('10 seconds');
    expect(await fail()).toBe(0);
    await endedBefore('6 minutes');
    expect(await fail()).toBe(1);
    expect(await deployment.read(instanceID)).toMatchObject({ status: 'FAILED', error: { code: 'WORKER_LOST' } });
  });

  test('no run fails while a worker lives, which may have been about to release it', async () => {
    await using deployment = await startDeployment({ STALE_WORKFLOW_WINDOW: '300' });
    const versionID = await deployment.saveVersion(noops(1));
    const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
    await deployment.pool.query(
      `update workflow_instance set status = 'RUNNING', epoch = 1, held_by = $2, ready_at = null, updated_at = now() - interval '6 minutes' where id = $1`,
      [instanceID, newID()],
    );
    await deployment.pool.query(
      `insert into worker_session (id, expires_at, slots, version, kinds) values ($1, now() + interval '1 hour', 1, '1', '{}')`,
      [newID()],
    );

    await deployment.startWorker();
    await deployment.settle();

    expect(await deployment.read(instanceID)).toMatchObject({ status: 'COMPLETED' });
  });
});
