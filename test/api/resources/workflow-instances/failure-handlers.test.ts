import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aMember, aTenant, aWorkflow, chain, type TestTenant } from '../../../support/factories.ts';
import { eventually } from '../../../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: ['workflow.runs'] });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const admin = () => cluster.as(tenant.creator).in(tenant);
const failing = {
  workflowNodes: [
    { id: 'start', type: 'start', data: {} },
    { id: 'end', type: 'end', data: { status: 'failure', message: 'No stock' } },
  ],
  workflowEdges: [{ id: 'e', source: 'start', target: 'end', sourceHandle: 'output' }],
};

test('a run that fails starts the workflow that its own names, and says which run that is', async () => {
  const { body: handler } = await admin().post('T/workflows', {
    title: 'Handler',
    ...chain({}, { about: '{{ctx.input.instanceID}}', what: '{{ctx.input.error.message}}' }),
  });
  const { body: created } = await admin().post('T/workflows', {
    title: 'Fails',
    ...failing,
    workflowOptions: { onFailure: { workflowID: handler.workflow.id } },
  });
  const { body } = await admin().post(`T/workflows/${created.workflow.id}/execute?wait=30`, {});
  expect(body.status).toBe('FAILED');

  await eventually(async () => {
    const { body: run } = await admin().get(`T/workflows/instances/${body.instanceID}`);
    expect(run.onFailure).toEqual({ workflowID: handler.workflow.id, instanceID: expect.any(String), error: null });
    const { body: handled } = await admin().get(`T/workflows/instances/${run.onFailure.instanceID}`);
    expect(handled).toMatchObject({
      status: 'COMPLETED',
      origin: 'workflow',
      output: { about: body.instanceID, what: 'No stock' },
    });
    expect(handled.onFailure).toBeUndefined();
  });
});

test('to save a handler, the author must be able to execute it', async () => {
  const workflow = await aWorkflow(cluster, { tenant });
  const handler = await aWorkflow(cluster, { tenant });
  const author = await aMember(cluster, { tenant, can: ['workflow.create', 'workflow.update'] });
  const api = cluster.as(author).in(tenant);
  const workflowOptions = { onFailure: { workflowID: handler.id } };

  expect((await api.post('T/workflows', { title: 'A', ...failing, workflowOptions })).status).toBe(403);
  expect((await api.patch(`T/workflows/${workflow.id}`, { workflowOptions })).status).toBe(403);
  const patched = await admin().patch(`T/workflows/${workflow.id}`, { workflowOptions });
  expect(patched.status).toBe(200);
  const { versionID } = patched.body.workflow;
  expect((await api.post(`T/workflows/${workflow.id}/versions/${versionID}/publish`, {})).status).toBe(403);
});

test('a handler that does not exist, or is the workflow itself, is refused by the path of the field', async () => {
  const workflow = await aWorkflow(cluster, { tenant });
  const stranger = await aWorkflow(cluster, { tenant: await aTenant(cluster) });
  for (const [id, message] of [
    [newID(), 'there is no such workflow'],
    [stranger.id, 'there is no such workflow'],
    [workflow.id, 'a workflow cannot handle its own failures'],
  ]) {
    const workflowOptions = { onFailure: { workflowID: id } };
    const { status, body } = await admin().patch(`T/workflows/${workflow.id}`, { workflowOptions });
    expect(status).toBe(400);
    expect(body.error.message).toBe(`workflowOptions.onFailure.workflowID: ${message}`);
  }
});
