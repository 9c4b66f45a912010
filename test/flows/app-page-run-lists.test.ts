import { afterAll, beforeAll, expect, test } from 'vitest';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { changeRules } from '#shared/access/policy/change.ts';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { aMember, aTenant, aWorkflow, chain, type TestTenant, type TestUser } from '../support/factories.ts';

let cluster: Cluster;
let tenant: TestTenant;
let workflow: { id: string };
/** May read pages, and nothing else. */
let viewer: TestUser;

beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  tenant = await aTenant(cluster);
  workflow = await aWorkflow(cluster, { tenant, ...chain({}, {}) });
  viewer = await aMember(cluster, { tenant, can: ['appPage.read'] });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const as = (user: TestUser) => cluster.as(user).in(tenant);
const onWorkflow = (action: string) => ({ object: `workflow:${workflow.id}`, action });
const anAuthor = (...actions: string[]) =>
  aMember(cluster, { tenant, can: ['appPage.create', 'appPage.read'], rules: actions.map(onWorkflow) });

const open = { status: '{{widgets.state.value}}', offset: '{{widgets.runs.offset}}', pageSize: '{{variables.size}}' };

function create(by: TestUser, more: object = {}) {
  const source = { alias: 'runs', type: 'runs', workflowID: workflow.id, inputValues: open, ...more };
  return as(by).post('T/app-pages', { appPageTitle: 'Board', appPageConfig: { dataSources: [source] } });
}

async function aBoard(by: TestUser, more: object = {}): Promise<string> {
  return (await create(by, more)).body.appPage.id;
}

async function read(page: string, { by = viewer, ...inputValues }: { by?: TestUser } & Record<string, unknown> = {}) {
  const response = await fetch(`${cluster.baseURL}/api/v1/tenants/${tenant.id}/app-pages/${page}/data`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await cluster.tokenFor(by)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ queries: [{ queryAlias: 'runs', inputValues }] }),
  });
  return JSON.parse(await response.text());
}

const start = async (by = tenant.creator) =>
  (await as(by).post(`T/workflows/${workflow.id}/execute`, { inputValues: { secret: 'x' } })).body.instanceID as string;

test('a viewer sees the runs of the workflow that a page shows, in its columns alone, and what the viewer may do with them', async () => {
  const ids = [await start(), await start()];
  const [ended, waiting] = ids;
  await cluster.pool.query(
    `update workflow_instance set status = 'FAILED', started_at = created_at, completed_at = created_at + interval '90 seconds',
       error = '{"code": "NODE_FAILED", "message": "secret"}' where id = $1`,
    [ended],
  );
  const author = await anAuthor('read');
  const page = await aBoard(author);
  const { answer } = await read(page);
  expect(answer).toMatchObject({ rowCount: 2, truncated: false });
  const times = { createdAt: expect.any(String), startedBy: tenant.creator.email };
  const none = { canOpen: false, canStop: false, canRerun: false };
  expect(answer.dataQueryResult).toEqual([
    {
      ...{ instanceID: waiting, status: 'PENDING', ...times, ...none, errorCode: null },
      ...{ startedAt: null, completedAt: null, durationSeconds: null },
    },
    {
      ...{ instanceID: ended, status: 'FAILED', ...times, ...none, errorCode: 'NODE_FAILED', durationSeconds: 90 },
      ...{ startedAt: expect.any(String), completedAt: expect.any(String) },
    },
  ]);
  const may = await aMember(cluster, {
    tenant,
    can: ['appPage.read'],
    rules: [onWorkflow('read'), onWorkflow('execute')],
  });
  expect((await read(page, { by: may })).answer.dataQueryResult).toMatchObject([
    { canOpen: true, canStop: true, canRerun: false },
    { canOpen: true, canStop: false, canRerun: true },
  ]);
  const failed = await read(page, { status: 'FAILED' });
  expect(failed.answer).toMatchObject({ rowCount: 1, dataQueryResult: [{ instanceID: ended }] });

  const narrow = await aBoard(author, { runColumns: ['status'] });
  expect((await read(narrow)).answer.dataQueryResult).toEqual([{ status: 'PENDING' }, { status: 'FAILED' }]);
  const fixed = await aBoard(author, { inputValues: { status: 'FAILED' } });
  expect((await read(fixed)).answer.rowCount).toBe(1);
  expect((await read(fixed, { status: 'PENDING' })).error.message).toContain(
    'inputValues.status: is fixed by the page',
  );
});

test('runs are those of the tenant, of one workflow, and shown while the creator of the page may read them', async () => {
  const other = await aWorkflow(cluster, { tenant, ...chain({}, {}) });
  await as(tenant.creator).post(`T/workflows/${other.id}/execute`, {});
  const strange = await aTenant(cluster);
  const theirs = await aWorkflow(cluster, { tenant: strange, ...chain({}, {}) });

  // To execute a workflow is not to read its runs.
  expect((await create(await anAuthor('execute'))).status).toBe(403);
  expect((await create(tenant.creator, { workflowID: theirs.id })).body.error.message).toContain(
    'appPageConfig.dataSources.0.workflowID: there is no such workflow',
  );
  expect((await create(tenant.creator, { runColumns: ['input'] })).status).toBe(400);
  expect((await create(tenant.creator, { workflowID: undefined })).body.error.message).toContain(
    'workflowID: is required for the type runs',
  );

  const author = await anAuthor('read');
  const page = await aBoard(author);
  const { rows } = await cluster.pool.query('select count(*)::int as n from workflow_instance where workflow_id = $1', [
    workflow.id,
  ]);
  expect((await read(page)).answer.rowCount).toBe(rows[0].n);
  // The page gives its runs, and no start of their workflow.
  expect((await as(viewer).post(`T/app-pages/${page}/workflows/runs/execute`, {})).status).toBe(404);
  expect((await as(viewer).get(`T/workflows/instances?workflowID=${workflow.id}`)).body.instances ?? []).toEqual([]);
  const em = tenantEntityManager(cluster.context.orm.em, tenant.id);
  await changeRules(em, tenant.id, { remove: [{ subject: author.id }] });
  expect((await read(page)).error).toMatchObject({
    code: 'PERMISSION_DENIED',
    message: 'The creator of this page may not read this workflow any more',
  });
});

test('runs come by pages within bounds', async () => {
  const page = await aBoard(tenant.creator, { runColumns: ['instanceID'] });
  const all = (await read(page, { pageSize: 100 })).answer.dataQueryResult;
  expect((await read(page, { pageSize: 1, offset: '1' })).answer.dataQueryResult).toEqual([all[1]]);
  expect((await read(page, { pageSize: null, status: '' })).answer.dataQueryResult).toEqual(all);
  const refused: [object, string][] = [
    [{ pageSize: 101 }, 'inputValues.pageSize: expected a whole number from 1 to 100'],
    [{ offset: 1_001 }, 'inputValues.offset: expected a whole number from 0 to 1000'],
    [{ status: 'DONE' }, 'inputValues.status'],
  ];
  for (const [inputs, message] of refused)
    expect((await read(page, inputs as never)).error).toMatchObject({
      status: 400,
      message: expect.stringContaining(message),
    });
  const odd = await aBoard(tenant.creator, { inputValues: { tag: '{{variables.tag}}' } });
  expect((await read(odd, { tag: 'x' })).error.message).toContain('inputValues');

  await cluster.pool.query(
    `insert into workflow_instance select copy.* from workflow_instance i, generate_series(1, 1001) n,
       jsonb_populate_record(null::workflow_instance, to_jsonb(i) || jsonb_build_object('id', gen_random_uuid(), 'n', n)) copy where i.id = $1`,
    [all[0].instanceID],
  );
  expect((await read(page, { offset: 990, pageSize: 100 })).answer).toMatchObject({ rowCount: 1_000, truncated: true });
  expect((await read(page, { offset: 990, pageSize: 100 })).answer.dataQueryResult).toHaveLength(10);
  expect((await read(page, { offset: 1_000 })).answer.dataQueryResult).toEqual([]);
  expect((await read(newID())).error.code).toBe('NOT_FOUND');
});
