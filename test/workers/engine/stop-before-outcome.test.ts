import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { graph, noops } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment();
});
afterAll(() => deployment[Symbol.asyncDispose]());

/**
 * Runs a node that waits, beside a call that occupies the only slot of the worker. `conclude` brings about what the node waits for.
 * The worker is stopped by SIGTERM when it knows of that and has no slot for the outcome; another one finishes the run.
 */
async function stopBeforeTheOutcome(
  { waiting, exit }: { waiting: { type: string; [field: string]: unknown }; exit: string },
  { isWaiting, conclude }: { isWaiting(id: string): Promise<boolean>; conclude(id: string): Promise<void> },
): Promise<string> {
  const openResponses: ServerResponse[] = [];
  await using server = await startHTTP((_request, response) => void openResponses.push(response));
  const end = { type: 'end', outputParameters: [{ name: 'data', sourceVariable: '{{ctx.collectedData}}' }] };
  const versionID = await deployment.saveVersion(
    graph({ start: { type: 'start' }, waiting, call: { type: 'http', url: server.origin }, end }, [
      'start>waiting',
      'start>call',
      `waiting:${exit}>end`,
    ]),
  );
  const { instanceID } = await deployment.runs.accept(deployment.newRun(versionID));
  {
    await using worker = spawnNode(['workers/main.ts', 'workflow.runs'], { ...deployment.env, WORKER_SLOTS: '1' });
    await eventually(async () => {
      expect(openResponses).toHaveLength(1);
      expect(await isWaiting(instanceID)).toBe(true);
    });
    await conclude(instanceID);
    await deployment.runs.wake([instanceID]);
    // The worker reads the waits. Nothing shows outside that it has.
    await sleep(1_000);
    expect(await worker.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  }
  await using _worker = await deployment.startWorker();
  await eventually(() => expect(openResponses).toHaveLength(2));
  for (const response of openResponses) response.end('{}');
  await eventually(async () => expect(await deployment.read(instanceID)).toMatchObject({ status: 'COMPLETED' }));
  return instanceID;
}

test('a run that is handed back before the outcome of its child is recorded starts no second child', async () => {
  const child = await deployment.saveWorkflow(noops(1));
  const children = async (id: string) =>
    (await deployment.pool.query<{ status: string }>('select status from workflow_instance where parent_id = $1', [id]))
      .rows;

  const id = await stopBeforeTheOutcome(
    { waiting: { type: 'subWorkflow', childWorkflowID: child.workflowID }, exit: 'success' },
    {
      isWaiting: async (parent) => (await children(parent)).length === 1,
      // The job of its parent is the only one that the worker takes.
      conclude: async (parent) =>
        void (await deployment.pool.query(
          `update workflow_instance set status = 'COMPLETED', completed_at = now(), output = '{}', ready_at = null, dispatched_at = null
           where parent_id = $1`,
          [parent],
        )),
    },
  );

  expect(await children(id)).toEqual([{ status: 'COMPLETED' }]);
});

test('a run that is handed back before an answer is recorded keeps the answer', async () => {
  const questions = async (id: string) =>
    (
      await deployment.pool.query<{ status: string }>('select status from collection_request where instance_id = $1', [
        id,
      ])
    ).rows;

  const id = await stopBeforeTheOutcome(
    { waiting: { type: 'dataCollection', fields: [{ key: 'answer' }], expiryMinutes: 60 }, exit: 'output' },
    {
      isWaiting: async (run) => (await questions(run)).length === 1,
      conclude: async (run) =>
        void (await deployment.pool.query(
          `update collection_request set status = 'COMPLETED', submitted_data = '{"answer":"yes"}' where instance_id = $1`,
          [run],
        )),
    },
  );

  expect(await deployment.read(id)).toMatchObject({ output: { data: { answer: 'yes' } } });
  expect(await questions(id)).toEqual([{ status: 'COMPLETED' }]);
});
