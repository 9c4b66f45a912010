import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readApproverNames } from '#shared/access/policy/approvers.ts';
import { newID } from '#shared/core/ids.ts';
import { onPool } from '#shared/db/query.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import {
  aMember,
  anApiKey,
  aRole,
  aTenant,
  aWorkflow,
  type TestTenant,
  type TestUser,
} from '../../../support/factories.ts';
import { graph } from '../../../support/graphs.ts';
import { eventually } from '../../../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
let manager: TestUser;
let clerk: TestUser;

beforeAll(async () => {
  cluster = await startCluster({ workers: ['workflow.runs'] });
  tenant = await aTenant(cluster);
  manager = await aMember(cluster, { tenant, can: ['workflow.execute', 'workflow.read'] });
  clerk = await aMember(cluster, { tenant, can: ['workflow.execute', 'workflow.read'] });
  const role = await aRole(cluster, { tenant, roleName: 'Managers' });
  const { status } = await cluster
    .as(tenant.creator)
    .in(tenant)
    .patch(`T/users/${manager.id}/roles`, { roleIDs: [role.id] });
  expect(status).toBe(200);
});

afterAll(() => cluster[Symbol.asyncDispose]());

const as = (user: TestUser) => cluster.as(user).in(tenant);

/** Starts a run that asks. Returns the ids of the run and of the request. */
async function asked(ask: { type: string; [field: string]: unknown }) {
  const { nodes, edges } = graph(
    {
      start: { type: 'start' },
      ask,
      yes: { type: 'end', outputParameters: [{ name: 'value', sourceVariable: '{{ctx.value}}' }] },
      ...(ask.type === 'approval' && {
        no: { type: 'end', status: 'failure', message: 'Rejected: {{ctx.value.comment}}' },
      }),
    },
    ask.type === 'approval' ? ['start>ask', 'ask:approved>yes', 'ask:rejected>no'] : ['start>ask', 'ask>yes'],
  );
  const { id } = await aWorkflow(cluster, { tenant, nodes, edges });
  const { body } = await as(tenant.creator).post(`T/workflows/${id}/execute`, {});
  let requestID = '';
  await eventually(async () => {
    const { rows } = await cluster.pool.query<{ id: string }>(
      'select id from collection_request where instance_id = $1',
      [body.instanceID],
    );
    requestID = rows[0]?.id ?? expect.fail('nothing is asked');
  });
  return { instanceID: String(body.instanceID), requestID };
}

/** The run after its end. */
async function ended(instanceID: string) {
  const read = () => as(tenant.creator).get(`T/workflows/instances/${instanceID}`);
  await eventually(async () => expect(['COMPLETED', 'FAILED']).toContain((await read()).body.status));
  return (await read()).body;
}

async function listed(user: TestUser, query = '?status=PENDING&limit=100'): Promise<string[]> {
  const { status, body } = await as(user).get(`T/workflows/data-collection${query}`);
  expect(status).toBe(200);
  return body.requests.map((request: { collectionRequestID: string }) => request.collectionRequestID);
}

const approve = { submittedData: { decision: 'approve' } };

describe('an approval with named approvers', () => {
  test('takes the answer of a holder of a named role only, and shows it to no other', async () => {
    const { instanceID, requestID } = await asked({ type: 'approval', approvers: 'managers', outputVariable: 'value' });

    const refused = await as(clerk).post(`T/workflows/data-collection/${requestID}/submit`, approve);
    expect(refused).toMatchObject({ status: 403, body: { error: { code: 'PERMISSION_DENIED' } } });
    const key = await anApiKey(cluster, { tenant, creator: manager, can: ['workflow.execute'] });
    const byKey = await cluster
      .withKey(key)
      .in(tenant)
      .post(`T/workflows/data-collection/${requestID}/submit`, approve);
    expect(byKey.status).toBe(403);
    expect(await listed(clerk)).not.toContain(requestID);
    expect(await listed(manager)).toContain(requestID);

    const taken = await as(manager).post(`T/workflows/data-collection/${requestID}/submit`, approve);
    expect(taken.status).toBe(200);
    expect(await ended(instanceID)).toMatchObject({
      status: 'COMPLETED',
      output: { value: { approved: true, comment: '' } },
    });
    expect(await listed(manager)).not.toContain(requestID);
    expect(await listed(manager, '?status=COMPLETED&limit=100')).toContain(requestID);
  });

  test('takes the answer of a user named by id or by a verified address', async () => {
    const byID = await asked({ type: 'approval', approvers: [clerk.id.toUpperCase()] });
    expect((await as(manager).post(`T/workflows/data-collection/${byID.requestID}/submit`, approve)).status).toBe(403);
    expect((await as(clerk).post(`T/workflows/data-collection/${byID.requestID}/submit`, approve)).status).toBe(200);

    const byAddress = await asked({ type: 'approval', approvers: [clerk.email] });
    const submit = (user: TestUser) =>
      as(user).post(`T/workflows/data-collection/${byAddress.requestID}/submit`, approve);
    expect((await submit(manager)).status).toBe(403);
    expect((await submit(clerk)).status).toBe(200);

    const names = () => readApproverNames(onPool(cluster.pool), tenant.id, clerk.id);
    expect(await names()).toEqual([clerk.id, clerk.email.toLowerCase()]);
    await cluster.pool.query('update app_user set email_verified_at = null where id = $1', [clerk.id]);
    expect(await names()).toEqual([clerk.id]);
  });
});

test('an approval by another person refuses who started the run, and says for whom it waits', async () => {
  const ask = { type: 'approval', notByStarter: true, outputVariable: 'value' };
  const own = tenant.creator;
  const read = async (requestID: string, user: TestUser) =>
    (await as(user).get(`T/workflows/data-collection/${requestID}`)).body.request;
  const submit = (requestID: string, user = own) =>
    as(user).post(`T/workflows/data-collection/${requestID}/submit`, approve);

  const open = await asked({ ...ask, answerByLink: true });
  expect(await submit(open.requestID)).toMatchObject({
    status: 403,
    body: { error: { message: 'You have started this run: another person must answer' } },
  });
  const key = await anApiKey(cluster, { tenant, creator: own, can: ['workflow.execute'] });
  const path = `T/workflows/data-collection/${open.requestID}/submit`;
  expect((await cluster.withKey(key).in(tenant).post(path, approve)).status).toBe(403);
  expect([await listed(own), await listed(clerk)]).toEqual([
    expect.not.arrayContaining([open.requestID]),
    expect.arrayContaining([open.requestID]),
  ]);
  expect(await read(open.requestID, own)).toMatchObject({ mayAnswer: false, waitsFor: [], answerURL: null });
  expect(await read(open.requestID, clerk)).toMatchObject({ mayAnswer: true, answerURL: expect.any(String) });
  expect((await submit(open.requestID, clerk)).status).toBe(200);
  expect(await ended(open.instanceID)).toMatchObject({ status: 'COMPLETED' });

  const named = await asked({ ...ask, approvers: [own.id, manager.email, 'MANAGERS', 'gone@example.test'] });
  expect((await submit(named.requestID)).status).toBe(403);
  expect((await read(named.requestID, clerk)).waitsFor).toEqual([
    { type: 'user', name: expect.any(String) },
    { type: 'user', name: expect.any(String) },
    { type: 'role', name: 'Managers' },
    { type: 'other', name: 'gone@example.test' },
  ]);
  expect((await submit(named.requestID, manager)).status).toBe(200);

  // Without it, who has started the run may answer.
  const free = await asked({ ...ask, notByStarter: false });
  expect((await submit(free.requestID)).status).toBe(200);
});

test('an approval checks the decision and the comment, each fault with its path, and a rejection is a branch', async () => {
  const { instanceID, requestID } = await asked({ type: 'approval', requireComment: true, outputVariable: 'value' });
  const submit = (submittedData: object) =>
    as(clerk).post(`T/workflows/data-collection/${requestID}/submit`, { submittedData });

  const { status, body } = await submit({ decision: 'perhaps', comment: '' });
  expect(status).toBe(400);
  expect(body.error.message).toContain('submittedData.decision');
  expect(body.error.message).toContain('submittedData.comment');

  expect((await submit({ decision: 'reject', comment: 'Too dear' })).status).toBe(200);
  expect(await ended(instanceID)).toMatchObject({ status: 'FAILED', error: { message: 'Rejected: Too dear' } });
});

test('of two answers at once one wins, and the other is told', async () => {
  const { instanceID, requestID } = await asked({ type: 'approval', outputVariable: 'value' });
  const submit = (user: TestUser, comment: string) =>
    as(user).post(`T/workflows/data-collection/${requestID}/submit`, {
      submittedData: { decision: 'approve', comment },
    });

  const answers = await Promise.all(['a', 'b', 'c', 'd'].map((each) => submit(each < 'c' ? clerk : manager, each)));

  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
  const won = ['a', 'b', 'c', 'd'][answers.findIndex(({ status }) => status === 200)];
  expect(await ended(instanceID)).toMatchObject({ output: { value: { approved: true, comment: won } } });
});

test('a form with a JSON Schema checks its answer, and fills in defaults', async () => {
  const formSchema = {
    type: 'object',
    properties: { size: { type: 'integer', minimum: 1 }, color: { type: 'string', default: 'red' } },
    required: ['size'],
  };
  const { instanceID, requestID } = await asked({ type: 'dataCollection', formSchema, outputVariable: 'value' });
  const submit = (submittedData: object) =>
    as(clerk).post(`T/workflows/data-collection/${requestID}/submit`, { submittedData });

  const wrong = await submit({ size: 0 });
  expect(wrong).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
  expect(wrong.body.error.message).toContain('submittedData.size');
  expect((await submit({ size: 2 })).status).toBe(200);
  expect(await ended(instanceID)).toMatchObject({ output: { value: { size: 2, color: 'red' } } });
});

test('a form whose answers cannot be checked is refused when the workflow is saved', async () => {
  const formSchema = { properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
  const nodes = [
    { id: 's', type: 'start', data: {} },
    { id: 'f', type: 'dataCollection', data: { formSchema } },
  ];
  const { status, body } = await as(tenant.creator).post('T/workflows', {
    title: `Form ${newID()}`,
    workflowNodes: nodes,
    workflowEdges: [{ id: 'e', source: 's', target: 'f' }],
  });

  expect(status).toBe(400);
  expect(body.error.message).toContain('workflowNodes.1.data.formSchema.properties.a.pattern');
});

test('a rejection with nothing at its exit fails the run, and names the exit', async () => {
  const shape = graph({ start: { type: 'start' }, ask: { type: 'approval' }, end: { type: 'end' } }, [
    'start>ask',
    'ask:approved>end',
  ]);
  const { id } = await aWorkflow(cluster, { tenant, ...shape });
  const api = as(tenant.creator);
  const { instanceID } = (await api.post(`T/workflows/${id}/execute`, {})).body;
  const open = async () =>
    (await api.get(`T/workflows/data-collection?status=PENDING&instanceID=${instanceID}`)).body.requests;
  await eventually(async () => expect(await open()).toHaveLength(1));
  const [{ collectionRequestID }] = await open();

  await api.post(`T/workflows/data-collection/${collectionRequestID}/submit`, {
    submittedData: { decision: 'reject', comment: 'Too dear' },
  });

  const message = 'The node left by the exit "rejected", and nothing is connected to that';
  expect(await ended(instanceID)).toMatchObject({
    status: 'FAILED',
    error: { code: 'NODE_FAILED', nodeID: 'ask', message },
  });
});

test('a run that waits for several things names them all', async () => {
  const ask = (title: string, expiryMinutes = 0) => ({ type: 'approval', title, expiryMinutes });
  const shape = graph(
    {
      ...{ start: { type: 'start' }, first: ask('First'), second: ask('Second'), third: ask('Third', 60) },
      event: { type: 'waitForEvent', eventName: 'paid', eventKey: '7' },
    },
    ['start>first', 'start>second', 'start>event', 'start>third'],
  );
  const { id } = await aWorkflow(cluster, { tenant, ...shape });
  const api = as(tenant.creator);
  const { instanceID } = (await api.post(`T/workflows/${id}/execute`, {})).body;
  const read = async () => (await api.get(`T/workflows/instances/${instanceID}`)).body;
  await eventually(async () => expect((await read()).status).toBe('WAITING'));

  const { waiting, waitReason } = await read();

  const answers = 'for an answer to “Second”, and for an answer to “Third”';
  expect(waitReason).toMatchObject({
    code: 'input',
    message: `waits for an answer to “First”, and ${answers}, and 1 more`,
  });
  expect(waiting).toMatchObject({ reason: 'input', nodeID: 'first' });
  expect(waiting.others.map(({ reason, nodeID }: { reason: string; nodeID: string }) => [reason, nodeID])).toEqual([
    ['input', 'second'],
    ['input', 'third'],
    ['event', 'event'],
  ]);
  const [second, third] = waiting.others;
  expect([second.until, third.until]).toEqual([undefined, expect.any(String)]);
});

test('a question that expires with nothing at its exit fails the run', async () => {
  const ask = { type: 'dataCollection', fields: [{ key: 'answer' }], expiryMinutes: 0.005, timeoutHandle: 'late' };
  const shape = graph({ start: { type: 'start' }, ask, end: { type: 'end' } }, ['start>ask', 'ask:output>end']);
  const { id } = await aWorkflow(cluster, { tenant, ...shape });
  const { instanceID } = (await as(tenant.creator).post(`T/workflows/${id}/execute`, {})).body;

  const message = 'The node left by the exit "late", and nothing is connected to that';
  expect(await ended(instanceID)).toMatchObject({ status: 'FAILED', error: { nodeID: 'ask', message } });
});
