import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import type { Client } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import {
  aDataQuery,
  aDatasource,
  aMember,
  aTenant,
  aWidget,
  type TestDatasource,
  type TestTenant,
} from '../../../support/factories.ts';

let cluster: Cluster;
let tenant: TestTenant;
let api: Client;
let datasource: TestDatasource;
beforeAll(async () => {
  cluster = await startCluster({ workers: ['widget.data', 'query.runs'] });
  tenant = await aTenant(cluster);
  api = cluster.as(tenant.creator).in(tenant);
  datasource = await aDatasource(cluster, { tenant });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const ORDERS = `select * from (values ('open', 3.5), ('closed', 2), ('open', 1)) as orders (state, total)`;
const columns = { xAxis: 'state', yAxis: 'total' };

async function aQuery(query: string, options: JsonObject = {}): Promise<string> {
  return (await aDataQuery(cluster, { tenant, datasource, query: { query, ...options } })).id;
}

async function run(query: string): Promise<void> {
  expect((await api.post(`T/queries/${await aQuery(query)}/run`, {})).status).toBe(200);
}

interface Shown {
  type?: string;
  refreshInterval?: number;
}

/** A widget that binds these. */
async function showing(
  dataQueries: JsonObject[],
  { type = 'table', refreshInterval = 0 }: Shown = {},
): Promise<string> {
  return (await aWidget(cluster, { tenant, type, config: { dataQueries }, refreshInterval })).id;
}

async function dataOf(widgetID: string, query = '', who = api) {
  const { status, body } = await who.get(`T/widgets/${widgetID}/data${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}

describe('the results of queries', () => {
  test('are shaped for the type of the widget, in the order of the bindings', async () => {
    const dataQueryID = await aQuery(ORDERS);
    const more = await aQuery(`select 'new' as state, 7 as total`);
    const bar = await showing(
      [
        { dataQueryID: more, title: 'Late', executionOrder: 2, datasetFields: columns },
        { dataQueryID, title: 'All', executionOrder: 1, datasetFields: columns, parameters: { color: 'red' } },
      ],
      { type: 'bar' },
    );

    const { widgetData, bindings, message } = await dataOf(bar);

    expect(widgetData).toEqual({
      labels: ['closed', 'new', 'open'],
      datasets: [
        { color: 'red', label: 'All', data: [2, 0, 4.5] },
        { label: 'Late', data: [0, 7, 0] },
      ],
    });
    expect(bindings).toMatchObject([
      { dataQueryID, title: 'All', rowCount: 3, isCached: false, truncated: false, error: null },
      { dataQueryID: more, title: 'Late', rowCount: 1 },
    ]);
    expect(message).toBe('Widget data');
  });

  test('are raw for a type without a description, and for none', async () => {
    const dataQueryID = await aQuery('select 1 as n');
    const given = { widgetConfig: { dataQueries: [{ dataQueryID }] } };

    expect((await dataOf(await showing([{ dataQueryID }], { type: 'made-up' }))).widgetData).toEqual([[{ n: 1 }]]);
    expect((await api.post('T/widgets/data', given)).body.widgetData).toEqual([[{ n: 1 }]]);
    expect((await dataOf(await showing([]))).widgetData).toEqual([]);
    expect((await api.post('T/widgets/data', {})).body).toMatchObject({ widgetData: [], bindings: [] });
  });

  test('depend on the state that the request names, in inputs where the author has put it', async () => {
    const inputDefinitions = [
      { key: 'state', type: 'string' },
      { key: 'least', type: 'number' },
    ];
    const dataQueryID = await aQuery(
      `select * from (${ORDERS}) o where state = {{inputs.state}} and total >= {{inputs.least}} order by total`,
      { inputDefinitions },
    );
    const id = await showing([{ dataQueryID, dataQueryArgValues: { state: '{{state.filter.state}}', least: 2 } }]);
    const state = { filter: { state: 'open' }, least: 0 };

    const { widgetData } = await dataOf(id, `?state=${encodeURIComponent(JSON.stringify(state))}`);

    expect(widgetData).toEqual([[{ state: 'open', total: '3.5' }]]);
    expect((await dataOf(id)).widgetData).toEqual([[]]);
    const given = { dataQueryID, inputValues: { state: '{{state.s}}', least: 1 } };
    const posted = await api.post('T/widgets/data', { widgetConfig: { dataQueries: [given] }, state: { s: 'closed' } });
    expect(posted.body.widgetData).toEqual([[{ state: 'closed', total: '2' }]]);
  });
});

describe('a query that fails leaves the others', () => {
  test.each<[string, () => Promise<JsonObject>, RegExp]>([
    ['a missing one', async () => ({ dataQueryID: newID() }), /^NOT_FOUND: Data query not found$/],
    [
      'one of another tenant',
      async () => ({ dataQueryID: (await aDataQuery(cluster, { tenant: await aTenant(cluster) })).id }),
      /^NOT_FOUND: Data query not found$/,
    ],
    ['one with an error', async () => ({ dataQueryID: await aQuery('select nothing') }), /^DB_ERROR: .*nothing/],
    [
      'a slow one',
      async () => ({ dataQueryID: await aQuery('select pg_sleep(20)', { timeoutSeconds: 0.2 }) }),
      /^UPSTREAM_TIMEOUT: The query took longer than 0.2 s \(its `timeoutSeconds`\)/,
    ],
    [
      'one without the column',
      async () => ({ dataQueryID: await aQuery('select 1 as state') }),
      /^VALIDATION_ERROR: datasetFields.yAxis: there is no column "total"; the result has "state"$/,
    ],
  ])('%s', async (_what, make, expected) => {
    const dataQueryID = await aQuery(ORDERS);
    const bindings: JsonObject[] = [
      { ...(await make()), datasetFields: columns },
      { dataQueryID, datasetFields: columns },
    ];

    const bar = await dataOf(await showing(bindings, { type: 'bar' }));
    expect(bar.widgetData).toMatchObject({ labels: ['closed', 'open'], datasets: [{ data: [2, 4.5] }] });
    expect(`${bar.bindings[0].error.code}: ${bar.bindings[0].error.message}`).toMatch(expected);
    expect(bar.bindings[1].error).toBe(null);
  });

  test('with a gap in raw results', async () => {
    const id = await showing([{ dataQueryID: newID() }, { dataQueryID: await aQuery('select 2 as n') }]);

    expect((await dataOf(id)).widgetData).toEqual([null, [{ n: 2 }]]);
  });
});

describe('reuse', () => {
  const RANDOM = 'select random() as n, {{inputs.a}}::text as a';
  const binding = (dataQueryID: string) => ({ dataQueryID, dataQueryArgValues: { a: '{{state.a}}' } });
  const firstOf = ({ widgetData }: { widgetData: Json[][] }) => widgetData[0]?.[0];

  test('for refreshInterval seconds, by all who may execute the widget, and until it expires', async () => {
    const id = await showing([binding(await aQuery(RANDOM))], { refreshInterval: 60 });
    const member = await aMember(cluster, { tenant, rules: [{ object: `widget:${id}`, action: 'execute' }] });

    const first = await dataOf(id);
    const again = await dataOf(id, '', cluster.as(member).in(tenant));

    expect(first.bindings[0].isCached).toBe(false);
    expect(again).toMatchObject({ widgetData: first.widgetData, bindings: [{ isCached: true, rowCount: 1 }] });
    expect(firstOf(await dataOf(id, '?fresh=true'))).not.toEqual(firstOf(first));
    const cached = await dataOf(id);
    const { rowCount } = await cluster.pool.query(
      `update query_cache set expires_at = now() - interval '1 ms' where tenant_id = $1`,
      [tenant.id],
    );
    expect(rowCount).toBeGreaterThan(0);
    expect(firstOf(await dataOf(id))).not.toEqual(firstOf(cached));
  });

  test('never of another state, another version of the widget or of the query, another widget, or a direct run', async () => {
    const dataQueryID = await aQuery(RANDOM);
    const id = await showing([binding(dataQueryID)], { refreshInterval: 60 });
    const other = await showing([binding(dataQueryID)], { refreshInterval: 60 });
    const seen = new Set<string>();
    const see = async (answer: { widgetData: Json[][] }) => seen.add(JSON.stringify(firstOf(answer)));

    await see(await dataOf(id));
    await see(await dataOf(id, '?state={"a":"b"}'));
    await see(await dataOf(other));
    await see({
      widgetData: [(await api.post(`T/queries/${dataQueryID}/run`, { inputValues: {} })).body.dataQueryResult],
    });
    await api.patch(`T/widgets/${id}`, { widgetTitle: 'Another' });
    await see(await dataOf(id));
    await api.patch(`T/queries/${dataQueryID}`, { dataQueryOptions: { query: RANDOM, maxRows: 5 } });
    await see(await dataOf(id));

    expect(seen.size).toBe(6);
    await see(await dataOf(id));
    expect(seen.size).toBe(6);
  });

  test('of nothing without an interval, and of no failure', async () => {
    const id = await showing([binding(await aQuery(RANDOM))]);
    expect(firstOf(await dataOf(id))).not.toEqual(firstOf(await dataOf(id)));

    const table = `made_${newID().replaceAll('-', '')}`;
    const later = await showing([{ dataQueryID: await aQuery(`select * from ${table}`) }], { refreshInterval: 60 });
    expect((await dataOf(later)).bindings[0].error.code).toBe('DB_ERROR');
    await run(`create table ${table} (n int)`);
    expect((await dataOf(later)).bindings[0]).toMatchObject({ error: null, isCached: false });
    await run(`drop table ${table}`);
  });
});

describe('permissions', () => {
  test('who may execute the widget sees its data, without a permission on its queries; others nothing', async () => {
    const dataQueryID = await aQuery('select 1 as n');
    const id = await showing([{ dataQueryID }]);
    const given = { widgetConfig: { dataQueries: [{ dataQueryID }] } };
    const viewer = cluster.as(await aMember(cluster, { tenant, can: ['widget.execute'] })).in(tenant);
    const reader = cluster.as(await aMember(cluster, { tenant, can: ['widget.read'] })).in(tenant);
    const other = await aTenant(cluster);
    const stranger = cluster.as(other.creator).in(other);

    expect((await dataOf(id, '', viewer)).widgetData).toEqual([[{ n: 1 }]]);
    expect((await viewer.post(`T/queries/${dataQueryID}/run`, {})).status).toBe(403);
    expect((await viewer.post('T/widgets/data', given)).status).toBe(403);
    expect((await reader.get(`T/widgets/${id}/data`)).status).toBe(403);
    expect((await stranger.get(`T/widgets/${id}/data`)).status).toBe(404);
    const theirs = await stranger.post('T/widgets/data', given);
    expect(theirs.body).toMatchObject({ widgetData: [null], bindings: [{ error: { code: 'NOT_FOUND' } }] });
  });
});

describe('many widgets in one request', () => {
  test('are answered each, in order; one that fails or is hidden leaves the others', async () => {
    const dataQueryID = await aQuery('select {{inputs.a}}::text as a');
    const of = (a: string) => showing([{ dataQueryID, dataQueryArgValues: { a } }]);
    const [one, two, hidden] = [await of('one'), await of('{{state.x}}'), await of('hidden')];
    const broken = await aWidget(cluster, { tenant, config: { dataQueries: [{ dataQueryID: 'none' }] } });
    const member = await aMember(cluster, {
      tenant,
      rules: [one, two, broken.id].map((id) => ({ object: `widget:${id}`, action: 'execute' })),
    });
    const ids = [two, hidden, broken.id, one, two];
    const widgets = ids.map((widgetID, at) => ({ widgetID, ...(at === 4 && { state: { x: 'own' } }) }));

    const { status, body } = await cluster
      .as(member)
      .in(tenant)
      .post('T/widgets/data/bulk', { widgets, state: { x: 'common' } });

    expect(status).toBe(200);
    expect(body.widgets).toMatchObject([
      { widgetID: two, widgetData: [[{ a: 'common' }]], error: null },
      { widgetID: hidden, widgetData: null, error: { code: 'NOT_FOUND', message: 'Widget not found' } },
      { widgetID: broken.id, widgetData: null, error: { code: 'VALIDATION_ERROR' } },
      { widgetID: one, widgetData: [[{ a: 'one' }]], error: null },
      { widgetID: two, widgetData: [[{ a: 'own' }]], error: null },
    ]);
    expect(body.widgets[2].error.message).toContain('widgetConfig.dataQueries.0.dataQueryID');
  });

  test('are at most 50', async () => {
    const { status, body } = await api.post('T/widgets/data/bulk', { widgets: Array(51).fill({ widgetID: newID() }) });

    expect([status, body.error.details.issues[0].path]).toEqual([400, ['widgets']]);
  });
});

test('a wrong state, and a wrong binding of a widget that is not stored, are named', async () => {
  const id = await showing([]);
  const wrong = await api.get(`T/widgets/${id}/data?state=[1]`);
  const binding = { dataQueryID: newID(), datasetFields: [] };
  const given = await api.post('T/widgets/data', { widgetConfig: { dataQueries: [binding] } });

  const lossy = await api.get(`T/widgets/${id}/data?state={"n":12345678901234567890.5}`);
  expect(wrong.body.error.message).toBe('state: expected an object as JSON, received "[1]"');
  expect(lossy.body.error.message).toContain('state: n: 12345678901234567890.5 is more than a JSON number holds');
  expect(given.body.error.details.issues[0].path).toEqual(['widgetConfig', 'dataQueries', 0, 'datasetFields']);
});
