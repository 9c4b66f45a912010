import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { startDeployment } from '#test/support/deployment.ts';
import { graph } from '#test/support/graphs.ts';
import { json, startHTTP } from '#test/support/http-server.ts';
import { spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';

const WAITING = 3;

test('a run whose worker is killed keeps its concurrency key until it ends, and the next follows it', async () => {
  const open: { order: string; response: ServerResponse }[] = [];
  await using server = await startHTTP(({ body }, response) => {
    open.push({ order: (JSON.parse(body) as { order: string }).order, response });
  });
  await using deployment = await startDeployment({ WORKER_SESSION_SECONDS: '2' });
  const call = { type: 'http', url: server.origin, method: 'POST', body: { order: '{{ctx.input.order}}' } };
  const versionID = await deployment.saveVersion(
    graph({ start: { type: 'start' }, call, end: { type: 'end' } }, ['start>call', 'call:success>end']),
  );
  const limits = { key: { value: 'customer-7', limit: 1, onLimit: 'queue' as const } };
  const { workflowID } = await deployment.saveWorkflow(graph({ start: { type: 'start' } }, []));
  const accept = (order: string) =>
    deployment.runs.accept(deployment.newRun(versionID, { order }, { limits, workflowID }));
  const statuses = async () => {
    const { rows } = await deployment.pool.query<{ status: string }>(
      'select status from workflow_instance order by id',
    );
    return rows.map(({ status }) => status);
  };

  await using first = spawnNode(['workers/main.ts', 'workflow.runs'], deployment.env);
  const { instanceID: owner } = await accept('first');
  await eventually(() => expect(open.map(({ order }) => order)).toEqual(['first']));
  await accept('next 0');
  await deployment.startWorker();

  await first.kill('SIGKILL');
  const { held_by: dead } = await deployment.read(owner);
  const lease = async () => {
    const { rows } = await deployment.pool.query<{ isOver: boolean; isEnded: boolean }>(
      'select expires_at <= now() as "isOver", ended_at is not null as "isEnded" from worker_session where id = $1',
      [dead],
    );
    return rows[0];
  };
  // While nothing renews the lease of the dead worker, and when the run has been taken away from it.
  await eventually(async () => expect(await lease()).toMatchObject({ isOver: true }));
  await accept('next 1');
  await eventually(async () => expect(await lease()).toMatchObject({ isEnded: true }));
  await accept('next 2');

  // The same run again, by the other worker: its death has freed no place.
  await eventually(() => expect(open.map(({ order }) => order)).toEqual(['first', 'first']));
  expect(await statuses()).toEqual(['RUNNING', ...Array(WAITING).fill('PENDING')]);
  for (let done = 1; done <= 1 + WAITING; done += 1) {
    const { response } = open[done] ?? expect.fail(`call ${done} was not made`);
    json(response, {});
    await eventually(async () =>
      expect((await statuses()).filter((status) => status === 'COMPLETED')).toHaveLength(done),
    );
    if (done <= WAITING) await eventually(() => expect(open).toHaveLength(done + 2));
  }
  expect(open.map(({ order }) => order)).toEqual(['first', 'first', 'next 0', 'next 1', 'next 2']);
}, 180_000);
