import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { graph } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';
import { createClaims } from '#workers/engine/claim/claim.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment({ WORKER_SESSION_SECONDS: '2' });
});
afterAll(() => deployment[Symbol.asyncDispose]());

test('a worker of an earlier version gets no test run that has a mode', async () => {
  const { pool, runs } = deployment;
  const versionID = await deployment.saveVersion(graph({ start: { type: 'start' } }, []));
  const mode = { isTest: true, testMode: { dryRun: true } };
  const { instanceID } = await runs.accept(deployment.newRun(versionID, {}, mode));
  const { instanceID: plain } = await runs.accept(deployment.newRun(versionID, {}, { isTest: true }));
  const claimsOf = async (version: string) => {
    const id = newID();
    await pool.query(
      `insert into worker_session (id, expires_at, slots, version, kinds) values ($1, now() + interval '1 minute', 0, $2, '{start}')`,
      [id, version],
    );
    return createClaims(pool, () => id);
  };

  const [earlier, today] = [await claimsOf('1'), await claimsOf('2')];

  expect(await earlier.claim({ instanceID, epoch: 1 })).toBeNull();
  expect(await earlier.claim({ instanceID: plain, epoch: 1 })).toMatchObject({ id: plain });
  expect(await today.claim({ instanceID, epoch: 1 })).toMatchObject({ id: instanceID, test_mode: { dryRun: true } });
  await runs.end({ tenantID: null, ids: [instanceID, plain], status: 'CANCELLED', error: null });
});

test('the worker that goes on with a test after a crash executes it by its mode', async () => {
  const openResponses: ServerResponse[] = [];
  await using server = await startHTTP((_request, response) => void openResponses.push(response));
  const call = (path: string, method: string) => ({
    type: 'http',
    url: `${server.origin}${path}`,
    method,
    outputVariable: path.slice(1),
  });
  const shape = graph(
    {
      start: { type: 'start' },
      first: call('/given', 'GET'),
      slow: call('/slow', 'GET'),
      second: call('/given', 'GET'),
      write: call('/write', 'POST'),
      last: call('/slow', 'GET'),
    },
    ['start>first', 'first>slow', 'slow>second', 'second>write', 'write>last'],
  );
  const versionID = await deployment.saveVersion(shape);
  const pin = { output: { given: 1 }, exit: 'success' };
  const testMode = { dryRun: true, pinned: { first: pin, second: pin }, stopAfter: 'write' };
  const run = deployment.newRun(versionID, {}, { isTest: true, testMode });
  const { instanceID } = await deployment.runs.accept(run);

  {
    await using worker = spawnNode(['workers/main.ts', 'workflow.runs'], deployment.env);
    await eventually(() => expect(openResponses).toHaveLength(1));
    await worker.kill('SIGKILL');
  }
  await deployment.startWorker();
  await eventually(() => expect(openResponses).toHaveLength(2));
  openResponses[1]?.end('{}');

  await eventually(async () =>
    expect(await deployment.read(instanceID)).toMatchObject({ status: 'COMPLETED', error: null }),
  );
  expect(server.seen.map(({ url }) => url)).toEqual(['/slow', '/slow']);
  const events = await deployment.events(instanceID);
  const outcomes = events.filter(({ payload }) => payload?.isPinned || payload?.refusedWrite);
  expect(outcomes.map(({ node_id, status }) => [node_id, status])).toEqual([
    ['first', 'SUCCESS'],
    ['second', 'SUCCESS'],
    ['write', 'SKIPPED'],
  ]);
}, 180_000);
