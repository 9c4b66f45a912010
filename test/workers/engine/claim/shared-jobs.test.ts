import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { createPool } from '#shared/db/pool.ts';
import { createBackplane } from '#shared/messaging/backplane/index.ts';
import { createProducer } from '#shared/messaging/producer.ts';
import { workflowRuns } from '#shared/messaging/queues/workflow-runs.ts';
import { createRuns, type Runs } from '#shared/runs/runs.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { testLogger } from '#test/support/environment.ts';
import { graph, noops } from '#test/support/graphs.ts';
import { type HTTPServer, startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';
import { type Claims, createClaims } from '#workers/engine/claim/claim.ts';
import { createRunClaimer, type RunClaimer } from '#workers/engine/claim/run-claimer.ts';
import type { WorkerContext } from '#workers/process/worker.ts';

let deployment: Deployment;
let server: HTTPServer;
const asked: ServerResponse[] = [];
const workers: WorkerContext[] = [];
beforeAll(async () => {
  deployment = await startDeployment();
  server = await startHTTP((_request, response) => {
    asked.push(response);
  });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await deployment[Symbol.asyncDispose]();
});
afterEach(async () => {
  for (const response of asked.splice(0)) response.end('{}');
  await Promise.all(workers.splice(0).map((worker) => worker[Symbol.asyncDispose]()));
  await deployment.pool.query('delete from workflow_instance');
});

/** A version whose runs wait until the test answers their request. */
function slow(): Promise<string> {
  const call = { type: 'http', method: 'GET', url: server.origin };
  return deployment.saveVersion(graph({ start: { type: 'start' }, call }, ['start>call']));
}

/** Runs that are dispatched, whose job is not added. */
async function dispatched(versions: readonly string[]): Promise<string[]> {
  const ids = await deployment.runs.acceptMany(versions.map((version) => deployment.newRun(version)));
  await deployment.pool.query('update workflow_instance set dispatched_at = now() where id = any($1::uuid[])', [ids]);
  return ids;
}

async function addJob([first = '', ...more]: readonly string[]): Promise<void> {
  const rest = more.map((instanceID) => ({ instanceID, epoch: 1 }));
  await deployment.producer.enqueue(workflowRuns, [
    { tenantID: deployment.tenantID, instanceID: first, epoch: 1, more: rest },
  ]);
}

async function startWorker(slots: number): Promise<WorkerContext> {
  const worker = await deployment.startWorker({ WORKER_SLOTS: String(slots) });
  workers.push(worker);
  return worker;
}

function statuses(ids: readonly string[]) {
  return Promise.all(ids.map(async (id) => (await deployment.read(id)).status));
}

test('runs that are dispatched at once share a job, which ends while a slow one of them goes on', async () => {
  const [slowID, quickID] = [await slow(), await deployment.saveVersion(noops(1))];
  await startWorker(20);

  const ids = await deployment.runs.acceptMany([slowID, quickID, quickID].map((version) => deployment.newRun(version)));

  await eventually(async () => expect(await statuses(ids)).toEqual(['RUNNING', 'COMPLETED', 'COMPLETED']));
  const queue = deployment.backplane.queue(workflowRuns.name);
  const counts = () => queue.getJobCounts('active', 'waiting', 'prioritized');
  await eventually(async () => expect(await counts()).toEqual({ active: 0, waiting: 0, prioritized: 0 }));
  const jobs = await queue.getJobs(['completed']);
  expect(jobs.some(({ data }) => data.more?.length > 0)).toBe(true);
  await eventually(() => expect(asked).toHaveLength(1));
});

test('runs of a job for which a worker has no place are run by another', async () => {
  const version = await slow();
  const ids = await dispatched([version, version, version, version]);
  const first = await startWorker(2);
  await addJob(ids);
  await eventually(() => expect(first.engine.owned.size).toBe(2));

  const second = await startWorker(2);

  await eventually(() => expect(second.engine.owned.size).toBe(2));
  await eventually(() => expect(asked).toHaveLength(4));
  expect(first.engine.owned.size).toBe(2);
});

test('a worker with one slot runs all runs of a job, one at a time', async () => {
  const version = await slow();
  const ids = await dispatched([version, version, version]);
  const worker = await startWorker(1);
  await addJob(ids);

  for (let done = 0; done < ids.length; done += 1) {
    await eventually(() => expect(asked).toHaveLength(1));
    expect(worker.engine.owned.size).toBe(1);
    asked.splice(0)[0]?.end('{}');
  }

  await eventually(async () => expect(await statuses(ids)).toEqual(['COMPLETED', 'COMPLETED', 'COMPLETED']));
  for (const id of ids) expect(await deployment.read(id)).toMatchObject({ epoch: 1 });
});

test('while the queue is away, runs without a permit are left to be dispatched again', async () => {
  const { config, pool } = deployment;
  const version = await deployment.saveVersion(noops(1));
  const ids = await dispatched([version, version]);
  const away = await createBackplane(config.backplane, testLogger);
  await away[Symbol.asyncDispose]();
  const { messages } = away;
  const runs = createRuns({ pool, dispatchPool: pool, producer: createProducer(away), messages, logger: testLogger });
  const leaseID = newID();
  const claimer = claimerWithOneSlot(
    runs,
    createClaims(pool, () => leaseID),
  );

  void claimer.claim({ runs: ids.map((instanceID) => ({ instanceID, epoch: 1 })) });

  await eventually(async () => {
    expect(await deployment.read(ids[0] ?? '')).toMatchObject({ held_by: leaseID });
    expect(await deployment.read(ids[1] ?? '')).toMatchObject({ held_by: null, dispatched_at: null });
  });
  claimer.close();
});

test('while Postgres is away, the job of several runs fails with its error', async () => {
  const away = createPool({ url: 'postgres://gantry@127.0.0.1:1/none', poolSize: 1 }, testLogger);
  const claimer = claimerWithOneSlot(deployment.runs, createClaims(away, newID));
  const runs = [newID(), newID()].map((instanceID) => ({ instanceID, epoch: 1 }));

  const taken = claimer.claim({ runs });

  await expect(taken).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await away.end();
});

test('while a creator has its share of the memory, the jobs of its tenants go behind all others', async () => {
  const putBack: unknown[] = [];
  const runs: Pick<Runs, 'putBack'> = { putBack: async (job, options) => void putBack.push({ ...job, ...options }) };
  const full = newID();
  const isOverShare = (tenantID: string) => tenantID === full;
  const claimer = claimerWithOneSlot(runs, createClaims(deployment.pool, newID), isOverShare);
  const job = { tenantID: full, runs: [{ instanceID: newID(), epoch: 1 }] };

  expect(await claimer.claim(job)).toEqual({ outcome: 'put back', runs: 0 });
  expect(await claimer.claim({ ...job, tenantID: newID() })).toEqual({ outcome: 'not claimed', runs: 0 });

  expect(putBack).toEqual([{ ...job, isLast: true }]);
});

/** An intake whose runs never leave. */
function claimerWithOneSlot(
  runs: Pick<Runs, 'putBack'>,
  claims: Claims,
  isOverShare = (_tenantID: string) => false,
): RunClaimer {
  return createRunClaimer({
    pool: deployment.pool,
    runs,
    claims,
    lease: { isValid: true, untilValid: async () => undefined },
    slots: 1,
    logger: testLogger,
    own: () => new Promise(() => undefined),
    isOverShare,
  });
}
