import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '#shared/core/json.ts';
import { nodes } from '#shared/workflow/nodes/index.ts';
import { usualExitOf } from '#shared/workflow/nodes/properties.ts';
import { type Deployment, startDeployment } from '#test/support/deployment.ts';
import { graph } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { spawnNode } from '#test/support/process.ts';
import { eventually } from '#test/support/settle.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await startDeployment({ WORKER_SESSION_SECONDS: '2' });
});
afterAll(() => deployment[Symbol.asyncDispose]());

async function accepted(shape: { nodes: object[]; edges: object[] }): Promise<string> {
  const versionID = await deployment.saveVersion(shape);
  return (await deployment.runs.accept(deployment.newRun(versionID))).instanceID;
}

test('a worker that is killed amid branches changes nothing of what they come to', async () => {
  const openResponses: ServerResponse[] = [];
  await using server = await startHTTP((_request, response) => void openResponses.push(response));
  const id = await accepted(
    graph(
      {
        start: { type: 'start' },
        values: { type: 'set', assignments: [{ name: 'size', value: 'L' }] },
        all: { type: 'fanout', branches: [{ id: 'left' }, { id: 'right' }] },
        line: { type: 'log', message: 'Size {{ctx.size}}' },
        sizes: { type: 'switch', switchValue: '{{ctx.size}}', cases: [{ id: 'large', matchValue: 'L' }] },
        never: { type: 'end', status: 'failure' },
        call: { type: 'http', url: server.origin, outputVariable: 'answer' },
        both: { type: 'join', sourceVariables: ['size', 'answer'] },
        ask: { type: 'approval' },
        end: { type: 'end', outputParameters: [{ name: 'all', sourceVariable: '{{ctx.joined}}' }] },
      },
      [
        'start>values',
        'values>all',
        'all:left>line',
        'all:right>sizes',
        'sizes:default>never',
        'sizes:large>call',
        'line>both',
        'call:success>both',
        'both>ask',
        'ask:approved>end',
      ],
    ),
  );

  {
    await using worker = spawnNode(['workers/main.ts', 'workflow.runs'], deployment.env);
    await eventually(() => expect(openResponses).toHaveLength(1));
    await worker.kill('SIGKILL');
  }
  await deployment.startWorker();
  await eventually(() => expect(openResponses).toHaveLength(2));
  openResponses[1]?.end('{}');
  await eventually(async () => expect(await deployment.read(id)).toMatchObject({ status: 'WAITING' }));
  await deployment.pool.query(
    `update collection_request set status = 'COMPLETED', submitted_data = '{"decision":"approve"}' where instance_id = $1`,
    [id],
  );
  await deployment.runs.wake([id]);

  await eventually(async () =>
    expect(await deployment.read(id)).toMatchObject({
      status: 'COMPLETED',
      output: { all: { size: 'L', answer: {} } },
    }),
  );
  const events = await deployment.events(id);
  const outcomes = events
    .filter(({ status }) => status === 'SUCCESS')
    .map(({ node_id, attempt }) => [node_id, attempt]);
  expect(Object.fromEntries(outcomes)).toEqual({
    start: 1,
    values: 1,
    all: 1,
    line: 1,
    sizes: 1,
    call: 2,
    both: 1,
    ask: 1,
    end: 1,
  });
  expect(outcomes).toHaveLength(9);
  expect(events.find(({ node_id, status }) => node_id === 'line' && status === 'SUCCESS')?.payload).toMatchObject({
    output: { level: 'info', message: 'Size L' },
  });
}, 180_000);

test('a disabled node of every kind is passed through', async () => {
  await deployment.startWorker();
  const others = nodes.filter(({ begins, ends }) => !begins && !ends);
  const named = others.map((definition) => {
    // Safe: the configuration of a new node is JSON.
    const data = definition.defaultValue as JsonObject;
    const exit = usualExitOf(definition, definition.config.parse(data));
    return { id: definition.kind, exit, node: { ...data, type: definition.kind, isDisabled: true } };
  });
  const chain = named.map(
    ({ id }, at) => `${at === 0 ? 'start' : `${named[at - 1]?.id}:${named[at - 1]?.exit}`}>${id}`,
  );
  const last = named.at(-1);
  const id = await accepted(
    graph(
      {
        start: { type: 'start', isDisabled: true },
        ...Object.fromEntries(named.map((each) => [each.id, each.node])),
        end: { type: 'end', outputParameters: [{ name: 'reached', sourceVariable: true }] },
        // With its status the run would fail.
        'another end': { type: 'end', isDisabled: true, status: 'failure' },
      },
      [...chain, `${last?.id}:${last?.exit}>end`, 'start>another end'],
    ),
  );

  await eventually(async () =>
    expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED', error: null, output: { reached: true } }),
  );
  const events = await deployment.events(id);
  const skipped = events.filter(({ status }) => status === 'SKIPPED').map(({ node_id }) => node_id);
  expect(skipped.toSorted()).toEqual(['start', 'another end', ...others.map(({ kind }) => kind)].toSorted());
  expect(skipped.length).toBeGreaterThan(10);
});

test('a run of a stored version goes on, and fails at the node whose config is refused by now', async () => {
  await deployment.startWorker();
  const refused = { type: 'http', url: 'http://127.0.0.1:9', body: 'no JSON' };
  const id = await accepted(
    graph(
      {
        start: { type: 'start' },
        call: refused,
        never: { type: 'end', status: 'failure' },
        end: { type: 'end', outputParameters: [{ name: 'error', sourceVariable: '{{ctx.error.message}}' }] },
      },
      ['start>call', 'call:success>never', 'call:error>end'],
    ),
  );
  const without = await accepted(graph({ start: { type: 'start' }, call: refused }, ['start>call']));

  await eventually(async () =>
    expect(await deployment.read(id)).toMatchObject({ status: 'COMPLETED', output: { error: bodyFault } }),
  );
  await eventually(async () =>
    expect(await deployment.read(without)).toMatchObject({
      status: 'FAILED',
      error: { code: 'VALIDATION_ERROR', nodeID: 'call', attempt: 1, message: bodyFault },
    }),
  );
});

const bodyFault = expect.stringContaining('body: is not valid JSON');
