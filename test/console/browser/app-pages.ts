import { expect, test } from 'vitest';
import { aDataQuery, aMember, aWidget, aWorkflow, chain } from '#test/support/factories.ts';
import { expectAccessible, forgetRefusals, HOSTILE, type Stage } from './stage.ts';

type Row = Record<string, unknown>;

/** App pages and dashboards, as their viewers see them. */
export function appPageTests(stage: () => Stage): void {
  /** A page with widgets by their types and properties, in rows. */
  async function aPage(
    title: string,
    given: { rows: [suffix: string, type: string, properties: Row, events?: Row][][]; more?: Row },
  ) {
    const { cluster, tenant } = stage();
    const rows = await Promise.all(
      given.rows.map((row) =>
        Promise.all(
          row.map(async ([suffix, type, properties, events = {}]) => {
            const { id } = await aWidget(cluster, { tenant, type, config: { properties, events } as never });
            return `widget_${id}_${suffix}`;
          }),
        ),
      ),
    );
    const children = rows.map((keys, at) => ({
      ...{ id: `row${at}`, type: 'row' },
      children: keys.map((widgetKey) => ({ id: widgetKey, type: 'widget', widgetKey })),
    }));
    const client = cluster.as(tenant.creator).in(tenant);
    const { body } = await client.post('T/app-pages', {
      appPageTitle: title,
      appPageConfig: {
        layoutVersion: 2,
        layout: { id: 'root', type: 'column', children },
        widgets: rows.flat(),
        ...given.more,
      },
    });
    return { id: body.appPage.id as string, keys: rows.flat(), client };
  }

  test('a viewer without any other right opens a page: its widgets show data, and what fails, is hostile or is old is told at its place', async () => {
    const { cluster, tenant, open, faults } = stage();
    const orders = await aDataQuery(cluster, {
      tenant,
      title: 'Orders',
      query: {
        query: `select n as id, case when n % 3 = 0 then 'paid' else 'open' end as state, n * 2.5 as total, '${HOSTILE.replaceAll("'", "''")}' as note, '2026-03-02T10:00:00Z' as at, 'javascript:alert(1)' as link from generate_series(1, {{inputs.count}}::int) n`,
        inputDefinitions: [{ key: 'count', type: 'number' }],
      },
    });
    const broken = await aDataQuery(cluster, { tenant, query: 'select 1 / 0' });
    const { id, keys } = await aPage('Order desk', {
      rows: [
        [
          [
            'head',
            'text',
            {
              content: '# Orders of {{viewer.email}}\n\n<img src=x onerror="throw 1"> [a link](javascript:alert(1))',
              format: 'markdown',
            },
          ],
        ],
        [
          [
            'open',
            'stat',
            { label: 'Open orders', value: '{{queries.orders.data | where: "state", "open" | count}}', unit: 'orders' },
          ],
          [
            'sum',
            'stat',
            { label: 'Total', value: '{{queries.orders.data | sum: "total"}}', precision: 2, previousValue: 100 },
          ],
          ['by', 'stat', { label: 'By code', value: '{{queries.orders.data.filter((row) => row.id > 40).length}}' }],
          [
            'share',
            'progress',
            { label: 'Paid', value: '{{queries.orders.data | where: "state", "paid" | count}}', max: 45 },
          ],
        ],
        [
          [
            'orders',
            'table',
            {
              items: '{{queries.orders.data}}',
              pageSize: 10,
              isSearchable: true,
              isSelectable: true,
              columns: [
                { key: 'id', label: 'Number', type: 'number' },
                { key: 'state', label: 'State', type: 'badge' },
                { key: 'total', label: 'Total', type: 'number' },
                { key: 'at', label: 'Ordered', type: 'date' },
                { key: 'note', label: 'Note' },
                { key: 'link', label: 'Link', type: 'link' },
              ],
            },
          ],
        ],
        [
          ['chosen', 'key-value', { values: '{{widgets.orders.selectedRow}}' }],
          ['json', 'json-viewer', { value: '{{queries.orders.data | limit: 2}}', depth: 3 }],
          ['list', 'list', { items: '{{queries.orders.data | limit: 3}}', primaryKey: 'state', secondaryKey: 'note' }],
        ],
        [
          ['alert', 'alert', { title: 'Note', message: 'Closes at six', variant: 'warning', isDismissible: true }],
          ['badge', 'badge', { label: HOSTILE, variant: 'success' }],
          ['code', 'code-block', { code: 'select 1;\n-- <script>', showLineNumbers: true }],
        ],
        [['line', 'divider', { label: 'Below' }]],
        [
          ['failed', 'table', { items: '{{queries.broken.data}}' }],
          ['typo', 'text', { content: 'Day {{variables.dya}}, {{(() => { for (;;); })()}}' }],
          ['other', 'gantt', { rows: [1] }],
        ],
      ],
      more: {
        dataSources: [
          { alias: 'orders', type: 'query', queryID: orders.id, inputValues: { count: 45 }, triggerMode: 'auto' },
          { alias: 'broken', type: 'query', queryID: broken.id },
        ],
      },
    });
    const viewer = await aMember(cluster, { tenant, can: ['appPage.read', 'appPage.list'] });
    const page = await open(viewer);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
    await page.getByRole('link', { name: 'Pages' }).click();
    // A second try has made a second page.
    await page.locator(`a[href$="${id}"]`, { hasText: 'Order desk' }).click();
    const part = (name: string) =>
      page.locator('section.page-widget').nth(keys.findIndex((key) => key.endsWith(`_${name}`)));
    await part('orders').getByText('Page 1 of 5, 45 rows').waitFor();
    // All data by one request.
    expect(asked.filter((path) => path.endsWith('/data'))).toEqual([
      `POST /api/v1/tenants/${tenant.id}/app-pages/${id}/data`,
    ]);
    expect(asked.filter((path) => /\/api\/.*\/(?:widgets|queries)/.test(path))).toEqual([]);
    await part('open').getByText('30').waitFor();
    await part('sum').getByText('2,587.50').waitFor();
    await part('by').getByText('5', { exact: true }).waitFor();
    expect(await part('share').getByRole('progressbar').getAttribute('aria-valuenow')).toBe('33');
    await part('head').getByText(`Orders of ${viewer.email}`).waitFor();

    // Search, order, pages and selection.
    const table = part('orders');
    await table.getByRole('button', { name: 'Next' }).click();
    await table.getByText('Page 2 of 5').waitFor();
    await table.getByRole('button', { name: 'Number' }).click();
    await table.getByRole('button', { name: 'Number' }).click();
    await table.getByRole('button', { name: 'Back' }).click();
    await table.getByRole('checkbox', { name: 'Choose 45' }).check();
    await part('chosen').getByText('112.5').waitFor();
    await table.getByRole('textbox', { name: 'Search A widget' }).fill('paid');
    await table.getByText('Page 1 of 2, 15 rows').waitFor();

    await part('failed')
      .getByText(/division by zero/)
      .waitFor();
    await part('typo').getByText('there is no variable “dya” on this page').waitFor();
    await part('typo').getByText('took longer than 100 ms').waitFor();
    await part('other').getByText('"rows"').waitFor();
    expect(await page.locator('img[src="x"], a[href^="javascript"]').count()).toBe(0);
    await expectAccessible(page, { name: 'app-page', shows: 'Closes at six' });
    await part('alert').getByRole('button', { name: 'Close' }).click();
    await page.getByText('Closes at six').waitFor({ state: 'detached' });
    expect(faults).toEqual([]);
    await page.close();
  });
}
