/** Files that widgets of a page show, for viewers who may read the page and nothing else. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aMember, aTenant, aWidget, type TestTenant, type TestUser } from '../../../support/factories.ts';
import { aFile, aPNG } from '../../../support/route-fixtures.ts';

let cluster: Cluster;
let tenant: TestTenant;
let viewer: TestUser;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  tenant = await aTenant(cluster);
  viewer = await aMember(cluster, { tenant, can: ['appPage.read'] });
});
afterAll(() => cluster[Symbol.asyncDispose]());

async function upload(of = tenant): Promise<{ url: string; filePath: string }> {
  return (await cluster.as(of.creator).in(of).post('T/widgets/upload', aFile(aPNG()))).body;
}

/** A page with a widget that shows the file. */
async function aPage(src: string, by: { email: string } = tenant.creator): Promise<string> {
  const { id } = await aWidget(cluster, { tenant, config: { properties: { src } } });
  const appPageConfig = { widgets: [`widget_${id}_a`] };
  const { body } = await cluster.as(by).in(tenant).post('T/app-pages', { appPageTitle: 'A page', appPageConfig });
  return body.appPage.id;
}

const read = (page: string, path: string, who: { email: string } = viewer, of = tenant) =>
  cluster
    .as(who)
    .in(of)
    .get(`T/app-pages/${page}/files?path=${encodeURIComponent(path)}`);

test('a viewer of the page sees the file that its widget shows, without a right on widgets', async () => {
  const { url, filePath } = await upload();
  const page = await aPage(url);
  const token = await cluster.tokenFor(viewer);

  const answer = await fetch(
    `${cluster.baseURL}/api/v1/tenants/${tenant.id}/app-pages/${page}/files?path=${encodeURIComponent(filePath)}`,
    { headers: { authorization: `Bearer ${token}` } },
  );
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('image/png');
  expect(Buffer.from(await answer.arrayBuffer())).toEqual(aPNG());
  expect((await cluster.as(viewer).in(tenant).get(url)).status).toBe(403);
});

test('no other file is read through a page: of another page, of another tenant, or named by the page alone', async () => {
  const [shown, elsewhere, unused] = [await upload(), await upload(), await upload()];
  const page = await aPage(shown.url);
  await aPage(elsewhere.url);
  const other = await aTenant(cluster);
  const theirs = await upload(other);
  const ofOther = await aPage(theirs.url);
  const api = cluster.as(tenant.creator).in(tenant);
  await api.patch(`T/app-pages/${page}`, {
    appPageConfig: {
      ...(await api.get(`T/app-pages/${page}`)).body.appPage.appPageConfig,
      background: unused.filePath,
    },
  });

  for (const path of [elsewhere.filePath, unused.filePath, theirs.filePath])
    expect((await read(page, path)).status, path).toBe(404);
  // The widget of this tenant names a file of another.
  expect((await read(ofOther, theirs.filePath)).status).toBe(404);
  expect((await read(page, shown.filePath, other.creator)).status).toBe(403);
  expect((await read(page, shown.filePath, other.creator, other)).status).toBe(404);
  expect((await read(page, shown.filePath)).status).toBe(200);
});

test('only who may read the page reads its files, while its creator may execute the widget', async () => {
  const { url, filePath } = await upload();
  const author = await aMember(cluster, { tenant, can: ['appPage.create', 'widget.execute'] });
  const page = await aPage(url, author);
  const stranger = await aMember(cluster, { tenant, can: ['widget.read'] });

  expect((await read(page, filePath)).status).toBe(200);
  expect((await read(page, filePath, stranger)).status).toBe(403);
  await cluster.as(tenant.creator).in(tenant).delete(`T/users/${author.id}`);
  expect((await read(page, filePath)).status).toBe(404);
});
