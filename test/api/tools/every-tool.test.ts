import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { routeGroups } from '#api/app/routes.ts';
import { withoutTool } from '#api/tools/names.ts';
import { createToolRegistry, type ToolRegistry } from '#api/tools/registry.ts';
import type { RouteTool } from '#api/tools/tool.ts';
import { type AIProviderServer, startAIProvider } from '#test/servers/ai-provider.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aDatasource, aMember, aTenant, aWorkflow, type TestTenant } from '#test/support/factories.ts';
import { bodyOf, callRoute, makeParams, nameOf, queuesOfRoutes } from '#test/support/route-calls.ts';
import { paramFixture, queryFixture } from '#test/support/route-fixtures.ts';
import { sample } from '#test/support/sample.ts';

let cluster: Cluster;
let provider: AIProviderServer;
let registry: ToolRegistry;
let tenants: TwoTenants;

beforeAll(async () => {
  provider = await startAIProvider();
  cluster = await startCluster({
    settings: provider.settings,
    workers: queuesOfRoutes,
  });
  registry = await createToolRegistry(cluster.context, routeGroups);
  tenants = await twoTenants();
});
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

const tenantRoutes = routeGroups.flatMap(({ routes }) => routes).filter(({ realm }) => realm === 'tenant');
const withTool = tenantRoutes.filter(({ name }) => withoutTool[name] === undefined);

test('every route of a tenant has a tool, or a reason', () => {
  const served = [...registry.tools.values()].flatMap((tool) => ('route' in tool ? [tool.route.name] : []));
  expect([...served, ...Object.keys(withoutTool)].sort()).toEqual(tenantRoutes.map(({ name }) => name).sort());
});

const drawn = sample(withTool, { name: 'tool', oneOf: 3 });

describe.each(drawn.map((route) => [route.name, route] as const))('the tool of %s', (name, route) => {
  test('does and answers what REST does and answers', async () => {
    const tool = toolOf(name);
    const { ours, others: twin } = alone.has(name) ? await twoTenants() : tenants;
    const params = await makeParams(cluster, route, ours);
    // Routes that change nothing can be asked twice of the same tenant.
    const theirs = route.method === 'get' ? ours : twin;
    const others = route.method === 'get' ? params : await makeParams(cluster, route, theirs);

    const rest = await callRoute(cluster.as(theirs.creator), route, others, { query: defaultsOf(tool) });
    const args = argumentsOf(tool, params);
    const authorization = `Bearer ${await cluster.tokenFor(ours.creator)}`;
    const answer = await registry.call({ tenantID: ours.id, who: { authorization } }, tool.name, args);

    expect(answer.status).toBe(rest.status);
    expect(masked(answer.body)).toEqual(masked(rest.body));
    expect(await recorded(ours)).toEqual(await recorded(theirs));
  });
});

describe('tools that call others', () => {
  const calling = async (tenant: TestTenant) => {
    const authorization = `Bearer ${await cluster.tokenFor(tenant.creator)}`;
    return (name: string, args: object) =>
      registry.call({ tenantID: tenant.id, who: { authorization } }, name, { ...args });
  };

  test('summarize and find what the lists of REST have', async () => {
    const tenant = await aTenant(cluster);
    const { id } = await aWorkflow(cluster, { tenant, title: 'Nightly import' });
    await aWorkflow(cluster, { tenant, title: 'Another' });
    const { id: datasourceID } = await aDatasource(cluster, { tenant, title: 'Import of orders' });
    const gantry = cluster.gantryOf(tenant.creator);
    const path = { tenantID: tenant.id };
    const counts = {
      datasource: (await gantry.call('listDatasources', { path })).totalCount,
      query: (await gantry.call('listQueries', { path })).totalCount,
      widget: (await gantry.call('listWidgets', { path })).totalCount,
      appPage: (await gantry.call('listAppPages', { path })).totalCount,
      listener: (await gantry.call('listListeners', { path })).totalCount,
      workflow: (await gantry.call('listWorkflows', { path })).totalCount,
    };
    const call = await calling(tenant);
    const { resources } = (await call('get_tenant_resource_summary', {})).body as { resources: Record<string, object> };
    const found = (await call('search_resources', { query: 'import' })).body.results;
    const workflows = (await call('search_resources', { query: 'import', types: ['workflow'] })).body.results;

    expect(counts).toMatchObject({ workflow: 2, datasource: 1, widget: 0 });
    expect(resources).toMatchObject(
      Object.fromEntries(Object.entries(counts).map(([kind, count]) => [kind, { count }])),
    );
    expect(found).toEqual([
      { kind: 'datasource', id: datasourceID, title: 'Import of orders', type: 'postgresql' },
      { kind: 'workflow', id, title: 'Nightly import' },
    ]);
    expect(workflows).toMatchObject([{ id }]);
    expect(await call('search_resources', { query: 'import', types: ['folder'] })).toMatchObject({ status: 400 });
  });

  test('read rows of a table, and the address of a page', async () => {
    const { ours } = tenants;
    const call = await calling(ours);
    const { id: datasourceID } = await aDatasource(cluster, { tenant: ours });
    const appPageID = await paramFixture('appPageID')(cluster, ours);
    const rows = await call('get_datasource_sample_data', { datasourceID, table: 'pg_catalog.pg_database', limit: 2 });
    const sly = await call('get_datasource_sample_data', { datasourceID, table: 'pg_database" limit 9; --' });
    const page = await call('get_app_page_preview_url', { appPageID });

    expect(rows.status).toBe(200);
    expect(JSON.stringify(rows.body).match(/"datname":/g)).toHaveLength(2);
    expect(JSON.stringify(sly.body)).not.toContain('"datname"');
    expect(await call('get_datasource_sample_data', { datasourceID, table: 'a', limit: 51 })).toMatchObject({
      status: 400,
    });
    expect(page.body.url).toContain(`/api/v1/tenants/${ours.id}/app-pages/${appPageID}`);
  });

  test('leave out what their caller may not list', async () => {
    const { ours } = tenants;
    const member = await aMember(cluster, { tenant: ours, can: ['workflow.list'] });
    const authorization = `Bearer ${await cluster.tokenFor(member)}`;
    const { body } = await registry.call(
      { tenantID: ours.id, who: { authorization } },
      'get_tenant_resource_summary',
      {},
    );

    expect(Object.keys(body.resources as object)).toEqual(['workflow']);
  });
});

test('a caller who was identified before is one of the tenant at the time of the call, or refused', async () => {
  const tenant = await aTenant(cluster);
  const member = await aMember(cluster, { tenant, can: ['workflow.list'] });
  const {
    access: { authenticator },
  } = cluster.context;
  const identity = await authenticator.identify(`Bearer ${await cluster.tokenFor(member)}`, { tenantID: tenant.id });
  const call = () => registry.call({ tenantID: tenant.id, who: { identity } }, 'list_workflows', {});
  const before = await call();
  const gantry = cluster.gantryOf(tenant.creator);
  const path = { tenantID: tenant.id };
  for await (const { tenantUserID, userID } of gantry.pages('listTenantUsers', { path }))
    if (userID === member.id) await gantry.call('removeTenantUser', { path: { ...path, tenantUserID } });

  expect([before.status, (await call()).status]).toEqual([200, 403]);
});

interface TwoTenants {
  ours: TestTenant;
  others: TestTenant;
}

/** Both get the same assets, in the same order. */
async function twoTenants(): Promise<TwoTenants> {
  return { ours: await aTenant(cluster), others: await aTenant(cluster) };
}

/** Effects of these on their tenant, at once or in a job after the response, would be seen by the tests after them. */
const alone: ReadonlySet<string> = new Set([
  'deleteTenant',
  'pauseIntake',
  'createImportJob',
  'createRollbackJob',
  'executeImport',
  'applyImport',
  // Cron jobs of the tests before it write entries between its two reads.
  'listAuditLogs',
]);

function toolOf(routeName: string): RouteTool {
  const found = [...registry.tools.values()].find((tool) => 'route' in tool && tool.route.name === routeName);
  if (!found || !('route' in found)) throw new Error(`${routeName} has no tool`);
  return found;
}

function defaultsOf({ defaults }: RouteTool): string {
  return new URLSearchParams(Object.entries(defaults).map(([key, value]) => [key, String(value)])).toString();
}

/** The request of the fixture, in the words of the tool. */
function argumentsOf(tool: RouteTool, params: Record<string, string>): Record<string, unknown> {
  const { route, fields, renamed, lifted } = tool;
  const { tenantID: _tenantID, ...path } = Object.fromEntries(fields.path.map((name) => [name, params[name]]));
  const query = Object.fromEntries(new URLSearchParams(queryFixture(nameOf(route), params)));
  const body = bodyOf(route, params);
  const sent = fields.body === 'other' ? { body } : { ...(body as object | undefined) };
  const given: Record<string, unknown> = { ...path, ...query, ...sent };
  for (const [argument, field] of Object.entries(renamed)) {
    given[argument] = given[field];
    delete given[field];
  }
  if (!lifted) return given;
  const { [lifted.into]: inside, ...others } = given;
  return { ...others, ...(inside as object) };
}

/** The entry of the tenant's last request (cron jobs have entries, too), without what differs between two tenants. */
async function recorded({ id }: TestTenant): Promise<unknown> {
  const { rows } = await cluster.pool.query(
    `select e.action, e.details -> 'request' ->> 'operation' as operation, e.details -> 'request' -> 'body' as body,
       array(select c.type || ' ' || c.action from audit_record c where c.entry_id = e.id and c.kind = 'change' order by c.seq) as changes
     from audit_record e where e.tenant_id = $1 and e.kind = 'entry' and e.details ? 'request' order by e.seq desc limit 1`,
    [id],
  );
  return masked(rows);
}

const varying: readonly [RegExp, string][] = [
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, '<id>'],
  [/\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)/g, '<time>'],
  [/\b(shop_|v_)?(?=[0-9a-f]*[a-f])[0-9a-f]{8,64}\b/g, '<hex>'],
  [/\buser-\d+-/g, 'user-'],
  [/("(?:lastSeen|filledAt)"):"[^"]+"/g, '$1:null'],
  [/("(?:durationMs|[a-zA-Z]*Bytes|seq)"):\d+/g, '$1:"<number>"'],
];

function masked(value: unknown): unknown {
  const text = varying.reduce((text, [pattern, word]) => text.replace(pattern, word), JSON.stringify(value));
  return JSON.parse(text);
}
