import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Permission } from '#shared/access/policy/permissions.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { MASK } from '#shared/core/schema/secret.ts';
import { type Client, lenient } from '../../support/client.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aMember, aTenant, aWidget, chain, type TestTenant } from '../../support/factories.ts';
import { code } from '../../support/graphs.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
});
afterAll(() => cluster[Symbol.asyncDispose]());

interface Item {
  type: string;
  id: string;
  payload: JsonObject;
}
type Bundle = { bundleVersion: number; items: Item[] };

const keys = { datasource: newID(), query: newID(), widget: newID(), dashboard: newID(), listener: newID() };

function aDatasourceItem(id = keys.datasource): Item {
  const connectionDetails = { host: 'db.example.test', database: 'shop', user: 'reader', password: MASK };
  const datasourceOptions = { connectionOption: 'connectionDetails', connectionDetails };
  return {
    type: 'datasource',
    id,
    payload: { datasourceTitle: 'Shop', datasourceType: 'postgresql', datasourceOptions },
  };
}

function aBundle(title = 'Orders', more: Item[] = []): Bundle {
  const widgetConfig = { dataQueries: [{ dataQueryID: keys.query, title }] };
  return {
    bundleVersion: 1,
    items: [
      {
        type: 'dashboard',
        id: keys.dashboard,
        payload: { dashboardTitle: 'Board', dashboardConfig: { widgets: [`widget_${keys.widget}_1`] } },
      },
      { type: 'widget', id: keys.widget, payload: { widgetTitle: title, widgetType: 'table', widgetConfig } },
      {
        type: 'dataQuery',
        id: keys.query,
        payload: { dataQueryTitle: 'Ask', datasourceID: keys.datasource, dataQueryOptions: { query: 'select 1' } },
      },
      aDatasourceItem(),
      ...more,
    ],
  };
}

async function aTarget(): Promise<{ tenant: TestTenant; who: Client }> {
  const tenant = await aTenant(cluster);
  return { tenant, who: cluster.as(tenant.creator).in(tenant) };
}

async function run(who: Client, bundle: Bundle, more: JsonObject = {}) {
  const { status, body } = await who.post('T/import/execute', { bundle, ...more });
  expect(status, JSON.stringify(body)).toBe(201);
  return body;
}

const idOf = (results: { originalID: string; newID: string }[], key: string) =>
  results.find(({ originalID }) => originalID === key)?.newID ?? '';
const actionsOf = (items: { type: string; action: string }[]) =>
  Object.fromEntries(items.map(({ type, action }) => [type, action]));

async function rowsOf(tenantID: string): Promise<number> {
  const tables = 'folder datasource data_query workflow widget listener app_page dashboard bundle_key bundle_import';
  const counts = tables.split(' ').map((table) => `(select count(*) from ${table} where tenant_id = $1)`);
  const { rows } = await cluster.pool.query<{ n: string }>(`select ${counts.join(' + ')} as n`, [tenantID]);
  return Number(rows[0]?.n);
}

test('two tenants with one bundle drift, a plan shows it, and what was planned is applied or refused', async () => {
  const [{ who: one }, { who: other }] = [await aTarget(), await aTarget()];
  const { results } = await run(one, aBundle());
  await run(other, aBundle());
  const widget = `T/widgets/${idOf(results, keys.widget)}`;
  await one.patch(widget, { widgetTitle: 'Ours' });
  const changed = aBundle('Sales');

  const drifted = (await one.post('T/import/plan', { bundle: changed })).body;
  const straight = (await other.post('T/import/plan', { bundle: changed })).body;

  expect(actionsOf(drifted.items)).toEqual({
    ...{ datasource: 'unchanged', dataQuery: 'unchanged', widget: 'conflict', dashboard: 'unchanged' },
  });
  expect(actionsOf(straight.items)).toMatchObject({ widget: 'update' });
  const ofWidget = drifted.items.find(({ type }: Item) => type === 'widget');
  expect(ofWidget.changes).toContainEqual({ path: ['widgetTitle'], before: 'Ours', after: 'Sales' });
  const left = await run(one, changed);
  expect(left.skipped).toMatchObject([{ type: 'widget', originalID: keys.widget }]);
  expect((await one.get(widget)).body.widget.widgetTitle).toBe('Ours');

  const overwriting = { bundle: changed, onConflict: 'overwrite' };
  const { token } = (await one.post('T/import/plan', overwriting)).body;
  await one.patch(widget, { refreshInterval: 5 });
  const late = await one.post('T/import/apply', { ...overwriting, token });
  const { token: again } = (await one.post('T/import/plan', overwriting)).body;
  const applied = await one.post('T/import/apply', { ...overwriting, token: again });
  expect([late.status, applied.status], JSON.stringify(applied.body)).toEqual([409, 201]);
  expect((await one.get(widget)).body.widget).toMatchObject({ widgetTitle: 'Sales', refreshInterval: 5 });
  const forged = await other.post('T/import/apply', { bundle: aBundle('Others'), token: straight.token });
  expect(forged.status).toBe(409);
});

test('a plan shows nothing of an asset that the caller may not read', async () => {
  const { tenant, who } = await aTarget();
  await run(who, aBundle());
  const planned = async (can: Permission[]) => {
    const member = cluster.as(await aMember(cluster, { tenant, can })).in(tenant);
    const { items } = (await member.post('T/import/plan', { bundle: aBundle('Sales') })).body;
    return items.find(({ type }: Item) => type === 'widget');
  };

  const hidden = await planned(['bundle.preview', 'widget.update']);
  const shown = await planned(['bundle.preview', 'widget.update', 'widget.read']);

  expect([hidden.action, hidden.changes]).toEqual(['update', []]);
  expect(hidden.warnings).toEqual(['You may not read this widget: what would change is not shown']);
  expect(shown.changes).toContainEqual({ path: ['widgetTitle'], before: 'Orders', after: 'Sales' });
  expect(shown.warnings).toEqual([]);
});

test('a preview and a plan say which items could not be saved, and which fields nothing reads', async () => {
  const { tenant, who } = await aTarget();
  const start = { id: 's', type: 'start', data: {} };
  const payloads = {
    widget: { widgetTitle: 'W', widgetType: 'text', widgetConfig: {}, refreshIntervall: 5 },
    dashboard: { dashboardTitle: 'D', dashboardConfig: { widgets: [5] } },
    workflow: { title: 'F', workflowNodes: [start], workflowEdges: [{ id: 'e', source: 's', target: 'gone' }] },
  };
  const items = Object.entries(payloads).map(([type, payload]) => ({ type, id: newID(), payload }));
  const body = { bundle: { bundleVersion: 1, items } };

  const preview = (await who.post('T/import/preview', body, lenient)).body;
  const plan = (await who.post('T/import/plan', body, lenient)).body;
  const good = (await who.post('T/import/preview', { bundle: aBundle() })).body;
  const only = { bundle: { bundleVersion: 1, items: items.slice(0, 1) } };
  const refused = await who.post('T/import/execute', only);
  const left = await rowsOf(tenant.id);
  const saved = await who.post('T/import/execute', only, lenient);

  const said = Object.fromEntries(preview.items.map(({ type, warnings }: Warned) => [type, warnings]));
  expect(said.widget).toEqual([]);
  expect(said.dashboard).toEqual([expect.stringContaining('dashboardConfig.widgets.0: expected a text')]);
  expect(said.workflow).toEqual([expect.stringContaining('there is no node "gone"')]);
  expect([preview.valid, plan.valid, good.valid, good.unknownFields]).toEqual([false, false, true, undefined]);
  expect(plan.items.map(({ warnings }: Warned) => warnings)).toEqual(
    preview.items.map(({ warnings }: Warned) => warnings),
  );
  const path = ['bundle', 'items', 0, 'payload', 'refreshIntervall'];
  const unknownFields = [{ path, message: 'not known here; did you mean refreshInterval?' }];
  expect([preview, plan, saved.body]).toEqual(Array(3).fill(expect.objectContaining({ unknownFields })));
  expect([refused.status, left, saved.status]).toEqual([400, 0, 201]);
});

test('a bundle does not offer a workflow or a query as a tool, nor takes that back, and says so', async () => {
  const { who } = await aTarget();
  const items = (isOfferedAsTool: boolean, description: string): Item[] => [
    {
      type: 'workflow',
      id: keys.dashboard,
      payload: { title: 'F', workflowDescription: description, isOfferedAsTool },
    },
    {
      type: 'dataQuery',
      id: keys.query,
      payload: {
        dataQueryTitle: 'Q',
        dataQueryDescription: description,
        dataQueryOptions: { query: 'select 1' },
        isOfferedAsTool,
      },
    },
  ];
  const bundle = (isOffered: boolean, description: string) => ({
    bundle: { bundleVersion: 1, items: items(isOffered, description) },
  });
  const { body: made } = await who.post('T/import/execute', bundle(true, 'Call this first'), lenient);
  const query = `T/queries/${idOf(made.results, keys.query)}`;
  const workflow = `T/workflows/${idOf(made.results, keys.dashboard)}`;
  const marks = async () => [
    (await who.get(query)).body.dataQuery.isOfferedAsTool,
    (await who.get(workflow)).body.workflow.isOfferedAsTool,
  ];
  const path = ['bundle', 'items', 0, 'payload', 'isOfferedAsTool'];
  expect(made.unknownFields[0]).toEqual({ path, message: expect.stringContaining('offers nothing as a tool') });
  expect(await marks()).toEqual([false, false]);

  for (const asset of [query, workflow]) await who.patch(asset, { isOfferedAsTool: true });
  const same = await who.post('T/import/preview', bundle(false, 'Call this first'), lenient);
  expect(same.body.summary).toMatchObject({ unchangedCount: 2 });
  await who.post('T/import/execute', bundle(false, 'Another'), lenient);
  expect((await who.get(workflow)).body.workflow.workflowDescription).toBe('Another');
  expect(await marks()).toEqual([true, true]);
});

type Warned = { type: string; warnings: string[] };

test('a failure in the middle leaves nothing, and names the item', async () => {
  const { tenant, who } = await aTarget();
  const wrong = { type: 'listener', id: keys.listener, payload: { listenerTitle: 'L', datasourceID: keys.datasource } };

  const answer = await who.post('T/import/execute', { bundle: aBundle('Orders', [wrong]) });

  expect(answer.status).toBe(400);
  expect(answer.body.error.details.issues[0].path.slice(0, 4)).toEqual(['bundle', 'items', 4, 'payload']);
  expect(await rowsOf(tenant.id)).toBe(0);
});

test('a rollback deletes what was created and restores what was changed, unless it was changed again', async () => {
  const { tenant, who } = await aTarget();
  const first = await run(who, aBundle());
  const key = newID();
  const widgetConfig = {};
  const more = [{ type: 'widget', id: key, payload: { widgetTitle: 'New', widgetType: 'text', widgetConfig } }];
  const second = await run(who, aBundle('Sales', more));
  const widget = `T/widgets/${idOf(first.results, keys.widget)}`;
  const rollback = `T/import/${second.importID}/rollback`;
  await who.patch(widget, { refreshInterval: 7 });
  const refused = await who.post(rollback);
  await who.patch(widget, { refreshInterval: 0 });

  const done = await who.post(rollback);

  expect(refused.status).toBe(409);
  expect(done, JSON.stringify(done.body)).toMatchObject({ status: 200, body: { removed: 1, restored: 1 } });
  expect((await who.get(widget)).body.widget.widgetTitle).toBe('Orders');
  expect((await who.get(`T/widgets/${idOf(second.results, key)}`)).status).toBe(404);
  expect((await who.post(rollback)).status).toBe(409);
  const { imports } = (await who.get('T/import')).body;
  expect(imports.map(({ createdCount, rolledBackAt }: JsonObject) => [createdCount, rolledBackAt !== null])).toEqual([
    [1, true],
    [4, false],
  ]);
  const preview = await who.post('T/import/preview', { bundle: aBundle() });
  expect(preview.body.summary).toMatchObject({ unchangedCount: 4 });
  expect((await who.post(`T/import/${first.importID}/rollback`)).status).toBe(200);
  // The rows of the two imports are left.
  expect(await rowsOf(tenant.id)).toBe(2);
});

test('a rollback leaves assets that were there before as if no bundle had named them', async () => {
  const { who } = await aTarget();
  const made = await who.post('T/queries', { dataQueryTitle: 'Mine', dataQueryOptions: { query: 'select 1' } });
  const id: string = made.body.dataQuery.id;
  const bundle = (dataQueryTitle: string) => ({
    bundleVersion: 1,
    items: [{ type: 'dataQuery', id, payload: { dataQueryTitle, dataQueryOptions: { query: 'select 1' } } }],
  });
  const previewed = async () =>
    actionsOf((await who.post('T/import/preview', { bundle: bundle('Theirs') })).body.items);
  const before = await previewed();
  const { importID } = await run(who, bundle('Other'), { onConflict: 'overwrite' });

  expect((await who.post(`T/import/${importID}/rollback`)).status).toBe(200);

  expect(before).toEqual({ dataQuery: 'update' });
  expect(await previewed()).toEqual(before);
});

test('settings beyond their limit are refused by an import, and restored by a rollback if they are from before it', async () => {
  const { who } = await aTarget();
  const table = Array.from({ length: 30_000 }, () => 1);
  const node = { id: 's', type: 'start', data: {} };
  const aWorkflowItem = (data: JsonObject): Item => ({
    ...{ type: 'workflow', id: keys.dashboard },
    payload: { title: 'F', workflowNodes: [{ ...node, data }], workflowEdges: [], draft: true },
  });
  const aQueryItem = (data: JsonObject): Item => ({
    ...{ type: 'dataQuery', id: keys.query },
    payload: { dataQueryTitle: 'Q', dataQueryOptions: { query: 'select 1', ...data } },
  });
  const options = { connectionOption: 'connectionDetails', connectionDetails: { host: 'db.example.test', table } };
  const { payload, ...aDatasource } = aDatasourceItem();
  const tooLarge: [Item, string][] = [
    [aWorkflowItem({ table }), 'workflowNodes.0'],
    [aQueryItem({ table }), 'dataQueryOptions'],
    [{ ...aDatasource, payload: { ...payload, datasourceOptions: options } }, 'datasourceOptions'],
  ];
  for (const [item, path] of tooLarge) {
    const bundle = { bundleVersion: 1, items: [item] };
    const preview = (await who.post('T/import/preview', { bundle }, lenient)).body;
    expect(JSON.stringify(preview)).toContain(`${path}: must not have more than 20,000 values`);
    const { status, body } = await who.post('T/import/execute', { bundle }, lenient);
    expect([status, body.error.message]).toEqual([
      400,
      expect.stringContaining(`bundle.items.0.payload.${path}: must`),
    ]);
  }

  const query = aQueryItem({});
  const datasource = aDatasourceItem();
  const small = { bundleVersion: 1, items: [query, datasource] };
  const made = (await who.post('T/import/execute', { bundle: small }, lenient)).body;
  for (const [name, { id }] of Object.entries({ data_query: query, datasource }))
    await cluster.pool.query(`update ${name} set ${name}_options = ${name}_options || $2 where id = $1`, [
      idOf(made.results, id),
      JSON.stringify({ table }),
    ]);
  const renamed = small.items.map((item) => ({
    ...item,
    payload: { ...item.payload, [Object.keys(item.payload)[0] ?? '']: 'Renamed' },
  }));
  const again = { bundle: { ...small, items: renamed }, onConflict: 'overwrite' };
  const { importID } = (await who.post('T/import/execute', again, lenient)).body;

  const done = await who.post(`T/import/${importID}/rollback`, undefined, lenient);
  expect(done).toMatchObject({ status: 200, body: { restored: 2 } });
  const path = `T/queries/${idOf(made.results, keys.query)}`;
  const { dataQueryOptions } = (await who.get(path)).body.dataQuery;
  expect(dataQueryOptions.table).toHaveLength(30_000);
  expect((await who.patch(path, { dataQueryOptions }, lenient)).status).toBe(400);
});

test('a rollback is refused while other assets use what it would delete, and names them', async () => {
  const { tenant, who } = await aTarget();
  const { importID, results } = await run(who, aBundle());
  const [datasourceID, queryID] = [idOf(results, keys.datasource), idOf(results, keys.query)];
  const ask = { dataQueryTitle: 'Newer', datasourceID, dataQueryOptions: { query: 'select 2' } };
  const own = (await who.post('T/queries', ask)).body.dataQuery.id;
  const binding = (dataQueryID: string) => ({ dataQueries: [{ dataQueryID, title: 'n' }] });
  const widget = { widgetTitle: 'Sales', widgetType: 'table', widgetConfig: binding(queryID) };
  const users = [
    ['widgets', 'widget', widget, 'the widget "Sales"'],
    ['workflows', 'workflow', { title: 'Asks', ...queryGraph(queryID) }, 'the workflow "Asks"'],
    ['app-pages', 'appPage', { appPageTitle: 'Page', appPageConfig: bound(queryID) }, 'the app page "Page"'],
    ['cronjobs', 'cronJob', { cronJobTitle: 'Nightly', ...nightly(queryID) }, 'the cron job "Nightly"'],
  ] as const;
  const rollback = () => who.post(`T/import/${importID}/rollback`);
  const ofDatasource = await rollback();
  await who.delete(`T/queries/${own}`);

  expect(ofDatasource, JSON.stringify(ofDatasource.body)).toMatchObject({ status: 409 });
  expect(ofDatasource.body.error.message).toContain('"Shop" of this import is still used');
  expect(ofDatasource.body.error.message).toContain('the data query "Newer"');
  for (const [path, field, body, words] of users) {
    const { id } = (await who.post(`T/${path}`, body)).body[field];
    const refused = await rollback();
    expect(refused, JSON.stringify(refused.body)).toMatchObject({ status: 409 });
    expect(refused.body.error.message).toContain(`"Ask" of this import is still used: change or delete first ${words}`);
    await who.delete(`T/${path}/${id}`);
  }
  const hidden = (await who.post('T/widgets', widget)).body.widget.id;
  const blind = await aMember(cluster, { tenant, can: ['bundle.execute'] });
  const told = (await cluster.as(blind).in(tenant).post(`T/import/${importID}/rollback`)).body.error;
  expect(told.message).toMatch(/first a widget that you may not read$/);
  await who.delete(`T/widgets/${hidden}`);
  expect(await rollback()).toMatchObject({ status: 200, body: { removed: 4 } });
});

const queryGraph = (dataQueryID: string) => {
  const { nodes, edges } = chain({ ask: { type: 'dataQuery', dataQueryID } });
  return { workflowNodes: nodes, workflowEdges: edges };
};
const bound = (queryID: string) => ({ dataSources: [{ alias: 'q', type: 'query', queryID }] });
const nightly = (dataQueryID: string) => ({
  ...{ cronJobSchedule: '0 0 29 2 *', cronJobType: 'dataQuery', cronJobConfig: { dataQueryID } },
});

test('a rollback that is refused cancels no run, and one that is done cancels those of its workflows', async () => {
  const { tenant, who } = await aTarget();
  const { nodes, edges } = chain({ wait: { type: 'delay', delayMs: 900 } });
  const payload: object = { title: 'Waiting', workflowNodes: nodes, workflowEdges: edges };
  const variable = { name: 'region', value: 'EU', isSecret: false };
  const items = [
    { type: 'variable', id: newID(), payload: variable },
    { type: 'workflow', id: newID(), payload },
  ];
  const { importID, results } = await run(who, { bundleVersion: 1, items: items as Item[] });
  const workflowID = results.find(({ type }: Item) => type === 'workflow').newID;
  const { instanceID } = (await who.post(`T/workflows/${workflowID}/execute`)).body;
  const statusOf = async () => {
    const { rows } = await cluster.pool.query('select status from workflow_instance where id = $1', [instanceID]);
    return rows[0]?.status;
  };
  // The variable is used elsewhere by now.
  const using = chain({ look: code('return vars.region;') });
  const body = { title: 'Using', workflowNodes: using.nodes, workflowEdges: using.edges };
  const { workflow } = (await who.post('T/workflows', body)).body;

  const refused = await who.post(`T/import/${importID}/rollback`);
  const unchanged = await statusOf();
  await who.delete(`T/workflows/${workflow.id}`);
  const done = await who.post(`T/import/${importID}/rollback`);

  expect(refused, JSON.stringify(refused.body)).toMatchObject({ status: 409 });
  expect(unchanged).toBe('PENDING');
  expect(done, JSON.stringify(done.body)).toMatchObject({ status: 200, body: { removed: 2 } });
  expect(await statusOf()).toBe('CANCELLED');
  const { rows } = await cluster.pool.query('select from workflow where tenant_id = $1', [tenant.id]);
  expect(rows).toEqual([]);
});

test('secrets come with the request, stay, and are missing otherwise', async () => {
  const { who } = await aTarget();
  const bundle = { bundleVersion: 1, items: [aDatasourceItem()] };
  const path = ['datasourceOptions', 'connectionDetails', 'password'];
  const secrets = [{ id: keys.datasource, path, value: 'horse-of-the-request' }];

  const preview = (await who.post('T/import/preview', { bundle })).body;
  const { results } = await run(who, bundle);
  const datasource = `T/datasources/${idOf(results, keys.datasource)}`;
  const without = (await who.get(datasource)).body.datasource.datasourceOptions.connectionDetails;
  await run(who, bundle, { secrets });
  const withSecret = (await who.get(datasource)).body.datasource.datasourceOptions.connectionDetails;
  const after = (await who.post('T/import/preview', { bundle })).body;

  expect(preview.items[0]).toMatchObject({ action: 'create', missingSecrets: [path] });
  expect(without.password ?? '').toBe('');
  expect(withSecret.password).toBe(MASK);
  expect(after.items[0]).toMatchObject({ action: 'unchanged', missingSecrets: [] });
  const moved = structuredClone(bundle);
  Object.assign(moved.items[0]?.payload.datasourceOptions as JsonObject, {
    connectionDetails: { host: 'evil.example.test', database: 'shop', user: 'reader', password: MASK },
  });
  await run(who, moved);
  const sent = (await who.get(datasource)).body.datasource.datasourceOptions.connectionDetails;
  expect([sent.host, sent.password ?? '']).toEqual(['evil.example.test', '']);
  const { rows } = await cluster.pool.query(
    "select from audit_record where details::text like '%horse-of-the-request%'",
  );
  expect(rows).toEqual([]);
});

test('an item without what it needs is skipped with those that need it, unless the request names another', async () => {
  const { tenant, who } = await aTarget();
  const bundle = aBundle();
  bundle.items.pop();

  const preview = (await who.post('T/import/preview', { bundle })).body;
  const { skipped, results } = await run(who, bundle);
  const connectionString = 'postgres://db.example.test/shop';
  const datasourceOptions = { connectionOption: 'connectionString', connectionString };
  const ours = { datasourceTitle: 'Ours', datasourceType: 'postgresql', datasourceOptions };
  const { datasource } = (await who.post('T/datasources', ours)).body;
  const mapped = await run(who, bundle, { ids: { [keys.datasource]: datasource.id } });

  expect(actionsOf(preview.items)).toEqual({ dataQuery: 'skip', widget: 'skip', dashboard: 'create' });
  expect(preview.items[0].missingDependencies).toEqual([{ type: 'datasource', id: keys.datasource }]);
  expect([skipped.length, results.length]).toEqual([2, 1]);
  expect(mapped.skipped).toEqual([]);
  const query = (await who.get(`T/queries/${idOf(mapped.results, keys.query)}`)).body.dataQuery;
  expect(query).toMatchObject({ datasourceID: datasource.id, tenantID: tenant.id });
});

test('each item needs the permission that saving it by hand needs', async () => {
  const { tenant } = await aTarget();
  const bundle = aBundle();
  const ofAll: Permission[] = [
    'bundle.execute',
    'bundle.preview',
    'datasource.create',
    'dataquery.create',
    'widget.create',
  ];
  const as = async (...can: Permission[]) => cluster.as(await aMember(cluster, { tenant, can })).in(tenant);
  const statusOf = async (who: Client) => (await who.post('T/import/execute', { bundle })).status;
  const lacking = await as(...ofAll);

  expect(await statusOf(await as('datasource.create'))).toBe(403);
  expect(await statusOf(await as('bundle.execute'))).toBe(403);
  expect(await statusOf(lacking)).toBe(403);
  expect(await rowsOf(tenant.id)).toBe(0);
  const { items } = (await lacking.post('T/import/preview', { bundle })).body;
  expect(items.at(-1).warnings).toContain('You may not create this dashboard');
  expect(await statusOf(await as(...ofAll, 'dashboard.create'))).toBe(201);
  // Another member has created them, so a change of one is refused.
  const changing = await as(...ofAll, 'dashboard.create');
  expect((await changing.post('T/import/execute', { bundle: aBundle('Sales') })).status).toBe(403);
  const role = { roleName: 'Owner', rolePermissions: ['*'] };
  const granting = { bundleVersion: 1, items: [{ type: 'role', id: newID(), payload: role }] };
  const member = await as('bundle.execute', 'role.create');
  expect((await member.post('T/import/execute', { bundle: granting })).status).toBe(403);
});

test('ids of another tenant reach nothing of it', async () => {
  const [{ tenant: victim, who: they }, { tenant, who }] = [await aTarget(), await aTarget()];
  const { id } = await aWidget(cluster, { tenant: victim });
  const payload = { widgetTitle: 'Mine', widgetType: 'table', widgetConfig: {} };

  const { results } = await run(who, { bundleVersion: 1, items: [{ type: 'widget', id, payload }] });
  const foreign = { ...aBundle(), items: aBundle().items.filter(({ type }) => type === 'widget') };
  const named = await run(who, foreign, { ids: { [keys.query]: id } });

  expect(idOf(results, id)).not.toBe(id);
  expect((await they.get(`T/widgets/${id}`)).body.widget.widgetTitle).toBe('A widget');
  expect((await who.get(`T/widgets/${idOf(results, id)}`)).body.widget.tenantID).toBe(tenant.id);
  expect(named.skipped).toHaveLength(1);
  expect((await they.post(`T/import/${named.importID ?? newID()}/rollback`)).status).toBe(404);
});

test('two imports of one bundle at once make one set of assets', async () => {
  const { tenant, who } = await aTarget();

  const both = await Promise.all([run(who, aBundle()), run(who, aBundle())]);

  const created = both.map(({ results }) => results.filter(({ action }: JsonObject) => action === 'create').length);
  expect(created.sort()).toEqual([0, 4]);
  expect(await rowsOf(tenant.id)).toBe(4 + 4 + 1);
});

test('workflows that name one another, and folders in one another, come whole or not at all', async () => {
  const { tenant, who } = await aTarget();
  const [a, b] = [newID(), newID()];
  const workflow = (id: string, title: string, workflowID: string) => ({
    ...{ type: 'workflow', id },
    payload: { title, workflowNodes: [], workflowEdges: [], workflowOptions: { onFailure: { workflowID } } },
  });
  const folder = (id: string, parentFolderID: string) => ({
    ...{ type: 'folder', id },
    payload: { entityType: 'widget', folderTitle: 'F', parentFolderID },
  });

  const { results } = await run(who, { bundleVersion: 1, items: [workflow(a, 'A', b), workflow(b, 'B', a)] });
  const circle = await who.post('T/import/execute', {
    bundle: { bundleVersion: 1, items: [folder(a, b), folder(b, a)] },
  });

  const { workflow: first } = (await who.get(`T/workflows/${idOf(results, a)}`)).body;
  expect(first.workflowOptions.onFailure.workflowID).toBe(idOf(results, b));
  expect(first.publishedVersionID).not.toBeNull();
  expect(circle.status).toBe(400);
  expect(await rowsOf(tenant.id)).toBe(2 + 2 + 1);
});

test('a path that is taken gets a suffix, and keeps it', async () => {
  const { who } = await aTarget();
  const datasource = { datasourceTitle: 'Hook', datasourceType: 'webhook', datasourceOptions: {} };
  const { id: datasourceID } = (await who.post('T/datasources', datasource)).body.datasource;
  await who.post('T/listeners', { listenerTitle: 'Ours', datasourceID, endpointPath: 'orders' });
  const payload = { listenerTitle: 'L', datasourceID, endpointPath: 'orders', actions: [] };
  const bundle = { bundleVersion: 1, items: [{ type: 'listener', id: keys.listener, payload }] };

  const { results, warnings } = await run(who, bundle);
  const again = await run(who, {
    ...bundle,
    items: [{ ...bundle.items[0], payload: { ...payload, listenerTitle: 'M' } }],
  } as Bundle);

  const { listener } = (await who.get(`T/listeners/${idOf(results, keys.listener)}`)).body;
  expect(listener).toMatchObject({ endpointPath: 'orders-2', listenerTitle: 'M', status: 'inactive' });
  expect(warnings).toHaveLength(1);
  expect(again.results).toMatchObject([{ action: 'update' }]);
});

const widgetOf = (payload: object) => [{ type: 'widget', id: newID(), payload }];

test.each<[string, object]>([
  ['bundle.bundleVersion', { ...aBundle(), bundleVersion: 2 }],
  ['bundle.items', { bundleVersion: 1, items: [] }],
  ['bundle.items.0.type', { bundleVersion: 1, items: [{ type: 'tenant', id: newID(), payload: {} }] }],
  ['bundle.items.0.id', { bundleVersion: 1, items: [{ type: 'widget', id: '__proto__', payload: {} }] }],
  ['bundle.items.0.payload.widgetTitle', { bundleVersion: 1, items: widgetOf({ widgetType: 'table' }) }],
  ['bundle.items.1.id', { bundleVersion: 1, items: Array(2).fill(aDatasourceItem()) }],
  ['bundle.items', { bundleVersion: 1, items: Array(2_001).fill(aDatasourceItem()) }],
])('names %s when it is wrong', async (field, bundle) => {
  const { who } = await aTarget();

  for (const path of ['preview', 'plan', 'execute']) {
    const { status, body } = await who.post(`T/import/${path}`, { bundle });
    expect([status, body.error?.details?.issues[0].path.join('.')], JSON.stringify(body)).toEqual([400, field]);
  }
});

test('a payload with __proto__ and very deep parts changes no other object', async () => {
  const { who } = await aTarget();
  const deep = `${'{"a":'.repeat(150)}1${'}'.repeat(150)}`;
  const config = `{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}, "deep": ${deep}}`;
  const item = `{"type": "widget", "id": "${newID()}", "payload": {"widgetTitle": "W", "widgetType": "t", "widgetConfig": ${config}}}`;
  const text = `{"bundle": {"bundleVersion": 1, "items": [${item}]}}`;

  const { status, body } = await who.post('T/import/execute', text, { prefer: 'handling=lenient' });

  expect(status, JSON.stringify(body)).toBe(201);
  expect(Reflect.get({}, 'polluted')).toBeUndefined();
  const { widget } = (await who.get(`T/widgets/${body.results[0].newID}`)).body;
  expect(Object.keys(widget.widgetConfig).sort()).toEqual(['__proto__', 'constructor', 'deep']);
});
