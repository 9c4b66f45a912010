import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aMember, aTenant, aWorkflow, type TestTenant, type TestWorkflow } from '../../../support/factories.ts';
import { eventually } from '../../../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
let workflow: TestWorkflow;
beforeAll(async () => {
  cluster = await startCluster({ workers: ['workflow.runs'] });
});
beforeEach(async () => {
  tenant = await aTenant(cluster);
  workflow = await aWorkflow(cluster, { tenant });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const admin = () => cluster.as(tenant.creator).in(tenant);
const execute = async () => (await admin().post(`T/workflows/${workflow.id}/execute`, {})).body.instanceID as string;
const read = async (id: string) => (await admin().get(`T/workflows/instances/${id}`)).body;

test('a paused workflow accepts runs and begins none until it is resumed', async () => {
  const paused = await admin().post(`T/workflows/${workflow.id}/pause`, {});
  expect(paused.status).toBe(200);
  const again = await admin().post(`T/workflows/${workflow.id}/pause`, {});
  expect(again.body.pausedAt).toBe(paused.body.pausedAt);
  const ids = [await execute(), await execute()];

  expect((await admin().get(`T/workflows/${workflow.id}`)).body.workflow.pausedAt).toBe(paused.body.pausedAt);
  expect((await admin().get('T/workflows')).body.workflows[0].pausedAt).toBe(paused.body.pausedAt);
  const waiting = await read(ids[1] ?? '');
  expect(waiting.waitReason).toEqual({
    code: 'paused',
    message: 'the workflow is paused; 1 run is ahead in this workflow',
    position: 2,
    estimateSeconds: null,
  });
  const { body: accounting } = await admin().get('T/accounting');
  expect(accounting.total).toMatchObject({ accepted: 2, inFlight: 2, difference: 0 });

  const resumed = await admin().post(`T/workflows/${workflow.id}/resume`, {});
  expect(resumed.body.pausedAt).toBeNull();
  await eventually(async () => {
    for (const id of ids) expect((await read(id)).status).toBe('COMPLETED');
  });
});

test('a paused tenant accepts runs and begins none until it is resumed', async () => {
  const { body } = await admin().post('T/intake/pause', {});
  const id = await execute();

  expect((await admin().get('T')).body.tenant.pausedAt).toBe(body.pausedAt);
  const reasonOf = async () => (await read(id)).waitReason;
  const message = 'the intake of the tenant is paused; 0 runs are ahead in this workflow';
  expect(await reasonOf()).toMatchObject({ code: 'paused', message });
  await admin().post(`T/workflows/${workflow.id}/pause`, {});
  expect((await reasonOf()).message).toContain('the workflow and the intake of the tenant are paused');
  await admin().post('T/intake/resume', {});
  expect((await reasonOf()).message).toContain('the workflow is paused');
  await admin().post(`T/workflows/${workflow.id}/resume`, {});
  await eventually(async () => expect((await read(id)).status).toBe('COMPLETED'));
});

test('while an operator has paused the queue of runs, a run, Home and the fleet say so', async () => {
  const queue = cluster.context.messaging.backplane.queue('workflow.runs');
  const pauses = async () => {
    const { body } = await admin().get('T/overview');
    return { ...body.paused, inFleet: await cluster.context.runs.pausedQueues.names() };
  };
  await queue.pause();
  let id = '';
  try {
    id = await execute();
    await eventually(async () => {
      expect((await read(id)).waitReason).toEqual({
        code: 'paused',
        message: 'an operator of this deployment has paused the queue of runs',
        position: null,
        estimateSeconds: null,
      });
    });
    await admin().post(`T/workflows/${workflow.id}/pause`, {});
    const { body } = await admin().post('T/intake/pause', {});
    expect(await pauses()).toMatchObject({
      isQueuePaused: true,
      tenantSince: body.pausedAt,
      workflows: { count: 1, isMore: false, newest: [{ id: workflow.id }] },
      inFleet: ['workflow.runs'],
    });
    await admin().post(`T/workflows/${workflow.id}/resume`, {});
    await admin().post('T/intake/resume', {});
  } finally {
    await queue.resume();
  }
  await eventually(async () => expect((await read(id)).status).toBe('COMPLETED'));
  await eventually(async () => {
    expect(await pauses()).toMatchObject({ isQueuePaused: false, tenantSince: null, workflows: { count: 0 } });
  });
});

test('a pause and its end are told to the members of the tenant, and to no others', async () => {
  const stranger = await aTenant(cluster);
  await using socket = await cluster.socket(tenant.creator);
  await using other = await cluster.socket(stranger.creator);
  await socket.ask('join_room', `tenant:${tenant.id}`);
  await other.ask('join_room', `tenant:${stranger.id}`);

  const paused = await admin().post(`T/workflows/${workflow.id}/pause`, {});
  await admin().post('T/intake/resume', {});

  const told = (workflowID: string | null, pausedAt: string | null) => ({
    event: 'workflow_intake_update',
    payload: { tenantID: tenant.id, workflowID, pausedAt },
  });
  await eventually(() => expect(socket.messages).toEqual([told(workflow.id, paused.body.pausedAt), told(null, null)]));
  expect(other.messages).toEqual([]);
});

test('pausing a workflow needs workflow.update on it, pausing the intake tenant.update', async () => {
  const member = await aMember(cluster, { tenant, can: ['workflow.execute', 'tenant.read'] });
  const author = await aMember(cluster, {
    tenant,
    rules: [{ object: `workflow:${workflow.id}`, action: 'update' }],
  });
  const other = await aWorkflow(cluster, { tenant });
  for (const what of ['pause', 'resume']) {
    const as = (user: typeof member, path: string) => cluster.as(user).in(tenant).post(`${path}/${what}`, {});
    expect((await as(member, `T/workflows/${workflow.id}`)).status).toBe(403);
    expect((await as(member, 'T/intake')).status).toBe(403);
    expect((await as(author, `T/workflows/${workflow.id}`)).status).toBe(200);
    expect((await as(author, `T/workflows/${other.id}`)).status).toBe(403);
    expect((await as(author, 'T/intake')).status).toBe(403);
  }
});
