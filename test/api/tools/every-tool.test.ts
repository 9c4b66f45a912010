import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { routeGroups } from '#api/resources/index.ts';
import { withoutTool } from '#api/tools/names.ts';
import { createToolRegistry, type ToolRegistry } from '#api/tools/registry.ts';
import type { RouteTool } from '#api/tools/tool.ts';
import { type AIProviderServer, startAIProvider } from '#test/servers/ai-provider.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aTenant, type TestTenant } from '#test/support/factories.ts';
import { bodyOf, callRoute, makeParams, nameOf, queuesOfRoutes } from '#test/support/route-calls.ts';
import { queryFixture } from '#test/support/route-fixtures.ts';

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

describe.each(withTool.map((route) => [route.name, route] as const))('the tool of %s', (name, route) => {
  test('does and answers what REST does and answers', async () => {
    const tool = toolOf(name);
    const { ours, others: twin } = alone.has(name) ? await twoTenants() : tenants;
    const params = await makeParams(cluster, route, ours);
    // What changes nothing can be asked twice of the same tenant.
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

interface TwoTenants {
  ours: TestTenant;
  others: TestTenant;
}

/** Both get the same assets, in the same order. */
async function twoTenants(): Promise<TwoTenants> {
  return { ours: await aTenant(cluster), others: await aTenant(cluster) };
}

/** What they do to their tenant would be seen by the tests after them. */
const alone: ReadonlySet<string> = new Set([
  'deleteTenant',
  'pauseIntake',
  'createImportJob',
  'executeImport',
  'applyImport',
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
  [/("lastSeen"):"[^"]+"/g, '$1:null'],
  [/("(?:durationMs|[a-zA-Z]*Bytes|seq)"):\d+/g, '$1:"<number>"'],
];

function masked(value: unknown): unknown {
  const text = varying.reduce((text, [pattern, word]) => text.replace(pattern, word), JSON.stringify(value));
  return JSON.parse(text);
}
