import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { Client } from '../../support/client.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aDataQuery, aListener, aMember, aTenant, aWorkflow, type TestTenant } from '../../support/factories.ts';

let cluster: Cluster;
let tenant: TestTenant;
let api: Client;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  tenant = await aTenant(cluster);
  api = cluster.as(tenant.creator).in(tenant);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const page = (dataSources: unknown, more: object = {}) => ({
  appPageTitle: 'A page',
  appPageConfig: { dataSources, ...more },
});
const aQuery = (id: string, alias = 'q') => ({ alias, type: 'query', queryID: id });
const firstIssue = ({ status, body }: Awaited<ReturnType<Client['get']>>) => {
  const { path, message } = body.error.details.issues[0];
  return [status, path.join('.'), message];
};

test('a binding that is malformed, missing or of another tenant is named', async () => {
  const other = await aTenant(cluster);
  const theirs = await aDataQuery(cluster, { tenant: other });
  const at = 'appPageConfig.dataSources';
  const wrong: [unknown, string, unknown][] = [
    [[{ alias: 'q', type: 'query' }], `${at}.0.queryID`, 'is required for the type query'],
    [[{ alias: 'q', type: 'sql', queryID: newID() }], `${at}.0.type`, expect.any(String)],
    [[aQuery('{{variables.id}}')], `${at}.0.queryID`, expect.any(String)],
    [[aQuery(theirs.id)], `${at}.0.queryID`, 'there is no such data query'],
    [[aQuery(newID(), '..')], `${at}.0.alias`, 'must be neither . nor ..'],
    [[aQuery(newID(), 'constructor')], `${at}.0.alias`, 'is a reserved name'],
    [[{ alias: 'w', type: 'workflow', workflowID: newID() }], `${at}.0.workflowID`, 'there is no such workflow'],
    [[{ alias: 'l', type: 'listener', listenerID: newID() }], `${at}.0.listenerID`, 'there is no such listener'],
  ];
  for (const [sources, path, message] of wrong)
    expect(firstIssue(await api.post('T/app-pages', page(sources)))).toEqual([400, path, message]);
  const { id } = await aDataQuery(cluster, { tenant });
  const twice = await api.post('T/app-pages', page([aQuery(id), aQuery(id)]));
  expect(firstIssue(twice)).toEqual([400, `${at}.1.alias`, 'another data source of the page has this alias']);
});

test('an author binds only what the author and the creator of the page may execute', async () => {
  const [query, other] = [await aDataQuery(cluster, { tenant }), await aDataQuery(cluster, { tenant })];
  const workflow = await aWorkflow(cluster, { tenant });
  const listener = await aListener(cluster, { tenant });
  const sources = [
    aQuery(query.id),
    { alias: 'w', type: 'workflow', workflowID: workflow.id },
    { alias: 'l', type: 'listener', listenerID: listener.id, channelName: 'orders' },
  ];
  const widgetID = newID();
  const given = page(sources, { widgets: [`widget_${widgetID}_1`] });
  const objects = [`dataquery:${query.id}`, `workflow:${workflow.id}`, `listener:${listener.id}`, `widget:${widgetID}`];
  const can = ['appPage.create', 'appPage.read', 'appPage.update'] as const;
  const authors = await Promise.all(
    [objects, ...objects.map((_, without) => objects.filter((_object, at) => at !== without))].map((own) =>
      aMember(cluster, { tenant, can, rules: own.map((object) => ({ object, action: 'execute' })) }),
    ),
  );
  const [first, ...less] = await Promise.all(
    authors.map((author) => cluster.as(author).in(tenant).post('T/app-pages', given)),
  );
  expect(first?.status).toBe(201);
  expect(less.map(({ status }) => status)).toEqual(objects.map(() => 403));

  // The admin may execute the other query, the creator of the page may not.
  const at = `T/app-pages/${first?.body.appPage.id}`;
  const widened = await api.patch(at, { appPageConfig: { dataSources: [...sources, aQuery(other.id, 'other')] } });
  expect(firstIssue(widened)).toEqual([
    400,
    'appPageConfig.dataSources.3.queryID',
    'the creator of the page may not execute this data query',
  ]);
  const [, ...lesser] = authors;
  for (const author of lesser) {
    const client = cluster.as(author).in(tenant);
    expect((await client.patch(at, { appPageConfig: given.appPageConfig })).status).toBe(403);
    expect((await client.post(`${at}/clone`)).status).toBe(403);
    expect((await client.patch(at, { appPageTitle: 'Another title' })).status).toBe(200);
  }
  expect((await api.post(`${at}/clone`)).body.appPage).toMatchObject({ creatorID: tenant.creator.id });
});

test('a draft binds anything, and is checked when it stops being one', async () => {
  const query = await aDataQuery(cluster, { tenant });
  const author = await aMember(cluster, { tenant, can: ['appPage.create', 'appPage.update', 'appPage.read'] });
  const client = cluster.as(author).in(tenant);
  const draft = { ...page([aQuery(query.id), aQuery(newID(), 'gone')]), isDraft: true };
  const { id } = (await client.post('T/app-pages', draft)).body.appPage;

  expect((await client.patch(`T/app-pages/${id}`, { isDraft: false })).status).toBe(403);
  expect(firstIssue(await api.patch(`T/app-pages/${id}`, { isDraft: false }))).toEqual([
    400,
    'appPageConfig.dataSources.1.queryID',
    'there is no such data query',
  ]);
  const mended = { isDraft: false, appPageConfig: { dataSources: [aQuery(query.id)] } };
  expect(firstIssue(await api.patch(`T/app-pages/${id}`, mended))[1]).toBe('appPageConfig.dataSources.0.queryID');
  const { body } = await api.get(`T/app-pages/${id}`);
  expect(body.appPage).toMatchObject({ isDraft: true, versionNumber: 1 });
});

test('an earlier version is restored only if its bindings are still permitted', async () => {
  const [old, now] = [await aDataQuery(cluster, { tenant }), await aDataQuery(cluster, { tenant })];
  const { id } = (await api.post('T/app-pages', page([aQuery(old.id)]))).body.appPage;
  await api.patch(`T/app-pages/${id}`, { appPageConfig: { dataSources: [aQuery(now.id)] } });
  const [, first] = (await api.get(`T/app-pages/${id}/versions`)).body.versions;
  const restore = `T/app-pages/${id}/versions/${first.appPageVersionID}/restore`;
  const editor = await aMember(cluster, { tenant, can: ['appPage.update'] });

  expect((await cluster.as(editor).in(tenant).post(restore)).status).toBe(403);
  await api.delete(`T/queries/${old.id}`);
  expect(firstIssue(await api.post(restore))[2]).toBe('there is no such data query');
});
