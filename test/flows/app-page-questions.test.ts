import { afterAll, beforeAll, expect, test } from 'vitest';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { changeRules } from '#shared/access/policy/change.ts';
import { newID } from '#shared/core/ids.ts';
import type { InputDefinition } from '#shared/workflow/inputs.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { aMember, aTenant, aWorkflow, type TestTenant, type TestUser } from '../support/factories.ts';
import { graph } from '../support/graphs.ts';
import { eventually } from '../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
/** Both may read pages, and nothing else. */
let viewer: TestUser;
let other: TestUser;

beforeAll(async () => {
  cluster = await startCluster({ workers: ['workflow.runs'] });
  tenant = await aTenant(cluster);
  viewer = await aMember(cluster, { tenant, can: ['appPage.read'] });
  other = await aMember(cluster, { tenant, can: ['appPage.read'] });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const as = (user: TestUser) => cluster.as(user).in(tenant);

/** A workflow that asks first. */
async function aQuestion(ask: object): Promise<string> {
  const { id } = await aWorkflow(cluster, {
    tenant,
    ...graph(
      {
        start: { type: 'start' },
        ask: { type: 'dataCollection', title: 'Why?', fields: [{ key: 'why', required: true }], ...ask },
        end: { type: 'end', outputParameters: [{ name: 'given', sourceVariable: '{{ctx.given}}' }] },
      },
      ['type' in ask ? 'ask:approved>end' : 'ask:output>end', 'start>ask'],
    ),
  });
  return id;
}

async function aPage(workflowID: string, more: object = {}, by = tenant.creator): Promise<string> {
  const dataSources = [{ alias: 'w', type: 'workflow', workflowID }];
  const { body } = await as(by).post('T/app-pages', {
    appPageTitle: 'A page',
    appPageConfig: { dataSources },
    ...more,
  });
  return body.appPage.id;
}

/** Starts a run through a page, and waits for its question. */
async function asked(page: string, by = viewer) {
  const { instanceID } = (await as(by).post(`T/app-pages/${page}/workflows/w/execute`, {})).body;
  let questionID = '';
  await eventually(async () => {
    const { rows } = await cluster.pool.query('select id from collection_request where instance_id = $1', [instanceID]);
    questionID = rows[0]?.id ?? expect.fail('nothing is asked');
  });
  return { instanceID: instanceID as string, questionID };
}

const answer = (page: string, questionID: string, by: TestUser, submittedData: object = { why: 'so' }) =>
  as(by).post(`T/app-pages/${page}/questions/${questionID}/submit`, { submittedData });
const read = (page: string, questionID: string, by: TestUser) =>
  as(by).get(`T/app-pages/${page}/questions/${questionID}`);
const listed = async (page: string, by: TestUser) =>
  (await as(by).get(`T/app-pages/${page}/questions`)).body.questions.map(
    (one: { collectionRequestID: string }) => one.collectionRequestID,
  );

test('a viewer answers the form of a run that the viewer has started through the page, once', async () => {
  const page = await aPage(await aQuestion({ outputVariable: 'given' }));
  const { instanceID, questionID } = await asked(page);

  expect((await as(viewer).get(`T/app-pages/${page}/questions`)).body.questions).toMatchObject([
    { collectionRequestID: questionID, instanceID, workflowAlias: 'w', title: 'Why?', isOwnRun: true },
  ]);
  const { question } = (await read(page, questionID, viewer)).body;
  expect(question).toMatchObject({ status: 'PENDING', collectionConfig: { fields: [{ key: 'why' }] } });
  expect((await answer(page, questionID, viewer, {})).body.error.message).toContain('submittedData.why: is required');
  expect((await answer(page, questionID, viewer)).status).toBe(200);
  expect((await answer(page, questionID, viewer, { why: 'again' })).status).toBe(409);
  await eventually(async () =>
    expect((await as(viewer).get(`T/app-pages/${page}/runs/${instanceID}`)).body).toMatchObject({
      status: 'COMPLETED',
      output: { given: { why: 'so' } },
    }),
  );
  const { rows } = await cluster.pool.query('select submitted_by from collection_request where id = $1', [questionID]);
  expect(rows).toEqual([{ submitted_by: viewer.id }]);
  expect(await listed(page, viewer)).toEqual([]);
});

test('the loser of two answers reads who has answered, and the winner that it was the own answer', async () => {
  const { email } = (await as(tenant.creator).get(`T/users/${other.id}`)).body.user;
  const approval = { type: 'approval', approvers: [viewer.id, other.id] };
  const page = await aPage(await aQuestion(approval));
  const { questionID } = await asked(page);
  expect((await read(page, questionID, viewer)).body.question).toMatchObject({ answeredBy: null, isOwnAnswer: false });

  const answers = await Promise.all([
    answer(page, questionID, other, { decision: 'approve' }),
    answer(page, questionID, other, { decision: 'reject' }),
  ]);
  const late = await answer(page, questionID, viewer, { decision: 'reject' });

  expect([...answers.map(({ status }) => status).sort(), late.status]).toEqual([200, 409, 409]);
  const seenBy = async (user: TestUser) => (await read(page, questionID, user)).body.question;
  expect(await seenBy(viewer)).toMatchObject({ status: 'COMPLETED', answeredBy: email, isOwnAnswer: false });
  expect(await seenBy(other)).toMatchObject({ status: 'COMPLETED', answeredBy: email, isOwnAnswer: true });
});

test('a question that is not asked of a viewer there is not answered through a page', async () => {
  const workflow = await aQuestion({});
  const page = await aPage(workflow);
  const { questionID } = await asked(page);
  const elsewhere = await aPage(workflow);
  const unbound = await aPage(await aQuestion({}));
  const strange = await aTenant(cluster);
  const theirs = await cluster.as(strange.creator).in(strange).post('T/app-pages', {
    appPageTitle: 'Theirs',
    appPageConfig: {},
  });
  const direct = (await as(tenant.creator).post(`T/workflows/${workflow}/execute`, {})).body.instanceID;
  let ofDirect = '';
  await eventually(async () => {
    const { rows } = await cluster.pool.query('select id from collection_request where instance_id = $1', [direct]);
    ofDirect = rows[0]?.id ?? expect.fail('nothing is asked');
  });

  const attempts: [string, { status: number }][] = [
    ['another viewer', await answer(page, questionID, other)],
    ['the creator of the page', await answer(page, questionID, tenant.creator)],
    ['by another page of the same workflow', await answer(elsewhere, questionID, viewer)],
    ['by a page without the workflow', await answer(unbound, questionID, viewer)],
    ['a run that was started elsewhere', await answer(page, ofDirect, viewer)],
    ['no question', await answer(page, newID(), viewer)],
    ['a read by another viewer', await read(page, questionID, other)],
    [
      'another tenant',
      await cluster
        .as(strange.creator)
        .in(strange)
        .post(`T/app-pages/${theirs.body.appPage.id}/questions/${questionID}/submit`, { submittedData: { why: 'x' } }),
    ],
  ];
  expect(attempts.filter(([, { status }]) => status !== 404)).toEqual([]);
  expect(await listed(page, other)).toEqual([]);
  expect(await listed(elsewhere, viewer)).toEqual([]);
  expect(
    (await as(viewer).post(`T/workflows/data-collection/${questionID}/submit`, { submittedData: {} })).status,
  ).toBe(403);

  // A page that is a draft, or binds the workflow no more, gives nothing.
  await as(tenant.creator).patch(`T/app-pages/${page}`, { isDraft: true });
  expect([(await answer(page, questionID, viewer)).status, (await read(page, questionID, viewer)).status]).toEqual([
    409, 409,
  ]);
  await as(tenant.creator).patch(`T/app-pages/${page}`, { isDraft: false, appPageConfig: {} });
  expect((await answer(page, questionID, viewer)).status).toBe(404);
  const stranger = await aMember(cluster, { tenant, can: ['dashboard.read'] });
  expect((await answer(page, questionID, stranger)).status).toBe(403);
});

test('an approval is for the viewer whom it names, and not for the one who asks for it', async () => {
  const labels = { type: 'approval', title: 'Pay?', outputVariable: 'given' };
  const page = await aPage(await aQuestion({ ...labels, description: 'How much', approvers: [other.id] }));
  const { questionID, instanceID } = await asked(page);
  expect([await listed(page, viewer), await listed(page, other)]).toEqual([[], [questionID]]);
  const approve = { decision: 'approve' };
  expect((await read(page, questionID, viewer)).body.question).toMatchObject({
    mayAnswer: false,
    waitsFor: [{ type: 'user' }],
    collectionConfig: { collectionType: 'approval', title: 'Pay?' },
  });
  expect((await read(page, questionID, other)).body.question).toMatchObject({
    mayAnswer: true,
    waitsFor: [],
    collectionConfig: { description: 'How much' },
  });
  expect((await answer(page, questionID, viewer, approve)).status).toBe(403);
  expect((await answer(page, questionID, other, approve)).status).toBe(200);
  await eventually(async () =>
    expect((await as(viewer).get(`T/app-pages/${page}/runs/${instanceID}`)).body.status).toBe('COMPLETED'),
  );

  // One without approvers is for those who may execute the workflow.
  const open = await aPage(await aQuestion(labels));
  const own = await asked(open);
  expect([
    (await answer(open, own.questionID, viewer, approve)).status,
    (await answer(open, own.questionID, other, approve)).status,
  ]).toEqual([403, 404]);
  expect(await listed(open, viewer)).toEqual([]);

  // Nor is it for one whom it names, but who has started the run.
  const second = await aPage(await aQuestion({ ...labels, approvers: [viewer.id, other.id], notByStarter: true }));
  const mine = await asked(second);
  expect([await listed(second, viewer), await listed(second, other)]).toEqual([[], [mine.questionID]]);
  expect((await answer(second, mine.questionID, viewer, approve)).status).toBe(403);
});

test('a page gives nothing that its creator may not do any more', async () => {
  const workflow = await aQuestion({});
  const rules = [{ object: `workflow:${workflow}`, action: 'execute' as const }];
  const author = await aMember(cluster, { tenant, can: ['appPage.create', 'appPage.read'], rules });
  const page = await aPage(workflow, {}, author);
  const { questionID } = await asked(page);
  await changeRules(tenantEntityManager(cluster.context.orm.em, tenant.id), tenant.id, {
    remove: [{ subject: author.id, object: `workflow:${workflow}` }],
  });
  expect((await answer(page, questionID, viewer)).status).toBe(403);
  expect(await listed(page, viewer)).toEqual([]);
});

test('a form is told what the page leaves to its viewers, and no other input', async () => {
  const inputDefinitions: InputDefinition[] = [
    { key: 'reason', type: 'choice', options: ['late', 'broken'], required: true, title: 'Reason' },
    { key: 'amount', type: 'number', required: false },
    { key: 'secret', type: 'string', required: false },
  ];
  const { id } = await aWorkflow(cluster, { tenant, options: { inputDefinitions } });
  const inputValues = { reason: '{{form.reason}}', amount: 40 };
  const dataSources = [{ alias: 'w', type: 'workflow', workflowID: id, inputValues }];
  const page = await aPage(id, { appPageConfig: { dataSources } });
  const inputs = (alias: string, by = viewer) => as(by).get(`T/app-pages/${page}/workflows/${alias}/inputs`);
  expect((await inputs('w')).body.inputDefinitions).toEqual([inputDefinitions[0]]);
  expect((await inputs('x')).status).toBe(404);
  const stranger = await aMember(cluster, { tenant, can: ['dashboard.read'] });
  expect((await inputs('w', stranger)).status).toBe(403);
  await as(tenant.creator).patch(`T/app-pages/${page}`, { isDraft: true });
  expect((await inputs('w')).status).toBe(409);
});
