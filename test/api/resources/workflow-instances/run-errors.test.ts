import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '#shared/core/json.ts';
import { presentRunEvent, type RunEventRow } from '#shared/messaging/realtime/run-events.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aTenant, aWorkflow, chain, type TestTenant } from '../../../support/factories.ts';
import { code, graph } from '../../../support/graphs.ts';
import { eventually } from '../../../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: ['workflow.runs'] });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const api = () => cluster.as(tenant.creator).in(tenant);
const bad = code('const a = 1;\n  throw new Error("no luck");');
const noLuck = { code: 'NODE_FAILED', message: 'Error: no luck (line 2)', details: { line: 2, column: 9 } };

async function failed(shape: { nodes: object[]; edges: object[] }, options: JsonObject = {}) {
  const { id } = await aWorkflow(cluster, { tenant, ...shape, options });
  const { body } = await api().post(`T/workflows/${id}/execute?wait=30`, {});
  expect(body.status).toBe('FAILED');
  const { body: run } = await api().get(`T/workflows/instances/${body.instanceID}`);
  return { id, answer: body, run };
}

test('an error of code has its place in the run and in the code, wherever it is shown', async () => {
  const handler = await aWorkflow(cluster, { tenant, ...chain({}, { error: '{{ctx.input.error}}' }) });
  const { answer, run } = await failed(chain({ bad }), { onFailure: { workflowID: handler.id } });
  const whole = { ...noLuck, nodeID: 'bad', attempt: 1, frame: [] };

  expect(answer.error).toEqual(whole);
  expect(run.error).toEqual(whole);
  expect(run.timeline.at(-1)).toMatchObject({ nodeID: 'bad', frame: [], attempt: 1, error: noLuck });
  const { rows } = await cluster.pool.query<RunEventRow>(EVENTS, [run.instanceID]);
  // Messages that sockets and streams are sent.
  const sent = rows.flatMap(presentRunEvent).map(({ payload }) => payload);
  expect(sent).toContainEqual(expect.objectContaining({ nodeID: 'bad', attempt: 1, frame: [], error: noLuck }));
  expect(sent).toContainEqual(expect.objectContaining({ status: 'FAILED', error: whole }));
  await eventually(async () => {
    const { body } = await api().get(`T/workflows/instances/${run.instanceID}`);
    const { body: handled } = await api().get(`T/workflows/instances/${body.onFailure.instanceID}`);
    expect(handled.output).toEqual({ error: whole });
  });
});

test('a node that is left all the same gives null, also if its settings could not be filled in', async () => {
  const call = {
    type: 'http',
    url: 'http://127.0.0.1:9',
    headers: '{{ctx.input.none}}',
    errorHandling: 'continue',
  };
  const join = { type: 'join', sourceVariables: ['httpResponse'] };
  const { id } = await aWorkflow(cluster, { tenant, ...chain({ call, join }, { joined: '{{ctx.joined}}' }) });

  const { body } = await api().post(`T/workflows/${id}/execute?wait=30`, {});

  expect(body).toMatchObject({ status: 'COMPLETED', output: { joined: { httpResponse: null } } });
});

test('an error of a sub-workflow has that of the child as its cause', async () => {
  const child = await aWorkflow(cluster, { tenant, ...chain({ bad }) });

  const { run } = await failed(chain({ call: { type: 'subWorkflow', childWorkflowID: child.id } }));

  expect(run.error).toMatchObject({ nodeID: 'call', attempt: 1, frame: [] });
  const cause = { ...noLuck, nodeID: 'bad', attempt: 1, frame: [], instanceID: expect.any(String) };
  expect(run.error.cause).toEqual(cause);
});

const failingItem = (type: string, more = {}) =>
  graph({ start: { type: 'start' }, all: { type, sourceVariable: [1, 2], ...more }, bad }, [
    'start>all',
    `all:${type}>bad`,
  ]);
const atFirstItem = { ...noLuck, nodeID: 'bad', frame: [{ nodeID: 'all', iteration: 0 }], attempt: 1 };

test('an error in a loop has its frame, and is the cause of the error that the loop has', async () => {
  const { run } = await failed(failingItem('loop'));
  const { nodes, edges } = failingItem('loop');
  const caught = { id: 'caught', type: 'end', data: { status: 'failure' } };
  const edge = { id: 'caught', source: 'all', target: 'caught', sourceHandle: 'error' };
  const { run: handled } = await failed({ nodes: [...nodes, caught], edges: [...edges, edge] });

  expect(run.error).toEqual(atFirstItem);
  const ofLoop = handled.timeline.find(({ nodeID, status }: JsonObject) => nodeID === 'all' && status === 'FAILED');
  const { attempt: _, ...cause } = atFirstItem;
  expect(ofLoop.error).toMatchObject({ code: 'NODE_FAILED', cause });
});

test('an error of a map has that of the item as its cause', async () => {
  // Side by side, either item may be the first that fails.
  const { run } = await failed(failingItem('map', { concurrency: 1 }));

  expect(run.error).toMatchObject({ nodeID: 'all', frame: [], attempt: 1 });
  expect(run.error.cause).toEqual({ ...atFirstItem, instanceID: expect.any(String) });
});

const EVENTS = `
select instance_id as "instanceID", seq, node_id as "nodeID", iteration, frame, attempt, status, exit, created_at as at, payload, started
from run_event where instance_id = $1 order by seq`;
