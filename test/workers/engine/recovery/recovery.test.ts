import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { workflowRuns } from '#shared/messaging/queues/workflow-runs.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { noops } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';

/** Each test leaves rows and jobs as a crash between two statements of the protocol would, and then starts a worker. */
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

  test('a run that was accepted and not dispatched completes', async () => {
    const id = await accepted();
    expect(await deployment.read(id)).toMatchObject({ status: 'PENDING' });

    await work();

    await completes(id);
  });

  test('a run whose row is locked at the dispatch is dispatched after the lock, not by the sweep', async () => {
    const id = await accepted();
    const leaseID = newID();
    await deployment.pool.query(
      `insert into worker_session (id, expires_at, slots, version) values ($1, now() + interval '1 hour', 10, 'room')`,
      [leaseID],
    );
    const watcher = await deployment.pool.connect();
    await watcher.query('begin');
    await watcher.query('update workflow_instance set watched_until = now() where id = $1', [id]);

    const dispatched = deployment.runs.dispatch([id]);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await watcher.query('commit');
    watcher.release();
    await dispatched;

    expect((await deployment.read(id)).dispatched_at).not.toBeNull();
    await deployment.pool.query('delete from worker_session where id = $1', [leaseID]);
    await work();
    await completes(id);
  });

  test('a run that was marked as dispatched without a job completes', async () => {
    const id = await accepted();
    await deployment.pool.query(
      `update workflow_instance set dispatched_at = now() - interval '11 seconds' where id = $1`,
      [id],
    );

    await work();

    await completes(id);
  });

  test('runs whose jobs a queue has lost get others at once, as its sentinel is another one', async () => {
    const id = await accepted();
    await deployment.pool.query('update workflow_instance set dispatched_at = now() where id = $1', [id]);
    await deployment.pool.query(
      `insert into service_state (key, value) values ('sentinel', '"before"') on conflict (key) do update set value = excluded.value`,
    );

    const worker = await work();

    await completes(id);
    // Without the sentinel the jobs of single runs are added again after ten seconds.
    expect(worker.sweep.stats.repairs.samples).toEqual([{ labels: { kind: 'queues lost' }, value: 1 }]);
  });

  test('the first sweep of an installation leaves the runs that were dispatched before it in the window', async () => {
    const id = await accepted();
    await deployment.pool.query('update workflow_instance set dispatched_at = now() where id = $1', [id]);
    await deployment.pool.query(`delete from service_state where key = 'sentinel'`);

    const worker = await work();

    await eventually(async () => {
      const { rows } = await deployment.pool.query(`select value from service_state where key = 'sentinel'`);
      expect(rows).toEqual([{ value: await deployment.backplane.sentinel() }]);
    });
    expect((await deployment.read(id)).dispatched_at).not.toBeNull();
    expect(worker.sweep.stats.repairs.samples).toEqual([]);
    await deployment.runs.stop(deployment.tenantID, id);
  });

  test('a run whose job is stuck in a consumer gets another job, with an id that the stuck one cannot block', async () => {
    const id = await accepted();
    const stuck = Promise.withResolvers<void>();
    const options = { concurrency: 1, maxStalledCount: 10, leaseMs: 60_000 };
    const consumer = deployment.backplane.worker(workflowRuns.name, () => stuck.promise, options);
    void consumer.run();
    await deployment.producer.enqueue(workflowRuns, [{ instanceID: id, epoch: 1 }]);
    const queue = deployment.backplane.queue(workflowRuns.name);
    await eventually(async () => expect(await queue.getJobCounts()).toMatchObject({ active: 1 }));
    await consumer.pause(true);
    // More than the three leases after which the run gets a job with a new id.
    await deployment.pool.query(
      `update workflow_instance set dispatched_at = now() - interval '20 seconds' where id = $1`,
      [id],
    );

    await work();

    await completes(id);
    stuck.resolve();
    await consumer.close();
  });

  test('two concurrent dispatches dispatch each run once', async () => {
    const worker = await work();
    const ids = await deployment.runs.acceptMany(Array.from({ length: 300 }, () => deployment.newRun(versionID)));
    await Promise.all([
      deployment.runs.dispatchQueued(),
      worker.runs.dispatchQueued(),
      deployment.runs.dispatchQueued(),
    ]);

    await deployment.settle();

    const { rows } = await deployment.pool.query<{ status: string; epoch: number; n: number }>(
      'select status, epoch, count(*) as n from workflow_instance where id = any($1::uuid[]) group by 1, 2',
      [ids],
    );
    expect(rows).toEqual([{ status: 'COMPLETED', epoch: 1, n: 300 }]);
  });
});
