import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { type Client, lenient } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aDataQuery, aMember, aTenant, aWidget, aWorkflow, type TestTenant } from '../../../support/factories.ts';

let cluster: Cluster;
let tenant: TestTenant;
let api: Client;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  tenant = await aTenant(cluster);
  api = cluster.as(tenant.creator).in(tenant);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const given = { widgetTitle: 'Orders', widgetType: 'bar', widgetConfig: {} };

test('a widget is created, shown, listed, changed, copied and deleted', async () => {
  const folder = await api.post('T/folders', { entityType: 'widget', folderTitle: 'Shop' });
  const folderID = folder.body.folder.id;
  const widgetConfig = { properties: { color: '{{state.color}}' }, events: { onClick: [{ type: 'SHOW_TOAST' }] } };

  const made = await api.post('T/widgets', {
    ...given,
    widgetTitle: 'Shop 100%',
    widgetConfig,
    refreshInterval: 30,
    folderID,
  });

  expect(made).toMatchObject({ status: 201, body: { widget: { widgetConfig, refreshInterval: 30, folderID } } });
  const { widget } = made.body;
  expect(widget).toMatchObject({ widgetID: widget.id, tenantID: tenant.id, creatorID: tenant.creator.id });
  expect((await api.get(`T/widgets/${widget.id}`)).body.widget).toEqual(widget);
  for (const query of ['search=P 100%25', `folderID=${folderID}`, 'widgetType=bar'])
    expect((await api.get(`T/widgets?${query}`)).body).toMatchObject({ widgets: [widget], totalCount: 1, page: 1 });
  const changed = await api.patch(`T/widgets/${widget.id}`, { widgetType: 'stat', widgetConfig: { a: 1 } });
  expect(changed.body.widget).toMatchObject({ widgetTitle: 'Shop 100%', widgetType: 'stat', widgetConfig: { a: 1 } });
  const copy = await api.post(`T/widgets/${widget.id}/clone`, {});
  expect(copy.body.widget).toMatchObject({ widgetTitle: 'Shop 100% (Copy)', widgetConfig: { a: 1 }, folderID });
  expect(copy.body.widget.id).not.toBe(widget.id);
  expect((await api.delete(`T/widgets/${widget.id}`)).status).toBe(200);
  expect((await api.get(`T/widgets/${widget.id}`)).status).toBe(404);
  expect((await api.get('T/')).body.tenant.tenantWidgetCount).toBe(1);
});

test('a config is replaced as a whole, and may be of any shape where nothing is bound', async () => {
  const { id } = await aWidget(cluster, { tenant, type: 'made-up', config: { a: { b: 1 } } });

  const changed = await api.patch(`T/widgets/${id}`, { widgetConfig: { a: { c: 2 }, events: 'none' } });

  expect(changed.body.widget).toMatchObject({ widgetType: 'made-up', widgetConfig: { a: { c: 2 }, events: 'none' } });
  expect(changed.body.widget.widgetConfig.a).toEqual({ c: 2 });
});

describe('refuses, naming the field', () => {
  test.each<[string, JsonObject]>([
    ['widgetTitle', { widgetTitle: ' ' }],
    ['widgetType', { widgetType: '' }],
    ['widgetConfig', { widgetConfig: [] }],
    ['refreshInterval', { refreshInterval: 1.5 }],
    ['refreshInterval', { refreshInterval: 86_401 }],
    ['folderID', { folderID: newID() }],
    ['widgetConfig.dataQueries', { widgetConfig: { dataQueries: 'all' } }],
    ['widgetConfig.dataQueries', { widgetConfig: { dataQueries: Array(21).fill(1) } }],
    ['widgetConfig.dataQueries.0.dataQueryID', { widgetConfig: { dataQueries: [{ dataQueryID: 'x' }] } }],
    ['widgetConfig.dataQueries.0.dataQueryID', { widgetConfig: { dataQueries: [{ dataQueryID: newID() }] } }],
    ['widgetConfig.events.onClick.0.queryID', { widgetConfig: { events: { onClick: [{ queryID: newID() }] } } }],
    ['widgetConfig.events.a.workflowID', { widgetConfig: { events: { a: { workflowID: newID() } } } }],
  ])('%s in %j', async (field, wrong) => {
    const { id } = await aWidget(cluster, { tenant });

    for (const answer of [
      await api.post('T/widgets', { ...given, ...wrong }),
      await api.patch(`T/widgets/${id}`, wrong),
    ]) {
      expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
      expect(answer.body.error.details.issues[0].path.join('.')).toBe(field);
    }
  });

  test('a binding with a field that nothing reads, when the client wants that', async () => {
    const { id: dataQueryID } = await aDataQuery(cluster, { tenant });
    const body = { ...given, widgetConfig: { dataQueries: [{ dataQueryID, titel: 'Orders' }], other: 1 } };

    const answer = await api.post('T/widgets', body, lenient);
    expect(answer.body).toMatchObject({
      success: true,
      unknownFields: [{ path: ['widgetConfig', 'dataQueries', 0, 'titel'] }],
    });
    expect((await api.post('T/widgets', body)).status).toBe(400);
  });
});

test('what a widget names must be executable for who saves it: its data are shown to who may execute the widget', async () => {
  const { id: dataQueryID } = await aDataQuery(cluster, { tenant });
  const { id: workflowID } = await aWorkflow(cluster, { tenant });
  const can = ['widget.create', 'widget.read', 'widget.update'] as const;
  const allowed = await aMember(cluster, {
    tenant,
    can: [...can],
    rules: [
      { object: `dataquery:${dataQueryID}`, action: 'execute' },
      { object: `workflow:${workflowID}`, action: 'execute' },
    ],
  });
  const member = await aMember(cluster, { tenant, can: [...can] });
  const configs: JsonObject[] = [
    { dataQueries: [{ dataQueryID: dataQueryID.toUpperCase() }] },
    { events: { onClick: [{ type: 'TRIGGER_QUERY', queryID: dataQueryID }] } },
    { events: { onClick: [{ type: 'TRIGGER_WORKFLOW', next: [{ workflowID }] }] } },
  ];

  for (const config of configs) {
    const { id } = await aWidget(cluster, { tenant, config });
    const answersOf = async (who: Client) => [
      (await who.post('T/widgets', { ...given, widgetConfig: config })).status,
      (await who.patch(`T/widgets/${id}`, { widgetConfig: config })).status,
      (await who.post(`T/widgets/${id}/clone`, {})).status,
      (await who.patch(`T/widgets/${id}`, { widgetTitle: 'Renamed' })).status,
    ];
    expect(await answersOf(cluster.as(allowed).in(tenant))).toEqual([201, 200, 200, 200]);
    expect(await answersOf(cluster.as(member).in(tenant))).toEqual([403, 403, 403, 200]);
  }
});

test('another tenant sees, changes, binds and copies nothing', async () => {
  const other = await aTenant(cluster);
  const they = cluster.as(other.creator).in(other);
  const { id } = await aWidget(cluster, { tenant });
  const { id: dataQueryID } = await aDataQuery(cluster, { tenant });

  expect((await they.get(`T/widgets/${id}`)).status).toBe(404);
  expect((await they.patch(`T/widgets/${id}`, { widgetTitle: 'x' })).status).toBe(404);
  expect((await they.post(`T/widgets/${id}/clone`, {})).status).toBe(404);
  expect((await they.delete(`T/widgets/${id}`)).status).toBe(404);
  expect((await they.get('T/widgets')).body.widgets).toEqual([]);
  const bound = await they.post('T/widgets', { ...given, widgetConfig: { dataQueries: [{ dataQueryID }] } });
  expect(bound.body.error.message).toBe('widgetConfig.dataQueries.0.dataQueryID: there is no such data query');
});

test('two at once: the quota has one more place', async () => {
  const full = await aTenant(cluster);
  const they = cluster.as(full.creator).in(full);
  await aWidget(cluster, { tenant: full });
  await cluster.pool.query("insert into quota (owner_id, name, max) values ($1, 'widgets', 2)", [full.id]);

  const answers = await Promise.all([they.post('T/widgets', given), they.post('T/widgets', given)]);

  expect(answers.map(({ status }) => status).sort()).toEqual([201, 429]);
});

test('the types of widgets are described, with a form', async () => {
  const all = (await api.get('T/widgets/schemas')).body.schemas;
  const one = await api.get('T/widgets/schemas?widgetType=bubble');

  expect(Object.keys(all)).toHaveLength(39);
  expect(one.body.schemas).toEqual({ bubble: all.bubble });
  expect(all.bubble).toMatchObject({
    shape: 'bubbles',
    columns: ['xAxis', 'yAxis', 'radius'],
    events: ['onClick', 'onRefresh', 'onLoad', 'onMarkClick'],
    schema: { properties: { dataQueries: { items: { required: ['dataQueryID', 'datasetFields'] } } } },
    uischema: { type: 'VerticalLayout' },
    data: { properties: { showLegend: true } },
  });
  expect(await api.get('T/widgets/schemas?widgetType=none')).toMatchObject({
    status: 404,
    body: { error: { code: 'SCHEMA_NOT_FOUND' } },
  });
});
