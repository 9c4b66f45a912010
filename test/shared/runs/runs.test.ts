import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { createPool, inTransaction } from '#shared/db/pool.ts';
import { workflowRuns } from '#shared/messaging/queues/workflow-runs.ts';
import { createRuns } from '#shared/runs/runs.ts';
import { RUN_CHANNEL, RunSignal } from '#shared/runs/signals.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';
import { noops } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import { startTCPProxy } from '#test/support/tcp-proxy.ts';

let deployment: Deployment;
let versionID: string;
beforeAll(async () => {
  deployment = await startDeployment();
  versionID = await deployment.saveVersion(noops(1));
});
afterAll(() => deployment[Symbol.asyncDispose]());

test('a run that the database refuses fails alone, and the runs accepted at the same moment do not', async () => {
  const { runs, newRun } = deployment;
  const inputs: JsonObject[] = [{ n: 1 }, { n: 2, text: 'not storable: \u0000' }, { n: 3 }, { n: 4 }];

  const accepted = await Promise.allSettled(inputs.map((input) => runs.accept(newRun(versionID, input))));

  expect(accepted.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  const ids = accepted.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value.instanceID : []));
  const { rows } = await deployment.pool.query(
    `select input->>'n' as n from workflow_instance where id = any($1::uuid[]) order by 1`,
    [ids],
  );
  expect(rows.map(({ n }) => n)).toEqual(['1', '3', '4']);
});

test('a connection that has silently died keeps no accept waiting longer than answers may take, and goes with the idle ones', async () => {
  await using proxy = await startTCPProxy(deployment.config.db.url);
  const pool = createPool({ url: proxy.url, poolSize: 5 }, testLogger, { answerMs: 1_000 });
  const { producer, backplane, newRun } = deployment;
  const runs = createRuns({ pool, dispatchPool: pool, producer, messages: backplane.messages, logger: testLogger });
  await Promise.all(Array.from({ length: 5 }, () => pool.query('select 1')));
  expect(pool.idleCount).toBe(5);

  proxy.lose();
  await expect(runs.accept(newRun(versionID))).rejects.toThrow('Query read timeout');

  await expect(runs.accept(newRun(versionID))).resolves.toMatchObject({ instanceID: expect.any(String) });
  await expect(inTransaction(pool, (client) => client.query('select 1'))).resolves.toBeDefined();
  proxy.lose();
  await expect(inTransaction(pool, (client) => client.query('select 1'))).rejects.toThrow('Query read timeout');
  await pool.end();
});

test('the holders of many runs that are ended at once are all told', async () => {
  const told = new Set<string>();
  const unsubscribe = deployment.backplane.messages.subscribe(RUN_CHANNEL, (message) => {
    for (const { instanceID } of RunSignal.array().parse(message)) told.add(instanceID);
  });
  const ids = await deployment.runs.acceptMany(Array.from({ length: 350 }, () => deployment.newRun(versionID)));
  // A subscription begins in the background.
  await eventually(async () => {
    await deployment.backplane.messages.publish(RUN_CHANNEL, [{ kind: 'woken', instanceID: ids[0] }]);
    expect(told.size).toBe(1);
  });

  const { runs, tenantID } = deployment;
  await runs.end({ tenantID, ids, status: 'CANCELLED', error: null });

  await eventually(() => expect(told.size).toBe(350));
  unsubscribe();
});

function runsOf(payload: unknown): string[] {
  const { instanceID, epoch, more = [] } = workflowRuns.payload.parse(payload);
  return [{ instanceID, epoch }, ...more].map((run) => `${run.instanceID}.${run.epoch}`);
}

/** Inserts runs in a state that workers would have left, without handing them over. */
async function runsThat(state: string, count = 1, parent?: string): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newID());
  await deployment.pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, deadline_at, caller, parent_id)
     select id, $2, $3, now() + interval '1 hour', '{}', $4 from unnest($1::uuid[]) as id`,
    [ids, deployment.tenantID, versionID, parent ?? null],
  );
  await deployment.pool.query(`update workflow_instance set ${state} where id = any($1::uuid[])`, [ids]);
  return ids;
}

describe('the window', () => {
  let leaseID: string;
  beforeEach(async () => {
    await deployment.pool.query('delete from workflow_instance');
    await deployment.pool.query('delete from worker_session');
    await deployment.pool.query('delete from dispatch_turn');
    leaseID = newID();
    // A window of ten runs, one of which is kept for a tenant with nothing in flight.
    await deployment.pool.query(
      `insert into worker_session (id, expires_at, slots, version) values ($1, now() + interval '1 hour', 8, 't')`,
      [leaseID],
    );
  });

  const ready = 'ready_at = now()';

  test('has a quarter more room than there are slots', async () => {
    await runsThat(ready, 15);
    // A dispatch that an earlier test has begun may take some of them.
    const inWindow = async () => {
      const { rows } = await deployment.pool.query('select from workflow_instance where dispatched_at is not null');
      return rows.length;
    };

    for (let n = 0; n < 2; n += 1) {
      await deployment.runs.dispatchQueued();
      await eventually(async () => expect(await inWindow()).toBe(9));
    }
  });

  test('takes accepted runs while it has room, and each of them gets its job', async () => {
    const { runs, newRun, backplane } = deployment;

    const accepted = await Promise.all(Array.from({ length: 13 }, () => runs.accept(newRun(versionID))));

    const ids = accepted.map(({ instanceID }) => instanceID);
    const states = await Promise.all(ids.map((id) => deployment.read(id)));
    const isHandedOver = ids.map((_, n) => n < 9);
    expect(states.map(({ dispatched_at }) => dispatched_at !== null)).toEqual(isHandedOver);
    const queue = backplane.queue('workflow.runs');
    await eventually(async () => {
      const jobs = await queue.getJobs(['waiting', 'prioritized']);
      const inJobs = new Set(jobs.flatMap(({ data }) => runsOf(data)));
      expect(ids.map((id) => inJobs.has(`${id}.1`))).toEqual(isHandedOver);
    });
    expect(await runs.dispatchQueued()).toBe(0);
  });

  test('takes a run with an Idempotency-Key like any other', async () => {
    const { runs, newRun, backplane } = deployment;
    const claim = {
      principal: newID(),
      route: 'post /x',
      key: newID(),
      requestHash: 'h',
      onReplay: () => undefined,
      onStored: () => undefined,
      pause: async () => undefined,
    };

    const { instanceID } = await runs.accept(newRun(versionID), claim);
    const again = await runs.accept(newRun(versionID), claim);

    expect(again).toEqual({ instanceID });
    expect((await deployment.read(instanceID)).dispatched_at).not.toBeNull();
    await eventually(async () =>
      expect(await backplane.queue('workflow.runs').getJob(`${instanceID}.1`)).toBeDefined(),
    );
  });

  test('is filled by runs that are held', async () => {
    await runsThat(`status = 'RUNNING', held_by = '${leaseID}'`, 6);
    const ids = await runsThat(ready, 15);

    await deployment.runs.dispatch(ids.slice(0, 2));
    expect(await deployment.runs.dispatchQueued()).toBe(1);
    expect(await deployment.runs.dispatchQueued()).toBe(0);
  });

  test('is filled in the order in which the runs became ready', async () => {
    const ids = await runsThat(ready, 15);
    // Neither in the order of their ids nor in the reverse.
    const inOrder = ids.map((_, index) => ids[(index * 7) % 15] ?? '');
    for (const [index, id] of inOrder.entries())
      await deployment.pool.query(
        `update workflow_instance set ready_at = now() - make_interval(secs => 100 - $2) where id = $1`,
        [id, index],
      );

    await deployment.runs.dispatchQueued();

    const states = await Promise.all(inOrder.map((id) => deployment.read(id)));
    expect(states.map(({ dispatched_at }) => dispatched_at !== null)).toEqual(ids.map((_, index) => index < 9));
  });

  test('has no room for the slots of leases that are over', async () => {
    await deployment.pool.query(
      `insert into worker_session (id, expires_at, ended_at, slots, version)
       values ($1, now() - interval '1 second', null, 8, 't'), ($2, now() + interval '1 hour', now(), 8, 't')`,
      [newID(), newID()],
    );
    await runsThat(ready, 15);

    expect(await deployment.runs.dispatchQueued()).toBe(9);
  });
});

test('stopping a child makes its parent ready, which then reads how the child ended', async () => {
  const [parent = ''] = await runsThat(`status = 'WAITING'`);
  const [child = ''] = await runsThat(`status = 'WAITING'`, 1, parent);

  await deployment.runs.stop(deployment.tenantID, child);

  expect(await deployment.read(child)).toMatchObject({ status: 'CANCELLED' });
  expect(await deployment.read(parent)).toMatchObject({
    status: 'WAITING',
    wake_seq: 1,
    ready_at: expect.any(Date),
  });
});

test('stopping a run stops its descendants, and neither its parent nor what has ended', async () => {
  const waiting = `status = 'WAITING'`;
  const [top = ''] = await runsThat(waiting);
  const [stopped = '', sibling = ''] = await runsThat(waiting, 2, top);
  const children = await runsThat(waiting, 2, stopped);
  const [done = ''] = await runsThat(`status = 'COMPLETED', completed_at = now()`, 1, stopped);
  const [grandchild = ''] = await runsThat(waiting, 1, children[0]);

  await deployment.runs.stop(deployment.tenantID, stopped);

  const statuses = async (ids: string[]) => Promise.all(ids.map(async (id) => (await deployment.read(id)).status));
  expect(await statuses([stopped, ...children, grandchild])).toEqual(Array(4).fill('CANCELLED'));
  expect(await statuses([top, sibling, done])).toEqual(['WAITING', 'WAITING', 'COMPLETED']);
});

test('stopping a run ends each of its nodes that is running or waits, once', async () => {
  const [id = ''] = await runsThat(`status = 'RUNNING', seq = 5`);
  await deployment.pool.query(
    `insert into run_event (instance_id, seq, node_id, attempt, status) values
     ($1, 1, 'done', 1, 'RUNNING'), ($1, 2, 'done', 1, 'SUCCESS'), ($1, 3, 'waits', 1, 'RUNNING'),
     ($1, 4, 'waits', 1, 'SUSPENDED'), ($1, 5, 'runs', 2, 'RUNNING')`,
    [id],
  );

  await deployment.runs.stop(deployment.tenantID, id);

  const events = await deployment.events(id);
  expect(events.slice(5).map(({ seq, node_id, attempt, status }) => [seq, node_id, attempt, status])).toEqual([
    [6, 'runs', 2, 'CANCELLED'],
    [7, 'waits', 1, 'CANCELLED'],
    [8, null, 1, 'CANCELLED'],
  ]);
  expect(await deployment.read(id)).toMatchObject({ seq: 8, epoch: 1 });
});

test('stopping a run ends nodes whose start stands in the row of the outcome before them', async () => {
  const [id = ''] = await runsThat(`status = 'RUNNING', seq = 4`);
  await deployment.pool.query(
    `insert into run_event (instance_id, seq, node_id, status, started) values
     ($1, 3, 'start', 'SUCCESS', '["done", "runs"]'), ($1, 4, 'done', 'SUCCESS', null)`,
    [id],
  );

  await deployment.runs.stop(deployment.tenantID, id);

  const events = await deployment.events(id);
  expect(events.slice(4).map(({ seq, node_id, status }) => [seq, node_id, status])).toEqual([
    [5, 'runs', 'CANCELLED'],
    [6, null, 'CANCELLED'],
  ]);
});

test('stopping a child that has ended wakes no parent', async () => {
  const [parent = ''] = await runsThat(`status = 'WAITING'`);
  const [child = ''] = await runsThat(`status = 'COMPLETED', completed_at = now()`, 1, parent);

  expect(await deployment.runs.stop(deployment.tenantID, child)).toBe('COMPLETED');

  expect(await deployment.read(parent)).toMatchObject({ wake_seq: 0, ready_at: null });
});

test('what a failed run has started is cancelled, and has no error of its own', async () => {
  const [failing = ''] = await runsThat(`status = 'WAITING'`);
  const [child = ''] = await runsThat(`status = 'WAITING'`, 1, failing);
  const error = { code: 'RUN_TIMEOUT', message: 'too long', nodeID: null, attempt: null };

  await deployment.runs.end({ tenantID: null, ids: [failing], status: 'FAILED', error });

  expect(await deployment.read(failing)).toMatchObject({ status: 'FAILED', error });
  expect(await deployment.read(child)).toMatchObject({ status: 'CANCELLED', error: null });
});

test('stopping a run leaves its answered questions answered', async () => {
  const [id = ''] = await runsThat(`status = 'WAITING'`);
  await deployment.pool.query(
    `insert into collection_request (id, tenant_id, instance_id, node_id, collection_type, collection_config, status)
     select uuidv7(), $1, $2, status, 'form', '{}', status from unnest(array['PENDING', 'COMPLETED', 'EXPIRED']) as status`,
    [deployment.tenantID, id],
  );

  await deployment.runs.stop(deployment.tenantID, id);

  const { rows } = await deployment.pool.query<{ was: string; is: string }>(
    'select node_id as was, status as is from collection_request where instance_id = $1 order by id',
    [id],
  );
  expect(Object.fromEntries(rows.map(({ was, is }) => [was, is]))).toEqual({
    PENDING: 'CANCELLED',
    COMPLETED: 'COMPLETED',
    EXPIRED: 'EXPIRED',
  });
});
