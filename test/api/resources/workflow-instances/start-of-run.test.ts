import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aListener, anApiKey, aTenant, aWorkflow, chain, type TestTenant } from '#test/support/factories.ts';
import { eventually } from '#test/support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster();
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const admin = () => cluster.as(tenant.creator).in(tenant);
const startOf = async (instanceID: string) => {
  const { body } = await admin().get(`T/workflows/instances/${instanceID}`);
  return { startedBy: body.startedBy, trigger: body.trigger };
};
/** The newest run of a workflow. */
const runOf = async (workflowID: string) => {
  let found = '';
  await eventually(async () => {
    const { body } = await admin().get(`T/workflows/instances?workflowID=${workflowID}`);
    expect(body.instances).toHaveLength(1);
    found = body.instances[0].instanceID;
  });
  return found;
};

test('a run says which person or key has started it', async () => {
  const { id } = await aWorkflow(cluster, { tenant, ...chain() });
  const { body } = await admin().post(`T/workflows/${id}/execute?wait=30`, {});
  const { id: userID } = tenant.creator;
  expect(await startOf(body.instanceID)).toEqual({
    startedBy: { type: 'user', id: userID, userID },
    trigger: null,
  });
  const key = await anApiKey(cluster, { tenant, can: ['workflow.execute'] });
  const byKey = await cluster.withKey(key).in(tenant).post(`T/workflows/${id}/execute?wait=30`, {});
  expect(await startOf(byKey.body.instanceID)).toEqual({
    startedBy: { type: 'apiKey', id: key.id, userID },
    trigger: null,
  });
  const { instances } = (await admin().get(`T/workflows/instances?workflowID=${id}`)).body;
  expect(instances).toMatchObject([
    { instanceID: byKey.body.instanceID, startedBy: { type: 'apiKey', id: key.id, userID } },
    { instanceID: body.instanceID, startedBy: { type: 'user', id: userID, userID } },
  ]);
});

test('a run names the tick of its cron job', async () => {
  const { id: workflowID } = await aWorkflow(cluster, { tenant, ...chain() });
  const job = { cronJobTitle: 'Yearly', cronJobType: 'workflow', cronJobSchedule: '0 3 1 1 *', workflowID };
  const { cronJobID } = (await admin().post('T/cronjobs', job)).body.cronJob;
  const { cronJobHistory: tick } = (await admin().post(`T/cronjobs/${cronJobID}/run`)).body;
  expect(await startOf(await runOf(workflowID))).toEqual({
    startedBy: null,
    trigger: { type: 'cronJob', id: cronJobID, tickID: tick.id, scheduledAt: tick.scheduledAt },
  });
});

test('a run names the event of its listener, among others of the same time, until that is deleted', async () => {
  const { id: workflowID } = await aWorkflow(cluster, { tenant, ...chain() });
  const actions = [{ actionType: 'trigger_workflow', actionConfig: { workflowID } }];
  const { id } = await aListener(cluster, { tenant, actions });
  await fetch(`${cluster.baseURL}/webhooks/v1/inbound/${id}`, { method: 'POST', body: '{}' });
  const instanceID = await runOf(workflowID);
  let eventID = '';
  await eventually(async () => {
    const { body } = await admin().get(`T/listeners/${id}/events?state=done`);
    expect(body.events).toHaveLength(1);
    eventID = body.events[0].eventID;
  });
  // Another event of the same millisecond, which is read before it.
  const other = { id: `${eventID.slice(0, 13)}-7000-8000-000000000001`, instance_id: null, actions: null };
  await cluster.pool.query(
    'insert into listener_event select (jsonb_populate_record(e, $2)).* from listener_event e where id = $1',
    [eventID, JSON.stringify(other)],
  );
  const trigger = { type: 'listener', id };
  expect(await startOf(instanceID)).toEqual({ startedBy: null, trigger: { ...trigger, eventID } });
  await cluster.pool.query('delete from listener_event where id = $1', [eventID]);
  expect(await startOf(instanceID)).toEqual({ startedBy: null, trigger });
});

test('a failure handler names the run that has failed, and a child its parent alone', async () => {
  const { id: handler } = await aWorkflow(cluster, { tenant, ...chain() });
  const nodes = [
    { id: 'start', type: 'start', data: {} },
    { id: 'end', type: 'end', data: { status: 'failure', message: 'No stock' } },
  ];
  const edges = [{ id: 'e', source: 'start', target: 'end' }];
  const options = { onFailure: { workflowID: handler } };
  const { id: child } = await aWorkflow(cluster, { tenant, nodes, edges });
  const { id: parent } = await aWorkflow(cluster, {
    tenant,
    ...{ nodes: [nodes[0] as object, { id: 'call', type: 'subWorkflow', data: { childWorkflowID: child } }] },
    edges: [{ id: 'e', source: 'start', target: 'call' }],
  });
  await admin().post(`T/workflows/${parent}/execute?wait=30`, {});
  expect(await startOf(await runOf(child))).toEqual({ startedBy: null, trigger: null });
  const { id: alone } = await aWorkflow(cluster, { tenant, nodes, edges, options });
  const { body: failed } = await admin().post(`T/workflows/${alone}/execute?wait=30`, {});
  expect(await startOf(await runOf(handler))).toEqual({
    startedBy: null,
    trigger: { type: 'failedRun', id: failed.instanceID },
  });
});
