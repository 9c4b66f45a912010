import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { MASK } from '#shared/core/schema/secret.ts';
import { assetCounts, type FilledTenant, fillTenant } from '../../support/bundled-tenant.ts';
import type { Client } from '../../support/client.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aMember, aTenant, type TestTenant } from '../../support/factories.ts';

let cluster: Cluster;
let tenant: TestTenant;
let we: Client;
let ids: FilledTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  tenant = await aTenant(cluster);
  we = cluster.as(tenant.creator).in(tenant);
  ids = await fillTenant(we);
});
afterAll(() => cluster[Symbol.asyncDispose]());

interface Item {
  type: string;
  id: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into payloads of every shape
  payload: any;
  dependencies: { type: string; id: string; name?: string; bundled: boolean }[];
}

async function exported(path: string): Promise<Item[]> {
  const { status, body } = await we.get(path);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.bundle.items;
}

const namesOf = (items: readonly Item[]) => items.map(({ type, payload }) => `${type} ${payload.title ?? ''}`.trim());

test('everything is exported in one order, each asset after what it needs, and without secrets', async () => {
  const first = await we.post('T/export', {});
  const second = await we.post('T/export', {});

  expect(first.status, JSON.stringify(first.body)).toBe(200);
  expect(JSON.stringify(second.body)).toBe(JSON.stringify(first.body));
  const items: Item[] = first.body.bundle.items;
  const counts = Object.fromEntries([...Map.groupBy(items, ({ type }) => type)].map(([type, of]) => [type, of.length]));
  expect(counts).toEqual(assetCounts);
  expect(JSON.stringify(first.body)).not.toContain('correct horse');
  expect(JSON.stringify(first.body)).toContain(MASK);
  const position = new Map(items.map(({ id }, at) => [id, at]));
  const types = ['dataQuery', 'widget', 'listener', 'appPage', 'cronJob'];
  for (const [at, { type, dependencies }] of items.entries())
    for (const { type: other, id, bundled } of dependencies) {
      expect([other, bundled]).toEqual([other, true]);
      if (types.includes(type) && other !== 'appPage') expect(position.get(id)).toBeLessThan(at);
    }
});

test.each<[string, (ids: FilledTenant) => string, string[]]>([
  ['a datasource', ({ datasourceIDs }) => `datasources/${datasourceIDs[0]}`, ['datasource']],
  ['a query', ({ dataQueryIDs }) => `queries/${dataQueryIDs[0]}`, ['datasource', 'dataQuery']],
])('%s is exported with what it needs', async (_name, pathOf, types) => {
  const items = await exported(`T/${pathOf(ids)}/export`);

  expect(items.map(({ type }) => type)).toEqual(types);
  expect(items.at(-1)?.payload).not.toHaveProperty('folderID');
});

test('a workflow is exported with its sub-workflows and all of their queries', async () => {
  const items = await exported(`T/workflows/${ids.workflowIDs[2]}/export`);

  const workflows = items.filter(({ type }) => type === 'workflow').map(({ id }) => id);
  expect(new Set(workflows)).toEqual(new Set(ids.workflowIDs.slice(0, 3)));
  expect(workflows.at(-1)).toBe(ids.workflowIDs[2]);
  expect(items.filter(({ type }) => type === 'dataQuery')).toHaveLength(3);
});

test('widgets, listeners and app pages are exported with what they bind', async () => {
  const widget = await exported(`T/widgets/${ids.widgetIDs[0]}/export`);
  const listener = await exported(`T/listeners/${ids.listenerIDs[1]}/export`);
  const page = await exported(`T/app-pages/${ids.appPageIDs[0]}/export`);

  expect(new Set(widget.map(({ type }) => type))).toEqual(
    new Set(['variable', 'datasource', 'dataQuery', 'workflow', 'widget']),
  );
  expect(widget.at(-1)).toMatchObject({ type: 'widget', id: ids.widgetIDs[0], payload: { widgetTitle: 'Widget 0' } });
  expect(listener.at(-1)?.payload).toMatchObject({ status: 'inactive', endpointPath: 'orders/1/:orderID' });
  expect(listener.at(-1)?.payload.actions).toHaveLength(3);
  expect(page.at(-1)).toMatchObject({ type: 'appPage', id: ids.appPageIDs[0] });
  expect(new Set(page.map(({ type }) => type))).toEqual(
    new Set(['variable', 'datasource', 'dataQuery', 'workflow', 'widget', 'listener', 'appPage']),
  );
  expect(namesOf(page).filter((name) => name === 'appPage')).toHaveLength(1);
});

test('what the caller may not read is named only, and every export needs its permission', async () => {
  const can = ['widget.export', 'dataquery.read'] as const;
  const member = cluster.as(await aMember(cluster, { tenant, can })).in(tenant);

  const { body } = await member.get(`T/widgets/${ids.widgetIDs[0]}/export`);
  const items: Item[] = body.bundle.items;

  expect(items.map(({ type }) => type)).toEqual(['dataQuery', 'widget']);
  expect(items[0]?.dependencies).toEqual([{ type: 'datasource', id: ids.datasourceIDs[0], bundled: false }]);
  expect(items[1]?.dependencies.map(({ bundled }) => bundled)).toEqual([true, false]);
  expect((await member.post('T/export', {})).status).toBe(403);
  expect((await member.get(`T/workflows/${ids.workflowIDs[0]}/export`)).status).toBe(403);
});

test('a set of assets is exported with or without what it needs, and nothing of another tenant', async () => {
  const items = [{ type: 'dashboard', id: ids.dashboardIDs[0] }];
  const other = await aTenant(cluster);

  const alone = await we.post('T/export', { items, withDependencies: false, withFolders: false });
  const whole = await we.post('T/export', { items });
  const foreign = await cluster.as(other.creator).in(other).post('T/export', { items });
  const wrong = await we.post('T/export', { items: [{ type: 'tenant', id: tenant.id }] });

  expect(alone.body.bundle.items).toHaveLength(1);
  expect(alone.body.bundle.items[0].dependencies).toHaveLength(2);
  const types = new Set(whole.body.bundle.items.map(({ type }: Item) => type));
  expect(types).toEqual(new Set(['folder', 'variable', 'datasource', 'dataQuery', 'workflow', 'widget', 'dashboard']));
  expect([foreign.status, wrong.status]).toEqual([404, 400]);
});

test('an asset that names thousands which are gone is exported, and they are named only', async () => {
  const own = await aTenant(cluster);
  const they = cluster.as(own.creator).in(own);
  const widgets = Array.from({ length: 2_500 }, () => `widget_${newID()}_1`);
  const { body } = await they.post('T/dashboards', { dashboardTitle: 'Old', dashboardConfig: { earlier: widgets } });

  const { status, body: answer } = await they.post('T/export', {
    items: [{ type: 'dashboard', id: body.dashboard.id }],
  });

  expect(status, answer.error?.message).toBe(200);
  expect(answer.bundle.items).toHaveLength(1);
  expect(answer.bundle.items[0].dependencies).toHaveLength(2_500);
  expect(answer.bundle.items[0].dependencies.every(({ bundled }: { bundled: boolean }) => !bundled)).toBe(true);
});
