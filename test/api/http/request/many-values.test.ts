import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aTenant, aWorkflow, type TestTenant } from '#test/support/factories.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: [] });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const api = () => cluster.as(tenant.creator).in(tenant);
const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));
const values = (count: number) => Array.from({ length: count }, () => ({}));

test('an object of data with too many keys is refused by name, and a long list is not', async () => {
  const { id } = await aWorkflow(cluster, { tenant });

  const refused = await api().post(`T/workflows/${id}/execute`, { args: { ok: 1, prices: keys(50_001) } });

  expect(refused.status).toBe(400);
  expect(refused.body.error).toMatchObject({
    code: 'VALIDATION_ERROR',
    message: expect.stringMatching(/^args\.prices: must not have more than 50,000 keys in one object/),
  });
  const accepted = await api().post(`T/workflows/${id}/execute`, {
    args: { some: keys(50_000), list: values(400_000) },
  });
  expect(accepted.status).toBeLessThan(300);
});

test.each([
  ['T/queries', { dataQueryTitle: 'x', datasourceType: 'tenantdb', dataQueryOptions: { x: values(20_001) } }],
  ['T/datasources', { datasourceTitle: 'x', datasourceType: 'restapi', datasourceOptions: { x: values(20_001) } }],
  ['T/workflows', { title: 'x', nodes: [{ id: 's', type: 'start', data: { x: values(20_001) } }], edges: [] }],
  ['T/workflows', { title: 'x', nodes: [], edges: [], others: values(250_001) }],
])('settings of %s with too many values are refused', async (path, body) => {
  const { status, body: answer } = await api().post(path, body);

  expect(status).toBe(400);
  expect(answer.error.message).toMatch(/must not have more than (20|250),000 values in its lists and objects/);
});
