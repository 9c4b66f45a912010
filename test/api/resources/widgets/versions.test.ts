import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aTenant } from '../../../support/factories.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
});
afterAll(() => cluster[Symbol.asyncDispose]());

test('of two editors of a widget the second is refused, and a move between folders is no change', async () => {
  const tenant = await aTenant(cluster);
  const api = cluster.as(tenant.creator).in(tenant);
  const widget = { widgetTitle: 'Orders', widgetType: 'table', widgetConfig: {} };
  const made = await api.post('T/widgets', widget);
  const { id } = made.body.widget;
  expect([made.body.widget.versionNumber, made.headers.get('etag')]).toEqual([1, '"1"']);
  const save = (widgetTitle: string) => api.patch(`T/widgets/${id}`, { widgetTitle }, { 'if-match': '"1"' });

  const answers = await Promise.all([save('Mine'), save('Theirs')]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
  expect((await api.patch(`T/widgets/${id}`, { folderID: null })).headers.get('etag')).toBe('"2"');
  expect((await api.get(`T/widgets/${id}`)).headers.get('etag')).toBe('"2"');
  expect((await api.delete(`T/widgets/${id}`, undefined, { 'if-match': '"1"' })).status).toBe(412);
  expect((await api.delete(`T/widgets/${id}`, undefined, { 'if-match': '"2"' })).status).toBe(200);
});
