import { expect, test } from 'vitest';
import type { PoolClient } from '#shared/db/pool.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { graph } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import type { WorkerContext } from '#workers/process/worker.ts';

const askGraph = graph({ start: { type: 'start' }, ask: { type: 'approval' }, end: { type: 'end' } }, [
  'start>ask',
  'ask:approved>end',
]);

const LOCK_RUN = 'select from workflow_instance where id = $1 for no key update';

/** Returns when so many statements wait for the lock of another. */
async function untilLocked({ pool }: Deployment, waiting: number): Promise<void> {
  await eventually(async () => {
    const { rows } = await pool.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    expect(rows[0]?.n).toBeGreaterThanOrEqual(waiting);
  });
}

async function inTransaction({ pool }: Deployment, stack: AsyncDisposableStack): Promise<PoolClient> {
  const client = await pool.connect();
  // With the connection, since its last statement may still wait for a lock when an expectation has failed.
  stack.defer(() => client.release(true));
  await client.query('begin');
  return client;
}

/**
 * Wakes a waiting run while the row that its park is to change is locked. Answers whether it stayed locked: between the end of one lock
 * and the next the park may slip in.
 */
async function wakeWhileLocked(deployment: Deployment, worker: WorkerContext, instanceID: string): Promise<boolean> {
  await using clients = new AsyncDisposableStack();
  // Woken without a reason, it is held up between its claim and its park until its row is locked.
  const waits = await inTransaction(deployment, clients);
  await waits.query('lock table run_wait in access exclusive mode');
  await deployment.runs.wake([instanceID]);
  await eventually(() => expect(worker.engine.owned.has(instanceID)).toBe(true));
  await untilLocked(deployment, 1);
  const answer = async () => {
    await deployment.pool.query(
      `update collection_request set status = 'COMPLETED', submitted_data = '{"decision":"approve"}' where instance_id = $1`,
      [instanceID],
    );
    await deployment.runs.wake([instanceID]);
  };
  const first = await inTransaction(deployment, clients);
  // Not if the worker has locked the row, and itself waits for the table.
  const isOurs = await first.query(`${LOCK_RUN} nowait`, [instanceID]).then(
    () => true,
    () => false,
  );
  if (!isOurs) {
    await waits.query('commit');
    await answer();
    return false;
  }
  const { statements } = worker.engine.stats;
  await waits.query('commit');
  await eventually(() => expect(worker.engine.stats.statements).toBeGreaterThan(statements));

  // The answer and its wake come now, and the row stays locked while the worker reads what the wake is about.
  const woken = answer();
  await untilLocked(deployment, 1);
  const second = await inTransaction(deployment, clients);
  const locked = second.query(LOCK_RUN, [instanceID]);
  await untilLocked(deployment, 2);
  await first.query('commit');
  await Promise.all([woken, locked]);
  if ((await deployment.read(instanceID)).held_by === null) return false;
  const again = worker.engine.stats.statements;
  await eventually(() => expect(worker.engine.stats.statements).toBeGreaterThan(again + 3));
  return true;
}

test('a run is not left waiting when it is woken while the row that its park is to change is locked', async () => {
  await using deployment = await startDeployment();
  const worker = await deployment.startWorker({}, ['workflow.runs']);
  const versionID = await deployment.saveVersion(askGraph);
  const outcomes: boolean[] = [];
  while (!outcomes.includes(true) && outcomes.length < 10) {
    const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
    await eventually(async () => expect(await deployment.read(instanceID)).toMatchObject({ status: 'WAITING' }));

    outcomes.push(await wakeWhileLocked(deployment, worker, instanceID));

    await eventually(async () => expect(await deployment.read(instanceID)).toMatchObject({ status: 'COMPLETED' }));
  }
  expect(outcomes).toContain(true);
});
