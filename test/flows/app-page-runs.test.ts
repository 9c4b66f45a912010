import { afterAll, beforeAll, expect, test } from 'vitest';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { changeRules, type RuleChange } from '#shared/access/policy/change.ts';
import { newID } from '#shared/core/ids.ts';
import type { Client } from '../support/client.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import {
  aDataQuery,
  aMember,
  anApiKey,
  aTenant,
  aWidget,
  aWorkflow,
  chain,
  type TestTenant,
  type TestUser,
} from '../support/factories.ts';
import { graph } from '../support/graphs.ts';
import { eventually } from '../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
let query: { id: string };
let workflow: { id: string };
/** May read pages, and nothing else. */
let viewer: TestUser;
let author: TestUser;

beforeAll(async () => {
  // The least that is allowed: one request may hold half of it.
  cluster = await startCluster({ workers: true, settings: { HELD_MAX_BYTES: String(32 * 1024 ** 2) } });
  tenant = await aTenant(cluster);
  query = await aDataQuery(cluster, {
    tenant,
    query: {
      query: 'select {{inputs.region}}::text as region, {{inputs.day}}::text as day',
      inputDefinitions: [{ key: 'region' }, { key: 'day' }],
    },
  });
  workflow = await aWorkflow(cluster, { tenant, ...chain({}, { word: '{{ctx.input.word}}' }) });
  viewer = await aMember(cluster, { tenant, can: ['appPage.read'] });
  author = await anAuthor();
});
afterAll(() => cluster[Symbol.asyncDispose]());

const as = (user: TestUser): Client => cluster.as(user).in(tenant);
const mayExecute = () => [
  { object: `dataquery:${query.id}`, action: 'execute' },
  { object: `workflow:${workflow.id}`, action: 'execute' },
];
const anAuthor = () =>
  aMember(cluster, { tenant, can: ['appPage.create', 'appPage.update', 'appPage.read'], rules: mayExecute() });
const change = (what: RuleChange) =>
  changeRules(tenantEntityManager(cluster.context.orm.em, tenant.id), tenant.id, what);

const sources = () => [
  { alias: 'q', type: 'query', queryID: query.id, inputValues: { region: 'north', day: '{{variables.day}}' } },
  { alias: 'w', type: 'workflow', workflowID: workflow.id, inputValues: { word: '{{variables.word}}' } },
];

async function aPage(by: Client = as(author), more: object = {}): Promise<string> {
  const body = { appPageTitle: 'A page', appPageConfig: { dataSources: sources() }, ...more };
  return (await by.post('T/app-pages', body)).body.appPage.id;
}

const runQuery = (page: string, inputValues: object = {}, by = as(viewer)) =>
  by.post(`T/app-pages/${page}/queries/q/run`, { inputValues });
const runWorkflow = (page: string, by = as(viewer), headers = {}) =>
  by.post(`T/app-pages/${page}/workflows/w/execute?wait=30`, { inputValues: { word: 'hello' } }, headers);

test('a viewer without any other permission runs what the page binds, through the page alone', async () => {
  const page = await aPage();

  const answer = await runQuery(page, { day: 'today' });
  expect(answer.body).toMatchObject({ success: true, dataQueryResult: [{ region: 'north', day: 'today' }] });
  const run = await runWorkflow(page);
  expect(run.body).toMatchObject({ status: 'COMPLETED', output: { word: 'hello' } });

  // The run is the creator's, begun by the page, and says who asked for it.
  const { rows } = await cluster.pool.query('select caller, class from workflow_instance where id = $1', [
    run.body.instanceID,
  ]);
  const caller = { type: 'user', id: author.id, userID: author.id, origin: 'appPage', originID: page };
  const requestedBy = { type: 'user', id: viewer.id, userID: viewer.id };
  expect(rows).toEqual([{ caller: { ...caller, requestedBy }, class: 'interactive' }]);
  await eventually(async () => {
    const { rows: ran } = await cluster.pool.query('select caller from query_run where data_query_id = $1', [query.id]);
    expect(ran).toContainEqual({ caller: { ...caller, requestedBy } });
  });

  for (const path of [`queries/${query.id}/run`, `queries/${query.id}/queryTest`, `workflows/${workflow.id}/execute`])
    expect([path, (await as(viewer).post(`T/${path}`, {})).status]).toEqual([path, 403]);
  const stranger = await aMember(cluster, { tenant, can: ['dashboard.read'] });
  expect([(await runQuery(page, {}, as(stranger))).status, (await runWorkflow(page, as(stranger))).status]).toEqual([
    403, 403,
  ]);
});

test('a viewer reads the result of their own run, and of no other', async () => {
  const page = await aPage();
  const { instanceID } = (await runWorkflow(page)).body;
  const other = await aMember(cluster, { tenant, can: ['appPage.read'] });
  const read = async (by: TestUser, of = page, id = instanceID) =>
    (await as(by).get(`T/app-pages/${of}/runs/${id}`)).status;

  expect((await as(viewer).get(`T/app-pages/${page}/runs/${instanceID}`)).body).toMatchObject({
    status: 'COMPLETED',
    output: { word: 'hello' },
  });
  expect(await Promise.all([read(other), read(viewer, await aPage()), read(viewer, page, newID())])).toEqual([
    404, 404, 404,
  ]);
  expect((await as(viewer).get(`T/workflows/instances/${instanceID}`)).status).toBe(403);
});

test('parameters that the page fixes or does not declare are refused by name', async () => {
  const page = await aPage();
  const issueOf = async (inputValues: object, field = 'inputValues') => {
    const { status, body } = await as(viewer).post(`T/app-pages/${page}/queries/q/run`, { [field]: inputValues });
    return [status, body.error.message];
  };
  expect(await issueOf({ region: 'south' })).toEqual([400, 'inputValues.region: is fixed by the page']);
  expect(await issueOf({ limit: 1 }, 'args')).toEqual([400, 'args.limit: is not a parameter that the page declares']);
  expect((await runQuery(page, { region: 'north', day: null })).status).toBe(200);
});

test('an alias of another kind, a removed binding and a page of another tenant are not there', async () => {
  const page = await aPage();
  const post = async (path: string, by = as(viewer)) => (await by.post(`T/app-pages/${page}/${path}`, {})).status;
  expect(
    await Promise.all([post('queries/w/run'), post('workflows/q/execute'), post('queries/__proto__/run')]),
  ).toEqual([404, 404, 404]);
  await as(author).patch(`T/app-pages/${page}`, { appPageConfig: { dataSources: sources().slice(1) } });
  expect([await post('queries/q/run'), await post('workflows/w/execute')]).toEqual([404, 200]);

  const other = await aTenant(cluster);
  const theirs = cluster.as(other.creator).in(other);
  expect((await theirs.post(`T/app-pages/${page}/queries/q/run`, {})).status).toBe(404);
  // An id of another tenant that came into the page of one by other ways than the API.
  await cluster.pool.query(
    `update app_page set app_page_config = jsonb_build_object('dataSources', $2::jsonb) where id = $1`,
    [page, JSON.stringify(sources())],
  );
  await cluster.pool.query('update app_page set tenant_id = $2 where id = $1', [page, other.id]);
  const answers = [
    await theirs.post(`T/app-pages/${page}/queries/q/run`, {}),
    await theirs.post(`T/app-pages/${page}/workflows/w/execute`, {}),
  ];
  // The author is no member there.
  expect(answers.map(({ status }) => status)).toEqual([403, 403]);
  await cluster.pool.query('update app_page set creator_id = $2 where id = $1', [page, other.creator.id]);
  expect((await theirs.post(`T/app-pages/${page}/queries/q/run`, {})).status).toBe(404);
  expect((await theirs.post(`T/app-pages/${page}/workflows/w/execute`, {})).status).toBe(404);
});

test('a draft runs nothing, not even for its author', async () => {
  const page = await aPage(as(author), { isDraft: true });
  expect([(await runQuery(page)).status, (await runWorkflow(page, as(author))).status]).toEqual([409, 409]);
  await as(author).patch(`T/app-pages/${page}`, { isDraft: false });
  expect((await runQuery(page)).status).toBe(200);
});

test('a page stops running when its creator may no longer, or is gone', async () => {
  const own = await anAuthor();
  const page = await aPage(as(own));
  expect((await runQuery(page)).status).toBe(200);
  await change({ remove: [{ subject: own.id, object: `dataquery:${query.id}` }] });
  expect(await runQuery(page)).toMatchObject({
    status: 403,
    body: { error: { message: 'The creator of this page may not execute this data query any more' } },
  });
  expect((await runWorkflow(page)).status).toBe(200);
  expect((await as(tenant.creator).delete(`T/users/${own.id}`)).status).toBe(200);
  expect((await runWorkflow(page)).status).toBe(403);
});

test('a page of an API key runs as the key, while it and its creator may', async () => {
  const can = ['appPage.create', 'appPage.read', 'dataquery.execute', 'workflow.execute'] as const;
  const key = await anApiKey(cluster, { tenant, can });
  const page = await aPage(cluster.withKey(key).in(tenant));
  expect((await runWorkflow(page)).body.status).toBe('COMPLETED');
  await as(tenant.creator).delete(`T/apikeys/${key.id}`);
  expect((await runQuery(page)).status).toBe(403);
});

test('a workflow that calls others does so by the rights of the creator of the page, also while it runs', async () => {
  const child = await aWorkflow(cluster, { tenant });
  const parent = await aWorkflow(cluster, {
    tenant,
    ...graph(
      { start: { type: 'start' }, call: { type: 'subWorkflow', childWorkflowID: child.id }, end: { type: 'end' } },
      ['start>call', 'call:success>end'],
    ),
  });
  const rules = [parent, child].map(({ id }) => ({ object: `workflow:${id}`, action: 'execute' }));
  const own = await aMember(cluster, { tenant, can: ['appPage.create', 'appPage.read'], rules });
  const binding = { alias: 'w', type: 'workflow', workflowID: parent.id };
  const page = await aPage(as(own), { appPageConfig: { dataSources: [binding] } });
  const execute = () => as(viewer).post(`T/app-pages/${page}/workflows/w/execute?wait=30`, {});
  expect((await execute()).body).toMatchObject({ status: 'COMPLETED' });
  await change({ remove: [{ subject: own.id, object: `workflow:${child.id}` }] });
  expect((await execute()).status).toBe(403);
});

test('a repeated request with its key starts one run', async () => {
  const page = await aPage();
  const key = { 'idempotency-key': newID() };
  const [one, two] = [await runWorkflow(page, as(viewer), key), await runWorkflow(page, as(viewer), key)];
  expect(two.body).toEqual(one.body);
  const other = await aMember(cluster, { tenant, can: ['appPage.read'] });
  expect((await runWorkflow(page, as(other), key)).body.instanceID).not.toBe(one.body.instanceID);
});

const linesOf = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

test('a viewer gets all data of a page by one request, each as soon as it has ended, and a failure is that of its own line', async () => {
  const slow = await aDataQuery(cluster, { tenant, query: { query: 'select pg_sleep(0.5), 1 as n' } });
  const { id: widgetID } = await aWidget(cluster, {
    tenant,
    type: 'table',
    config: { dataQueries: [{ dataQueryID: query.id, inputValues: { region: 'south', day: '{{state.day}}' } }] },
  });
  const widgetKey = `widget_${widgetID}_1`;
  const other = `widget_${newID()}_1`;
  const appPageConfig = {
    dataSources: [
      ...sources(),
      { alias: 'slow', type: 'query', queryID: slow.id },
      { alias: 'broken', type: 'query', queryID: query.id, inputValues: { nothing: 1 } },
    ],
    widgets: [widgetKey],
  };
  const page = (await as(tenant.creator).post('T/app-pages', { appPageTitle: 'A page', appPageConfig })).body.appPage
    .id;
  const read = async (body: object, by = as(viewer)) => {
    const { status, body: answer } = await by.post(`T/app-pages/${page}/data`, body);
    return { status, lines: status === 200 ? linesOf(answer) : [] };
  };

  const { status, lines } = await read({
    queries: [
      { queryAlias: 'slow' },
      { queryAlias: 'q', inputValues: { day: 'today' } },
      { queryAlias: 'none' },
      { queryAlias: 'w' },
      { queryAlias: 'q', inputValues: { region: 'south' } },
    ],
    widgets: [{ widgetKey, state: { day: 'monday' } }, { widgetKey: other }],
  });
  expect(status).toBe(200);
  expect(lines.length).toBe(7);
  // The slow one was asked for first.
  expect(lines.at(-1)).toMatchObject({ queryAlias: 'slow', answer: { dataQueryResult: [{ n: 1 }] } });
  const ended = lines.map(({ queryAlias, widgetKey: key, answer, error }) => [
    queryAlias ?? key,
    answer?.dataQueryResult ?? answer?.widgetData ?? error.code,
  ]);
  expect(ended).toEqual(
    expect.arrayContaining([
      ['q', [{ region: 'north', day: 'today' }]],
      [widgetKey, [[{ region: 'south', day: 'monday' }]]],
      ['none', 'NOT_FOUND'],
      ['w', 'NOT_FOUND'],
      ['q', 'VALIDATION_ERROR'],
      [other, 'NOT_FOUND'],
    ]),
  );
  const stranger = await aMember(cluster, { tenant, can: ['dashboard.read'] });
  expect((await read({ queries: [{ queryAlias: 'q' }] }, as(stranger))).status).toBe(403);

  // As the creator, who is asked again each time.
  const { rows } = await cluster.pool.query(
    "select caller from query_run where data_query_id = $1 and caller ->> 'originID' = $2",
    [query.id, page],
  );
  expect(new Set(rows.map(({ caller }) => `${caller.id} for ${caller.requestedBy.id}`))).toEqual(
    new Set([`${tenant.creator.id} for ${viewer.id}`]),
  );
  await as(tenant.creator).patch(`T/app-pages/${page}`, { isDraft: true });
  expect((await read({ queries: [{ queryAlias: 'q' }] })).status).toBe(409);
});

test('a viewer gets the widgets of a page with it, without a right to them, as long as the creator has it', async () => {
  const config = { properties: { label: '{{variables.day}}' } };
  const { id: widgetID } = await aWidget(cluster, { tenant, type: 'stat', config });
  const rules = [{ object: `widget:${widgetID}`, action: 'execute' as const }];
  const creator = await aMember(cluster, { tenant, can: ['appPage.create', 'appPage.read'], rules });
  const keys = [`widget_${widgetID}_1`, `widget_${widgetID}_2`];
  const given = { appPageTitle: 'A page', appPageConfig: { widgets: [...keys, 'nothing'] } };
  const { id } = (await as(creator).post('T/app-pages', given)).body.appPage;
  const read = async (by: TestUser) => (await as(by).get(`T/app-pages/${id}/content`)).body;

  const { appPage, widgets } = await read(viewer);
  expect(appPage).toMatchObject({ appPageTitle: 'A page' });
  expect(widgets).toMatchObject(
    keys.map((widgetKey) => ({ widgetKey, widgetID, widgetType: 'stat', widgetConfig: config, error: null })),
  );
  expect((await as(viewer).get(`T/widgets/${widgetID}`)).status).toBe(403);

  await change({ remove: [{ subject: creator.id, object: `widget:${widgetID}` }] });
  const after = await read(viewer);
  expect(after.widgets[0]).toMatchObject({ widgetConfig: {}, error: { code: 'PERMISSION_DENIED' } });
  const stranger = await aMember(cluster, { tenant, can: ['dashboard.read'] });
  expect((await as(stranger).get(`T/app-pages/${id}/content`)).status).toBe(403);

  // A dashboard gives no right to what is on it.
  const board = { dashboardTitle: 'A dashboard', dashboardConfig: { widgets: keys } };
  const { dashboardID } = (await as(tenant.creator).post('T/dashboards', board)).body.dashboard;
  const ofBoard = async (by: TestUser) => (await as(by).get(`T/dashboards/${dashboardID}/content`)).body.widgets;
  expect(await ofBoard(tenant.creator)).toMatchObject(keys.map((widgetKey) => ({ widgetKey, widgetConfig: config })));
  expect(await ofBoard(stranger)).toMatchObject(
    keys.map(() => ({ widgetConfig: {}, error: { code: 'PERMISSION_DENIED' } })),
  );
});

test('the data of a page may be larger than one request may hold, since lines that were sent are not held', async () => {
  const { id } = await aDataQuery(cluster, {
    tenant,
    query: { query: "select string_agg(md5(n::text), '') as text from generate_series(1, 50000) n" },
  });
  const aliases = Array.from({ length: 12 }, (_, at) => `q${at}`);
  const dataSources = aliases.map((alias) => ({ alias, type: 'query', queryID: id }));
  const page = await aPage(as(tenant.creator), { appPageConfig: { dataSources } });
  const response = await fetch(`${cluster.baseURL}/api/v1/tenants/${tenant.id}/app-pages/${page}/data`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await cluster.tokenFor(viewer)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ queries: aliases.map((queryAlias) => ({ queryAlias })) }),
  });
  const lines = (await response.text()).trim().split('\n');
  const got = lines.map((line) => JSON.parse(line)).map(({ queryAlias, error }) => [queryAlias, error]);
  expect(got.toSorted()).toEqual(aliases.map((alias) => [alias, undefined]).toSorted());
});
