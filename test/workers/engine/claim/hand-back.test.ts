import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { Logger } from '#shared/core/logger.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { noops } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import { createHandBack } from '#workers/engine/claim/hand-back.ts';
import { UnknownKinds } from '#workers/engine/claim/versions.ts';
import type { ClaimedRow } from '#workers/engine/state/claimed-row.ts';

let deployment: Deployment;
let versionID: string;
beforeAll(async () => {
  deployment = await startDeployment();
  await deployment.startWorker();
});
afterAll(() => deployment[Symbol.asyncDispose]());
// A version of its own for each test: a worker keeps those that it has loaded.
beforeEach(async () => {
  versionID = await deployment.saveVersion(noops(3));
});

/** A run of which another worker has recorded the first two nodes and left. */
async function halfDone(handBacks = 0): Promise<string> {
  const id = newID();
  await deployment.pool.query(
    `insert into workflow_instance (id, tenant_id, version_id, status, epoch, seq, hand_backs, ready_at, deadline_at, caller)
     values ($1, $2, $3, 'RUNNING', 1, 2, $4, now() - interval '1 second', now() + interval '1 hour', $5)`,
    [id, deployment.tenantID, versionID, handBacks, { type: 'system', id: deployment.tenantID, origin: 'direct' }],
  );
  await deployment.pool.query(
    `insert into run_event (instance_id, seq, node_id, status, exit, payload) values
     ($1, 1, 'start', 'SUCCESS', 'output', '{"output":{}}'), ($1, 2, 'n1', 'RUNNING', null, null)`,
    [id],
  );
  return id;
}

async function stateOf(id: string) {
  const { rows } = await deployment.pool.query(
    `select status, held_by, hand_backs as times, not_before > now() as later,
            extract(epoch from not_before - updated_at)::int as pause, error from workflow_instance where id = $1`,
    [id],
  );
  return rows[0];
}

/** Lets reads of versions, or restores, fail for as long as `work` takes; everything else that a worker does goes on. */
async function without(name: 'table workflow_version' | 'column due_at', work: () => Promise<void>): Promise<void> {
  const table = 'alter table workflow_version';
  const [take, giveBack] =
    name === 'column due_at'
      ? ['alter table run_wait rename due_at to away', 'alter table run_wait rename away to due_at']
      : [`${table} rename to away`, 'alter table away rename to workflow_version'];
  await deployment.pool.query(take);
  try {
    await work();
  } finally {
    await deployment.pool.query(giveBack);
  }
}

test('a run whose version cannot be read for a moment waits, and then runs', async () => {
  let id = '';
  await without('table workflow_version', async () => {
    ({ instanceID: id } = await deployment.runs.accept(deployment.newRun(versionID)));
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ times: 1, held_by: null, later: true }));
  });

  await eventually(async () => expect(await stateOf(id)).toMatchObject({ status: 'COMPLETED', times: 0 }));
});

test('a run that cannot be restored is given back, with longer and longer pauses, and then runs', async () => {
  const id = await halfDone();
  await without('column due_at', async () => {
    await deployment.runs.dispatch([id]);
    const began = Date.now();
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ status: 'RUNNING', times: 2 }));
    expect(Date.now() - began).toBeGreaterThan(900);
    expect(await stateOf(id)).toMatchObject({ held_by: null, later: true });
  });

  await eventually(async () => expect(await stateOf(id)).toMatchObject({ status: 'COMPLETED', times: 0 }));
});

test.each([
  [0, 1],
  [3, 8],
  [5, 32],
  [6, 60],
  [8, 60],
])('after %i hand-backs a run pauses for %i seconds', async (handBacks, seconds) => {
  const id = await halfDone(handBacks);
  await without('column due_at', async () => {
    await deployment.runs.dispatch([id]);
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ times: handBacks + 1, pause: seconds }));
  });
  await deployment.runs.stop(deployment.tenantID, id);
});

test('the tenth time that a run cannot begin, it fails', async () => {
  const id = await halfDone(9);
  await without('column due_at', async () => {
    await deployment.runs.dispatch([id]);
    const error = { code: 'INTERNAL_ERROR' };
    await eventually(async () => expect(await stateOf(id)).toMatchObject({ status: 'FAILED', error, held_by: null }));
  });
});

test('a run that cannot begin and fails wakes the run that waits for it', async () => {
  const parent = await halfDone();
  const child = await halfDone(9);
  await deployment.pool.query(
    `update workflow_instance set status = 'WAITING', ready_at = null, wake_seq = 0 where id = $1`,
    [parent],
  );
  await deployment.pool.query('update workflow_instance set parent_id = $2 where id = $1', [child, parent]);
  // The outbox entry would lead the sweep to the end of the child.
  await deployment.pool.query('alter table workflow_instance disable trigger ended_child');
  try {
    await without('column due_at', async () => {
      await deployment.runs.dispatch([child]);
      await eventually(async () => expect(await stateOf(child)).toMatchObject({ status: 'FAILED' }));
      await eventually(async () => expect(await deployment.read(parent)).toMatchObject({ wake_seq: 1 }));
    });
  } finally {
    await deployment.pool.query('alter table workflow_instance enable trigger ended_child');
  }
});

test('a run whose version does not exist fails at once', async () => {
  const { instanceID } = await deployment.runs.accept(deployment.newRun(newID()));

  await eventually(async () =>
    expect(await stateOf(instanceID)).toMatchObject({ status: 'FAILED', error: { code: 'NOT_FOUND' } }),
  );
});

async function aNewWorker({ slots }: { slots: number }): Promise<void> {
  await deployment.pool.query(
    `insert into worker_session (id, expires_at, slots, version, kinds) values ($1, now() + interval '1 hour', $2, 'new', '{kindOfTomorrow}')`,
    [newID(), slots],
  );
}

test('a run with a kind of node that no worker knows waits for one that does, however often it is tried', async () => {
  const { nodes, edges } = noops(3);
  const future = nodes.map((node) => (Reflect.get(node, 'id') === 'n2' ? { ...node, type: 'kindOfTomorrow' } : node));
  versionID = await deployment.saveVersion({ nodes: future, edges });
  // It knows the kind, and takes no runs.
  await aNewWorker({ slots: 0 });
  const instanceID = await halfDone();
  await deployment.runs.dispatch([instanceID]);
  await eventually(async () => expect(await stateOf(instanceID)).toMatchObject({ times: -1, held_by: null }));

  await deployment.pool.query(
    'update workflow_instance set hand_backs = -50, not_before = null, ready_at = now() where id = $1',
    [instanceID],
  );
  await deployment.runs.dispatch([instanceID]);
  await eventually(async () => expect(await stateOf(instanceID)).toMatchObject({ times: -51, later: true, pause: 60 }));
  expect(await stateOf(instanceID)).toMatchObject({ status: 'RUNNING', error: null });

  // The worker that knows it, which this one becomes when the kind is one of today. Its first restore fails: that is counted apart.
  const known = await deployment.saveVersion({ nodes, edges });
  await without('column due_at', async () => {
    await deployment.pool.query(
      'update workflow_instance set version_id = $2, not_before = null, ready_at = now() where id = $1',
      [instanceID, known],
    );
    await deployment.runs.dispatch([instanceID]);
    await eventually(async () => expect(await stateOf(instanceID)).toMatchObject({ times: 1, held_by: null }));
  });
  await eventually(async () => expect(await stateOf(instanceID)).toMatchObject({ status: 'COMPLETED' }));
  await deployment.pool.query(`delete from worker_session where version = 'new'`);
});

test('a run whose kinds another live worker knows is tried each second, and not counted, until that worker takes it', async () => {
  const { nodes, edges } = noops(3);
  const future = nodes.map((node) => (Reflect.get(node, 'id') === 'n2' ? { ...node, type: 'kindOfTomorrow' } : node));
  versionID = await deployment.saveVersion({ nodes: future, edges });
  await aNewWorker({ slots: 1 });
  const id = await halfDone(6);
  await deployment.runs.dispatch([id]);

  for (const epoch of [2, 3]) {
    await eventually(async () => {
      const { rows } = await deployment.pool.query(
        `select hand_backs, held_by, not_before <= updated_at + interval '1 second' as is_soon from workflow_instance
         where id = $1 and epoch >= $2`,
        [id, epoch],
      );
      expect(rows).toEqual([{ hand_backs: 6, held_by: null, is_soon: true }]);
    });
  }
  await deployment.pool.query(`delete from worker_session where version = 'new'`);
  await deployment.runs.stop(deployment.tenantID, id);
});

test.each([
  { slots: 0, says: 'no live worker knows all kinds of nodes of this run; it waits' },
  { slots: 1, says: 'run left to a worker that knows its nodes' },
])(
  'the log says whether a worker that takes runs, with $slots slots, knows the kinds of a run',
  async ({ slots, says }) => {
    const { pool, runs } = deployment;
    const lines: unknown[] = [];
    // Safe: only `warn` is called.
    const logger = {
      warn: (about: { kinds?: unknown }, text: string) => lines.push([about.kinds, text]),
    } as unknown as Logger;
    const [id, leaseID] = [newID(), newID()];
    await pool.query(
      `insert into worker_session (id, expires_at, slots, version) values ($1, now() + interval '1 hour', 0, 'holder')`,
      [leaseID],
    );
    await aNewWorker({ slots });
    await pool.query(
      `insert into workflow_instance (id, tenant_id, version_id, status, epoch, held_by, deadline_at, caller)
     values ($1, $2, $3, 'RUNNING', 1, $4, now() + interval '1 hour', '{}')`,
      [id, deployment.tenantID, versionID, leaseID],
    );

    const handBack = createHandBack({ pool, runs, leaseID: () => leaseID, logger });
    await handBack({ id, epoch: 1 } as ClaimedRow, new UnknownKinds(['kindOfTomorrow']));

    expect(lines).toEqual([[['kindOfTomorrow'], says]]);
    await runs.stop(deployment.tenantID, id);
    await pool.query(`delete from worker_session where version in ('new', 'holder')`);
  },
);

test('a lease says which kinds of nodes its worker knows', async () => {
  const { rows } = await deployment.pool.query<{ kinds: string[] }>('select kinds from worker_session');
  expect(rows[0]?.kinds).toEqual(expect.arrayContaining(['start', 'end', 'http', 'javascript']));
});
