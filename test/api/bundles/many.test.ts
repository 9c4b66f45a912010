import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aMember, aTenant } from '../../support/factories.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
});
afterAll(() => cluster[Symbol.asyncDispose]());

function widgets(count: number) {
  const items = Array.from({ length: count }, (_, n) => ({
    ...{ type: 'widget', id: newID() },
    payload: { widgetTitle: `Widget ${n}`, widgetType: 'text', widgetConfig: {} },
  }));
  return { bundle: { bundleVersion: 1, items } };
}

test('the importer owns each of many assets', async () => {
  const tenant = await aTenant(cluster);
  const member = await aMember(cluster, { tenant, can: ['bundle.execute', 'widget.create'] });
  const who = cluster.as(member).in(tenant);

  const { status, body } = await who.post('T/import/execute', widgets(20));

  expect(status, JSON.stringify(body)).toBe(201);
  for (const { newID: id } of body.results)
    expect((await who.patch(`T/widgets/${id}`, { widgetTitle: 'Ours' })).status).toBe(200);
  const { rows } = await cluster.pool.query(
    `select count(*)::int as rules from policy_rule
     where tenant_id = $1 and object like 'widget:_%' and subject = $2 and action = '*'`,
    [tenant.id, member.id],
  );
  expect(rows).toEqual([{ rules: 20 }]);
});

test('an import that outgrows a quota leaves nothing, and names the item; one that fills it is done', async () => {
  const tenant = await aTenant(cluster);
  const who = cluster.as(tenant.creator).in(tenant);
  await cluster.pool.query("insert into quota (owner_id, name, max) values ($1, 'widgets', 5)", [tenant.id]);
  const count = async () => {
    const sql = 'select count(*)::int as n from widget where tenant_id = $1';
    return (await cluster.pool.query<{ n: number }>(sql, [tenant.id])).rows[0]?.n;
  };

  const refused = await who.post('T/import/execute', widgets(6));
  const left = await count();
  const filling = await who.post('T/import/execute', widgets(5));
  const further = await who.post('T/import/execute', widgets(1));

  expect([refused.status, refused.body.error.message]).toEqual([429, expect.stringContaining('"Widget 5"')]);
  expect(left).toBe(0);
  expect([filling.status, further.status, await count()]).toEqual([201, 429, 5]);
});

test('a rule that denies a use of what the import creates is kept, and keys of objects name the widgets here', async () => {
  const tenant = await aTenant(cluster);
  const everything = { object: '*', action: '*' };
  const denied = { object: 'dataquery:*', action: 'execute', effect: 'deny' as const };
  const as = async (rules: { object: string; action: string; effect?: 'deny' }[]) =>
    cluster.as(await aMember(cluster, { tenant, rules })).in(tenant);
  const [datasource, query, widget, dashboard] = [newID(), newID(), newID(), newID()];
  const connectionString = 'postgres://db.example.test/shop';
  const datasourceOptions = { connectionOption: 'connectionString', connectionString };
  const dataQueryOptions = { query: 'select 1' };
  const widgetConfig = { dataQueries: [{ dataQueryID: query, title: 'Q' }] };
  const dashboardConfig = { layouts: { [`widget_${widget}_1`]: { x: 1 } } };
  const items = [
    {
      ...{ type: 'datasource', id: datasource },
      payload: { datasourceTitle: 'D', datasourceType: 'postgresql', datasourceOptions },
    },
    { type: 'dataQuery', id: query, payload: { dataQueryTitle: 'Q', datasourceID: datasource, dataQueryOptions } },
    { type: 'widget', id: widget, payload: { widgetTitle: 'W', widgetType: 'table', widgetConfig } },
    { type: 'dashboard', id: dashboard, payload: { dashboardTitle: 'D', dashboardConfig } },
  ];
  const body = { bundle: { bundleVersion: 1, items } };

  const refused = await (await as([everything, denied])).post('T/import/execute', body);
  const who = await as([everything]);
  const done = await who.post('T/import/execute', body);

  expect([refused.status, done.status], JSON.stringify([refused.body, done.body])).toEqual([403, 201]);
  const idOf = (key: string) =>
    done.body.results.find(({ originalID }: { originalID: string }) => originalID === key)?.newID;
  const { body: answer } = await who.get(`T/dashboards/${idOf(dashboard)}`);
  expect(answer.dashboard.dashboardConfig).toEqual({ layouts: { [`widget_${idOf(widget)}_1`]: { x: 1 } } });
  const { bundle } = (await who.post('T/export', { types: ['dashboard'], withDependencies: false })).body;
  expect(bundle.items[0].payload.dashboardConfig).toEqual(dashboardConfig);
});
