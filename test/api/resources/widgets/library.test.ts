import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { Client } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aDataQuery, aMember, anOperator, aTenant, type TestTenant } from '../../../support/factories.ts';

let cluster: Cluster;
let author: TestTenant;
let user: TestTenant;
let they: Client;
let we: Client;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  [author, user] = [await aTenant(cluster), await aTenant(cluster)];
  they = cluster.as(author.creator).in(author);
  we = cluster.as(user.creator).in(user);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const payload = (more: JsonObject = {}) => ({
  widgetTitle: 'Map 100%',
  widgetType: 'stat',
  widgetConfig: { properties: { label: 'a' } },
  ...more,
});
const bundleOf = (given: JsonObject = payload(), more: JsonObject = {}) => ({
  bundle: { bundleVersion: 1, items: [{ type: 'widget', id: newID(), payload: given }], ...more },
});

async function publish(given?: JsonObject, who = they): Promise<string> {
  const { status, body } = await who.post('T/widget-library', bundleOf(given));
  expect(status, JSON.stringify(body)).toBe(201);
  return body.entry.libraryEntryID;
}

test('a widget is published, found by all tenants, previewed, installed and unpublished', async () => {
  const { id: dataQueryID } = await aDataQuery(cluster, { tenant: author });
  const workflowID = newID();
  const widgetConfig = { dataQueries: [{ dataQueryID }, { dataQueryID }], events: { onClick: [{ workflowID }] } };
  const given = payload({ widgetConfig, refreshInterval: 30, widgetDescription: 'Shows it' });
  const id = await publish(given);

  const found = (await we.get('T/widget-library?search=P 100%25')).body;
  const own = (await they.get('T/widget-library?search=P 100%25')).body.entries[0];
  const preview = await we.post(`T/widget-library/${id}/preview`);
  const installed = await we.post(`T/widget-library/${id}/install`);

  expect(found).toMatchObject({ totalCount: 1, entries: [{ libraryEntryID: id, isOwn: false }] });
  expect(JSON.stringify(found)).not.toContain(author.id);
  expect(found.entries[0]).not.toHaveProperty('bundle');
  expect(own).toMatchObject({ isOwn: true, sourceTenantID: author.id, publishedByUserID: author.creator.id });
  const missing = [
    { type: 'dataquery', id: dataQueryID },
    { type: 'workflow', id: workflowID },
  ];
  expect(preview).toMatchObject({
    status: 200,
    body: {
      valid: true,
      summary: { createCount: 1, warningCount: 2, missingDependencyCount: 2 },
      items: [{ type: 'widget', title: 'Map 100%', action: 'create', missingDependencies: missing }],
    },
  });
  expect(installed).toMatchObject({ status: 201, body: { skipped: [], warnings: preview.body.items[0].warnings } });
  const [{ newID: widgetID, originalID }] = installed.body.results;
  expect(widgetID).not.toBe(originalID);
  const { widget } = (await we.get(`T/widgets/${widgetID}`)).body;
  expect(widget).toMatchObject({ ...given, tenantID: user.id, creatorID: user.creator.id });
  const again = await we.post(`T/widget-library/${id}/preview`);
  expect(again.body.items[0].warnings[0]).toBe('A widget with the title "Map 100%" exists already');

  expect((await we.delete(`T/widget-library/${id}`)).status).toBe(404);
  expect((await they.delete(`T/widget-library/${id}`)).status).toBe(200);
  expect((await they.delete(`T/widget-library/${id}`)).status).toBe(404);
  expect((await we.post(`T/widget-library/${id}/install`)).status).toBe(404);
  expect((await we.get(`T/widgets/${widgetID}`)).status).toBe(200);
});

test.each<[string, unknown]>([
  ['bundle', {}],
  ['bundle.bundleVersion', bundleOf(payload(), { bundleVersion: 2 })],
  ['bundle.items', bundleOf(payload(), { items: [] })],
  ['bundle.items', bundleOf(payload(), { items: Array(2).fill({ type: 'widget', id: newID(), payload: payload() }) })],
  ['bundle.items.0.type', bundleOf(payload(), { items: [{ type: 'workflow', id: newID(), payload: payload() }] })],
  ['bundle.items.0.payload.widgetTitle', bundleOf(payload({ widgetTitle: '' }))],
  [
    'bundle.items.0.payload.widgetConfig.dataQueries.0.dataQueryID',
    bundleOf(payload({ widgetConfig: { dataQueries: [{}] } })),
  ],
  ['bundle', bundleOf(payload({ widgetConfig: { a: 'x'.repeat(256 * 1024) } }))],
])('names %s when it is wrong', async (field, body) => {
  const answer = await they.post('T/widget-library', body);

  expect([answer.status, answer.body.error.details.issues[0].path.join('.')]).toEqual([400, field]);
});

test('each step needs its permission, and the queries that exist here', async () => {
  const { id: dataQueryID } = await aDataQuery(cluster, { tenant: author });
  const id = await publish(payload({ widgetConfig: { dataQueries: [{ dataQueryID }] } }));
  const can = (...permissions: ('widgetLibrary.install' | 'widget.create' | 'dataquery.execute')[]) =>
    aMember(cluster, { tenant: author, can: permissions }).then((member) => cluster.as(member).in(author));
  const statusOf = async (who: Client) => (await who.post(`T/widget-library/${id}/install`)).status;

  expect(await statusOf(await can('widgetLibrary.install'))).toBe(403);
  expect(await statusOf(await can('widget.create'))).toBe(403);
  expect(await statusOf(await can('widgetLibrary.install', 'widget.create'))).toBe(403);
  expect(await statusOf(await can('widgetLibrary.install', 'widget.create', 'dataquery.execute'))).toBe(201);
  const installer = await can('widgetLibrary.install');
  for (const answer of [
    await installer.get('T/widget-library'),
    await installer.post('T/widget-library', bundleOf()),
    await installer.delete(`T/widget-library/${id}`),
  ])
    expect(answer.status).toBe(403);
});

test('a tenant has a quota, and its entries go with it', async () => {
  const external = await aTenant(cluster);
  const who = cluster.as(external.creator).in(external);
  await cluster.pool.query("insert into quota (owner_id, name, max) values ($1, 'libraryEntries', 1)", [external.id]);

  const answers = await Promise.all([
    who.post('T/widget-library', bundleOf()),
    who.post('T/widget-library', bundleOf()),
  ]);

  expect(answers.map(({ status }) => status).sort()).toEqual([201, 429]);
  expect((await who.delete('T/')).status).toBe(200);
  const { rows } = await cluster.pool.query('select from widget_library_entry where source_tenant_id = $1', [
    external.id,
  ]);
  expect(rows).toEqual([]);
});

test('operators see all, publish for the deployment, and remove any', async () => {
  const operator = cluster.asOperator(await anOperator(cluster));
  const id = await publish(payload({ widgetTitle: 'Theirs' }));
  const made = await operator.post('/api/v1/operator/widget-library', bundleOf(payload({ widgetTitle: 'Of all' })));

  expect(made).toMatchObject({ status: 201, body: { entry: { sourceTenantID: null } } });
  const listed = await operator.get('/api/v1/operator/widget-library?search=Theirs');
  expect(listed.body.entries).toMatchObject([{ id, sourceTenantID: author.id, publishedByUserID: author.creator.id }]);
  expect((await they.delete(`T/widget-library/${made.body.entry.id}`)).status).toBe(404);
  for (const entry of [id, made.body.entry.id])
    expect((await operator.delete(`/api/v1/operator/widget-library/${entry}`)).status).toBe(200);
  expect((await operator.delete(`/api/v1/operator/widget-library/${id}`)).status).toBe(404);
});
