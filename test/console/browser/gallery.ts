import { expect, test } from 'vitest';
import { widgets } from '#shared/apps/widgets/index.ts';
import { aDataQuery, aDatasource, aListener, aWidget } from '#test/support/factories.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { everyWidget, type Shown, titleOf } from './gallery-widgets.ts';
import { expectAccessible, forgetRefusals, type Stage } from './stage.ts';

/** Every type of widget once, and every state in which one can be. */
export function galleryTests(stage: () => Stage): void {
  /** A page with these widgets, two or three beside one another, each named by its type. */
  async function aPage(title: string, shown: readonly Shown[], config: object = {}) {
    const { cluster, tenant } = stage();
    const keys: string[] = [];
    // One after another: each of them waits for the tenant's quota with a connection of the API's pool in its hand.
    for (const { type, name = titleOf(type), events = {}, ...own } of shown) {
      const { id } = await aWidget(cluster, { tenant, type, title: name, config: { ...own, events } as never });
      keys.push(`widget_${id}_1`);
    }
    const rows = Array.from({ length: Math.ceil(keys.length / 3) }, (_, at) => keys.slice(at * 3, at * 3 + 3));
    const children = rows.map((row, at) => ({
      ...{ id: `row${at}`, type: 'row' },
      children: row.map((widgetKey) => ({ id: widgetKey, type: 'widget', widgetKey, props: { span: 4 } })),
    }));
    const { body } = await cluster
      .as(tenant.creator)
      .in(tenant)
      .post('T/app-pages', {
        appPageTitle: title,
        appPageConfig: { layoutVersion: 2, layout: { id: 'root', type: 'column', children }, widgets: keys, ...config },
      });
    expect(body).toHaveProperty('appPage');
    return body.appPage.id as string;
  }

  test('each type of widget is drawn with its role and its words, in its place at every width', async () => {
    const { cluster, tenant, page, go, path, faults } = stage();
    await using site = await startHTTP((_request, response) => {
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>Site</title><p>Of another site</p>');
    });
    const file = await upload(`${cluster.baseURL}/api/v1/tenants/${tenant.id}/widgets/upload`, {
      token: await cluster.tokenFor(tenant.creator),
    });
    const gallery = everyWidget({ site: site.origin, file });
    expect(gallery.map(({ type }) => type).toSorted()).toEqual(widgets.map(({ type }) => type).toSorted());

    await go(path(`/pages/${await aPage('All widgets', gallery)}`));
    const unseen = await Promise.all(
      gallery.map(async ({ type, see }) => {
        const part = page.getByRole('region', { name: titleOf(type), exact: true });
        const isSeen = await see(part)
          .first()
          .waitFor()
          .then(() => true)
          .catch(() => false);
        return isSeen ? [] : [type];
      }),
    );
    expect(unseen.flat()).toEqual([]);
    for (const width of [1280, 400, 320]) {
      await page.setViewportSize({ width, height: 800 });
      await expect.poll(() => page.evaluate<string[]>(MISPLACED)).toEqual([]);
    }
    await expectAccessible(page, { name: 'gallery', shows: 'All widgets' });
    expect(faults).toEqual([]);
  });

  test('a widget says that its data come, are none, failed, are not allowed or old', async () => {
    const { cluster, tenant, page, go, path, faults } = stage();
    const datasource = await aDatasource(cluster, { tenant });
    const query = async (sql: string) => (await aDataQuery(cluster, { tenant, datasource, query: sql })).id;
    const source = async (alias: string, sql: string) => ({ alias, type: 'query', queryID: await query(sql) });
    const listener = await aListener(cluster, { tenant });
    const dataSources = [
      await source('old', 'select 1 as n'),
      await source('none', 'select 1 as n where false'),
      await source('broken', 'select 1 / 0'),
      { alias: 'live', type: 'listener', listenerID: listener.id, channelName: 'orders' },
    ];
    const empty = { items: '{{queries.none.data}}' };
    const datasetFields = { xAxis: 'n', yAxis: 'n' };
    const bound = {
      dataQueries: [{ dataQueryID: await query('select 1 as n where false'), title: 'Sum', datasetFields }],
    };
    const id = await aPage(
      'All states',
      [
        { type: 'table', name: 'Old', properties: { items: '{{queries.old.data}}' } },
        { type: 'table', name: 'Failed', properties: { items: '{{queries.broken.data}}' } },
        { type: 'table', name: 'Not allowed', properties: { items: '{{queries.live.data}}' } },
        { type: 'table', name: 'Empty table', properties: empty },
        { type: 'list', name: 'Empty list', properties: empty },
        { type: 'timeline', name: 'Empty timeline', properties: empty },
        { type: 'bar', name: 'Empty chart', properties: {}, ...bound },
        { type: 'scatter', name: 'Empty points', properties: {}, ...bound },
        { type: 'key-value', name: 'Empty values', properties: {}, ...bound },
        { type: 'stat', name: 'Empty figure', properties: { label: 'Sum', value: '{{queries.none.data | first}}' } },
        {
          ...{ type: 'button', name: 'Again', properties: { label: 'Read again' } },
          events: { onClick: [{ type: 'EXECUTE_QUERY', alias: 'old' }] },
        },
      ],
      { dataSources },
    );
    const part = (name: string) => page.getByRole('region', { name, exact: true });
    const data = /\/app-pages\/[^/]+\/data$/;
    await using routes = new AsyncDisposableStack();
    routes.defer(() => page.unrouteAll({ behavior: 'ignoreErrors' }));
    const gate = Promise.withResolvers<void>();
    await page.route(data, async (route) => {
      await gate.promise;
      await route.continue();
    });
    await go(path(`/pages/${id}`));
    await page.locator('section[aria-label="Old"][aria-busy="true"]').waitFor();
    await part('Not allowed').getByText('No listener sends events to this page').waitFor();
    await expectAccessible(page, { name: 'states-loading', shows: 'All states', schemes: ['light'] });
    gate.resolve();
    await part('Old').getByRole('cell', { name: '1' }).waitFor();
    await page.unroute(data);
    for (const name of ['table', 'list', 'timeline', 'chart', 'points', 'values'])
      await part(`Empty ${name}`)
        .getByText(/^No (data|rows)/)
        .waitFor();
    await part('Empty figure').getByText('–').waitFor();
    await part('Failed')
      .getByText(/division by zero/)
      .waitFor();
    await part('Not allowed').getByText('Not allowed', { exact: true }).last().waitFor();

    await page.route(data, (route) =>
      route.fulfill({ status: 503, json: { code: 'UNAVAILABLE', message: 'Too busy' } }),
    );
    await page.getByRole('button', { name: 'Read again' }).click();
    await part('Old').getByText('These are older data').waitFor();
    await part('Old').getByRole('cell', { name: '1' }).waitFor();
    await expectAccessible(page, { name: 'states', shows: 'All states' });
    await page.unroute(data);
    await part('Old').getByRole('button', { name: 'Try again' }).click();
    await part('Old').getByText('These are older data').waitFor({ state: 'detached' });
    forgetRefusals(stage(), 503);
    expect(faults).toEqual([]);
  });
}

/** Sections that reach out of the page, have no size, or are wider within than they are. */
const MISPLACED = `[...document.querySelectorAll('section.page-widget')].filter((one) => {
  const { left, right, width, height } = one.getBoundingClientRect();
  return left < 0 || right > innerWidth || width < 40 || height < 1 || one.scrollWidth > one.clientWidth + 1;
}).map((one) => one.ariaLabel)`;

/** A file of the tenant: addresses of widgets name no others. */
async function upload(url: string, { token }: { token: string }): Promise<string> {
  const body = new FormData();
  body.set('file', new File([PIXEL], 'pixel.png', { type: 'image/png' }));
  const response = await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body });
  expect(response.status).toBeLessThan(300);
  return ((await response.json()) as { url: string }).url;
}

const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
