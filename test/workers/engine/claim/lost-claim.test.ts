import { expect, test } from 'vitest';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { graph, noop } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';
import type { WorkerContext } from '#workers/process/worker.ts';

/**
 * Claims a run twice under one epoch, as happens when Postgres crashes and forgets the first claim, which did not wait for the disk.
 * Neither worker has begun the run when both have claimed it.
 */
async function claimTwice(
  { pool }: Deployment,
  id: string,
  [first, second]: readonly [WorkerContext, WorkerContext],
): Promise<void> {
  const claims: Promise<unknown>[] = [];
  const lock = await pool.connect();
  try {
    await lock.query('begin');
    await lock.query('lock table workflow_version in access exclusive mode');
    for (const worker of [first, second]) {
      claims.push(worker.engine.advance({ runs: [{ instanceID: id, epoch: 1 }] }));
      await eventually(async () => {
        const { rows } = await pool.query(
          'select from workflow_instance where id = $1 and held_by = $2 and epoch = 1',
          [id, worker.leaseID],
        );
        expect(rows).toHaveLength(1);
      });
      if (worker === second && claims.length === 2) break;
      await pool.query('update workflow_instance set epoch = 0, held_by = null, ready_at = now() where id = $1', [id]);
    }
  } finally {
    await lock.query('commit');
    lock.release();
  }
  await Promise.all(claims);
}

test.each([
  { who: 'the same worker', isSame: true },
  { who: 'two workers', isSame: false },
])('a run that $who claimed twice under one epoch has each effect once', async ({ isSame }) => {
  await using server = await startHTTP();
  await using deployment = await startDeployment({ WORKER_SESSION_SECONDS: '2' });
  const call = (path: string) => ({ type: 'http', url: `${server.origin}/${path}`, method: 'POST' });
  const versionID = await deployment.saveVersion(
    graph({ start: { type: 'start' }, first: call('first'), between: noop, second: call('second') }, [
      'start>first',
      'first:success>between',
      'between:yes>second',
    ]),
  );
  const [id = ''] = await deployment.runs.acceptMany([deployment.newRun(versionID)]);
  // They serve another queue, so that only this test brings them jobs.
  const workers = [
    await deployment.startWorker({}, ['query.runs']),
    await deployment.startWorker({}, ['query.runs']),
  ] as const;

  await claimTwice(deployment, id, isSame ? [workers[0], workers[0]] : workers);
  await using _other = await deployment.startWorker();

  await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED', held_by: null }));
  expect(server.seen.map(({ url }) => url)).toEqual(['/first', '/second']);
  const { rows } = await deployment.pool.query<{ n: number }>(
    `select count(*) as n from run_event where instance_id = $1 and node_id is not null and status = 'SUCCESS' group by node_id`,
    [id],
  );
  expect(rows.map(({ n }) => n)).toEqual([1, 1, 1, 1]);
  await eventually(() => expect(workers.map(({ engine }) => engine.owned.size)).toEqual([0, 0]));
});

test('a run whose claim Postgres forgot is dispatched again under the id of the job that has ended and is retained', async () => {
  await using deployment = await startDeployment();
  const { pool } = deployment;
  await deployment.startWorker();
  const ask = { type: 'approval' };
  const versionID = await deployment.saveVersion(graph({ start: { type: 'start' }, ask }, ['start>ask']));
  const [id = ''] = await deployment.runs.acceptMany([deployment.newRun(versionID)]);
  await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'WAITING', epoch: 1 }));
  const job = async () => (await deployment.backplane.queue('workflow.runs').getJob(`${id}.1`))?.finishedOn;
  await eventually(async () => expect(await job()).toEqual(expect.any(Number)));

  for (const table of ['run_event', 'run_wait', 'collection_request'])
    await pool.query(`delete from ${table} where instance_id = $1`, [id]);
  await pool.query(
    `update workflow_instance set status = 'PENDING', epoch = 0, seq = 0, held_by = null, ready_at = now(), wake_at = null, started_at = null,
       dispatched_at = now() - interval '10 seconds' where id = $1`,
    [id],
  );

  await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'WAITING', epoch: 1 }));
});
