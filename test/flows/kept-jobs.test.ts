import { chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Board, startBoard } from '#ops/board.ts';
import { newID } from '#shared/core/ids.ts';
import { type QueueName, queues } from '#shared/messaging/queues/index.ts';
import { workflowRuns } from '#shared/messaging/queues/workflow-runs.ts';
import { readConfig } from '#shared/process/config.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { startDeployment } from '#test/support/deployment.ts';
import { testLogger, testServers } from '#test/support/environment.ts';
import { aTenant, type TestTenant } from '#test/support/factories.ts';
import { graph, noops } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import { findChromium } from '../servers/chromium.ts';

const found = await findChromium();
if (found.path === null) process.stderr.write(`The test of the board in a browser is skipped: ${found.reason}\n`);

let cluster: Cluster;
let board: Board;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ settings: { WORKER_SESSION_SECONDS: '30' } });
  const config = readConfig({ ...cluster.env, BOARD_PORT: '0', BOARD_OPEN_ON_LOOPBACK: 'true' });
  board = await startBoard({ config, logger: testLogger });
  tenant = await aTenant(cluster);
});
afterAll(async () => {
  await board[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

interface ShownJob {
  id: string;
  data: Record<string, unknown>;
  returnValue: unknown;
  failedReason: string;
  stacktrace: string[];
  processedOn: number;
  finishedOn: number;
}

/** The jobs of a queue in one state, as the page of the board gets them. */
async function shown(name: QueueName, status: 'completed' | 'failed'): Promise<ShownJob[]> {
  const query = new URLSearchParams({ activeQueue: name, status, jobsPerPage: '100' });
  const response = await fetch(`http://127.0.0.1:${board.port}/api/queues?${query}`);
  const body = (await response.json()) as { queues: { name: string; jobs: ShownJob[] }[] };
  return body.queues.find((queue) => queue.name === name)?.jobs ?? [];
}

/** Accepts a run and waits until it has ended and its job is on the board. */
async function runToTheEnd(nodes = noops(1)): Promise<ShownJob> {
  const [id = ''] = await cluster.runs.acceptMany([cluster.newRun(await cluster.saveVersion(nodes))]);
  return await eventuallyShown('workflow.runs', ({ data }) => data.instanceID === id);
}

async function eventuallyShown(name: QueueName, isIt: (job: ShownJob) => boolean): Promise<ShownJob> {
  let found: ShownJob | undefined;
  await eventually(async () => {
    found = (await shown(name, 'completed')).find(isIt);
    expect(found).toBeDefined();
  });
  // The line above has seen it.
  return found as ShownJob;
}

test('the job of a run shows its tenant, its run, that it was claimed and how long that took', async () => {
  const job = await runToTheEnd();

  expect(job.data).toEqual({ tenantID: cluster.tenantID, instanceID: job.data.instanceID, epoch: 1 });
  expect(job.returnValue).toEqual({ outcome: 'claimed', runs: 1, durationMs: expect.any(Number) });
  expect(job.finishedOn).toBeGreaterThanOrEqual(job.processedOn);
});

test.skipIf(found.path === null)('a browser lists them and shows one with its payload', async () => {
  const job = await runToTheEnd();
  const browser = await chromium.launch({ executablePath: found.path ?? '', args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${board.port}/queue/workflow.runs/${job.id}?status=completed`);
    await page.getByText(String(job.data.instanceID)).first().waitFor();
    await page.getByText(cluster.tenantID).first().waitFor();
  } finally {
    await browser.close();
  }
});

test('a run that parks has a job for each claim', async () => {
  const wait = graph({ start: { type: 'start' }, wait: { type: 'delay', delaySeconds: 3 } }, ['start>wait']);

  const job = await runToTheEnd(wait);

  expect(job).toMatchObject({ data: { epoch: 1 }, returnValue: { outcome: 'claimed' } });
  await eventuallyShown('workflow.runs', ({ data }) => data.instanceID === job.data.instanceID && data.epoch === 2);
});

test('a question shows its tenant and how it ended, and neither itself nor its answer, not even sealed', async () => {
  const api = cluster.as(tenant.creator).in(tenant);
  const value = newID();
  const { hostname: host, port, pathname, username: user, password } = new URL(testServers.datasourceURL);
  const connectionDetails = {
    host,
    port: Number(port),
    database: pathname.slice(1),
    user,
    password,
    sslMode: 'disable',
  };
  const datasourceOptions = { connectionOption: 'connectionDetails', connectionDetails };
  const datasource = { datasourceTitle: 'Shop', datasourceType: 'postgresql', datasourceOptions };
  const { id: datasourceID } = (await api.post('T/datasources', datasource)).body.datasource;
  const dataQuery = { dataQueryTitle: 'Q', datasourceID, dataQueryOptions: { query: `select '${value}' as value` } };
  const answered = await api.patch('T/queries/queryTest', { dataQuery });
  expect(answered.body.dataQueryResult).toEqual([{ value }]);
  dataQuery.dataQueryOptions.query = `select '${value}'::int`;
  const refused = await api.patch('T/queries/queryTest', { dataQuery });
  expect(refused.status).toBeGreaterThanOrEqual(400);

  const job = await eventuallyShown('query.runs', ({ returnValue }) => isEnd(returnValue, 'answered'));
  const failed = await eventuallyShown('query.runs', ({ returnValue }) => !isEnd(returnValue, 'answered'));

  expect(job.data).toMatchObject({ tenantID: tenant.id, sealed: '' });
  expect(job.returnValue).toEqual({ outcome: 'answered', durationMs: expect.any(Number) });
  expect(failed.returnValue).toEqual({ outcome: refused.body.error.code, durationMs: expect.any(Number) });
  const everything = JSON.stringify(await Promise.all(queues.map(({ name }) => shown(name, 'completed'))));
  expect(everything).toContain('answered');
  for (const secret of [value, 'gs1.']) expect(everything).not.toContain(secret);
});

function isEnd(returnValue: unknown, outcome: string): boolean {
  return (returnValue as { outcome: string }).outcome === outcome;
}

test('a job that fails shows why in a few words, without a stack', async () => {
  const [id = ''] = await cluster.runs.acceptMany([cluster.newRun(await cluster.saveVersion(noops(1)))]);
  const { pool } = cluster;
  await eventually(async () => expect(await cluster.read(id)).toMatchObject({ status: 'COMPLETED' }));
  const failing = newID();
  await pool.query('alter table workflow_instance rename column losses to losses_away');
  try {
    await cluster.producer.enqueue(workflowRuns, [{ tenantID: cluster.tenantID, instanceID: failing, epoch: 1 }]);
    await eventually(async () =>
      expect(await shown('workflow.runs', 'failed')).toMatchObject([
        { data: { instanceID: failing }, failedReason: 'INTERNAL_ERROR: Internal error', stacktrace: [] },
      ]),
    );
  } finally {
    await pool.query('alter table workflow_instance rename column losses_away to losses');
  }
});

test('a job that claimed nothing is not kept, so that its id is free', async () => {
  const instanceID = newID();
  await cluster.producer.enqueue(workflowRuns, [{ tenantID: cluster.tenantID, instanceID, epoch: 7 }]);
  const later = await runToTheEnd();

  expect(later.finishedOn).toBeGreaterThan(0);
  const queue = cluster.backplane.queue('workflow.runs');
  await eventually(async () => expect(await queue.getJob(`${instanceID}.7`)).toBeUndefined());
});

test.each(['completed', 'failed'] as const)('a kept %s job does not block a hand-over with its id', async (how) => {
  await using deployment = await startDeployment();
  const { pool, backplane, newRun, saveVersion } = deployment;
  const [id = ''] = await deployment.runs.acceptMany([newRun(await saveVersion(noops(1)))]);
  const ended = backplane.worker(
    workflowRuns.name,
    async (job) => {
      Object.assign(job.opts, { removeOnComplete: false, removeOnFail: false });
      if (how === 'failed') throw new Error('INTERNAL_ERROR: Internal error');
    },
    { concurrency: 1, maxStalledCount: 1, leaseMs: 30_000 },
  );
  void ended.run();
  // The first job of a queue may take longer than its producer waits. A second one with the same id does nothing.
  await eventually(() => deployment.producer.enqueue(workflowRuns, [{ instanceID: id, epoch: 1 }]));
  const queue = backplane.queue(workflowRuns.name);
  await eventually(async () => expect(await queue.getJobCounts(how)).toEqual({ [how]: 1 }));
  await ended.close();
  const worker = await deployment.startWorker();

  await eventually(async () => {
    await pool.query(
      `update workflow_instance set dispatched_at = now() - interval '11 seconds' where ready_at is not null`,
    );
    await worker.sweep.once();
    expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED', epoch: 1 });
  });
});
