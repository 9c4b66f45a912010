import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { aDataQuery, aMember, aWorkflow } from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { expectAccessible, type Stage } from './stage.ts';

type Row = Record<string, unknown>;

/** Panels of the builder of pages. */
export function builderPanelTests(stage: () => Stage): void {
  async function aPage(title: string, widgets: [suffix: string, type: string, config: Row][], more: Row = {}) {
    const { cluster, tenant } = stage();
    const client = cluster.as(tenant.creator).in(tenant);
    const keys = await Promise.all(
      widgets.map(async ([suffix, widgetType, widgetConfig]) => {
        const { body } = await client.post('T/widgets', { widgetTitle: `The ${suffix}`, widgetType, widgetConfig });
        return `widget_${body.widget.widgetID}_${suffix}`;
      }),
    );
    const children = keys.map((widgetKey) => ({ id: widgetKey, type: 'widget', widgetKey }));
    const { body } = await client.post('T/app-pages', {
      appPageTitle: title,
      appPageConfig: {
        ...{ layoutVersion: 2, layout: { id: 'root', type: 'column', children }, widgets: keys },
        ...more,
      },
    });
    const id = body.appPage.id as string;
    const stored = async () => {
      const { body: read } = await client.get(`T/app-pages/${id}/content`);
      const configs = (read.widgets as { widgetKey: string; widgetConfig: Row }[]).map(
        ({ widgetKey, widgetConfig }) => [widgetKey.split('_').at(-1) ?? '', widgetConfig] as const,
      );
      return { page: read.appPage.appPageConfig as Row, widgets: Object.fromEntries(configs) };
    };
    return { id, client, stored };
  }

  const aQuery = (title: string) =>
    aDataQuery(stage().cluster, {
      ...{ tenant: stage().tenant, title },
      query: {
        query: 'select n as id, {{inputs.day}}::text as day from generate_series(1, 7) n',
        inputDefinitions: [{ key: 'day', type: 'string', title: 'Day', required: true }],
      },
    });

  /** Chooses a widget, or nothing. */
  async function choose(page: Page, title: string | undefined): Promise<Locator> {
    const side = page.getByRole('complementary', { name: 'Parts and settings' });
    if (title === undefined) await side.getByRole('tab', { name: 'Page and data' }).click();
    else await side.getByRole('treeitem', { name: title }).click();
    return side;
  }

  async function save(page: Page) {
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('status').getByText('Saved', { exact: true }).waitFor();
  }

  test('rows of a query are chosen for a table: it is added to the page with an expression for its input, which is completed and shows its value', async () => {
    const { page, go, path } = stage();
    const query = await aQuery('Orders of a day');
    const { id, stored } = await aPage('Rows', [['table', 'table', { properties: { note: 'kept' } }]], {
      variables: [{ key: 'day', defaultValue: '2026-03-02' }],
    });
    await go(path(`/pages/${id}/edit`));
    const side = await choose(page, 'The table');
    await side.getByRole('combobox', { name: 'Rows', exact: true }).click();
    await page.getByRole('option', { name: 'Add a query to the page …' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add a query to the page' });
    await dialog.getByPlaceholder('Choose a query').fill('Orders of a day');
    await page.getByRole('option', { name: 'Orders of a day' }).first().click();
    expect(await dialog.getByLabel('Name on this page').inputValue()).toBe('ordersOfADay');
    await dialog.getByLabel('Name on this page').fill('orders');
    const input = dialog.getByRole('group', { name: 'Inputs' });
    await input.getByText('Expression', { exact: true }).click();
    await input.getByRole('textbox', { name: 'Day' }).pressSequentially('{{vari');
    await page.getByRole('option', { name: 'variables.day' }).waitFor();
    await page.keyboard.press('Enter');
    await input.getByText('= "2026-03-02"').waitFor();
    await dialog.getByRole('button', { name: 'Add to the page' }).click();
    const shown = page.getByRole('region', { name: 'The page' });
    await shown.getByText('2026-03-02').first().waitFor();

    await side.getByRole('button', { name: 'Take the columns of the data' }).click();
    await side.getByRole('group', { name: 'Columns, 2' }).waitFor();
    await expectAccessible(page, { name: 'builder-properties', shows: 'Take the columns of the data' });

    // A name that is not there is told while it is typed, before anything is saved.
    await side.getByRole('textbox', { name: 'Rows in all' }).fill('{{queries.order.rowCount}}');
    await side.getByText('there is no').or(side.getByText('Did you mean')).first().waitFor();
    expect(await side.locator('.value-fault').textContent()).toBe('{{queries.order.rowCount}}');
    await side.getByRole('textbox', { name: 'Rows in all' }).fill('{{queries.orders.data.length + 1}}');
    await side.getByText('= 8').waitFor();
    await side
      .getByRole('group', { name: 'How Hidden is given' })
      .or(side.getByRole('radiogroup', { name: 'How Hidden is given' }))
      .getByText('Expression')
      .click();
    await side.getByRole('textbox', { name: 'Hidden' }).fill('{{variables.day | equals: "never"}}');
    await side.getByText('= false').waitFor();
    await save(page);
    expect(await stored()).toMatchObject({
      page: {
        dataSources: [
          {
            alias: 'orders',
            type: 'query',
            queryID: query.id,
            triggerMode: 'reactive',
            inputValues: { day: '{{variables.day}}' },
          },
        ],
      },
      widgets: {
        table: {
          properties: {
            note: 'kept',
            items: '{{queries.orders.data}}',
            total: '{{queries.orders.data.length + 1}}',
            isHidden: '{{variables.day | equals: "never"}}',
            columns: [
              { key: 'id', label: 'ID' },
              { key: 'day', label: 'Day' },
            ],
          },
        },
      },
    });
  });

  test('data are run, renamed with all that names them, and said who uses them; variables too', async () => {
    const { page, go, path } = stage();
    const query = await aQuery('Orders to rename');
    const { id, stored } = await aPage(
      'Names',
      [
        ['table', 'table', { properties: { items: '{{queries.orders.data}}' } }],
        ['again', 'button', { properties: {}, events: { onClick: [{ type: 'EXECUTE_QUERY', alias: 'orders' }] } }],
      ],
      {
        variables: [{ key: 'day', defaultValue: '2026-03-02' }],
        dataSources: [
          { alias: 'orders', type: 'query', queryID: query.id, inputValues: { day: '{{variables.day}}' }, more: 1 },
        ],
      },
    );
    await go(path(`/pages/${id}/edit`));
    const side = await choose(page, undefined);
    const orders = side.locator('details', { hasText: 'Orders to rename' });
    await orders.locator('summary').click();
    await orders.getByText('7 rows on the page now').waitFor();
    await orders.getByText(/Used by The table, The again/).waitFor();
    await orders.getByRole('button', { name: 'Run it now' }).click();
    await orders.getByRole('region', { name: 'Rows of the answer' }).getByText('2026-03-02').first().waitFor();
    await orders.getByLabel('Name on this page').fill('day orders');
    await orders.getByLabel('Name on this page').press('Enter');
    await side.locator('summary', { hasText: 'day orders' }).waitFor();
    await orders.getByRole('combobox', { name: 'It is read' }).click();
    await page.getByRole('option', { name: 'At opening, and when an input changes' }).click();
    await orders.getByRole('textbox', { name: 'And again every' }).fill('30');
    await expectAccessible(page, { name: 'builder-data', shows: 'Take it off the page' });

    await side.getByRole('tab', { name: 'Variables' }).click();
    const variable = side.locator('details', { hasText: 'day' });
    await variable.locator('summary').click();
    await variable.getByText('the data day orders').waitFor();
    await variable.getByRole('textbox', { name: 'Name' }).fill('shown');
    await variable.getByRole('textbox', { name: 'Name' }).press('Enter');
    await side.getByRole('button', { name: 'Add a variable' }).click();
    await expectAccessible(page, { name: 'builder-variables', shows: 'Add a variable', schemes: ['light'] });
    await save(page);
    expect(await stored()).toMatchObject({
      page: {
        variables: [
          { key: 'shown', defaultValue: '2026-03-02' },
          { key: 'variable', type: 'string' },
        ],
        dataSources: [
          {
            ...{ alias: 'day orders', inputValues: { day: '{{variables.shown}}' }, more: 1 },
            ...{ triggerMode: 'reactive', refetchInterval: 30_000 },
          },
        ],
      },
      widgets: {
        table: { properties: { items: '{{queries["day orders"].data}}' } },
        again: { events: { onClick: [{ type: 'EXECUTE_QUERY', alias: 'day orders' }] } },
      },
    });
  });

  test('an event does its actions in the order in which they are put: a workflow is added to the page, with what the event knows', async () => {
    const { cluster, tenant, page, go, path } = stage();
    const workflow = await aWorkflow(cluster, {
      ...{ tenant, title: 'Refund an order' },
      ...graph({ start: { type: 'start' }, end: { type: 'end' } }, ['start>end']),
      options: { inputDefinitions: [{ key: 'order', type: 'string', title: 'Order' }] },
    } as never);
    const query = await aQuery('Orders to follow');
    const { id, stored } = await aPage(
      'Events',
      [
        ['list', 'list', { properties: {}, events: { onItemClick: [{ type: 'LATER', x: 1 }], other: 'kept' } }],
        ['table', 'table', { properties: { items: '{{[{ order: 7, state: "open" }]}}', isSelectable: true } }],
        ['figure', 'stat', { properties: { value: '12' } }],
      ],
      { dataSources: [{ alias: 'orders', type: 'query', queryID: query.id, inputValues: { day: 'x' } }] },
    );
    await go(path(`/pages/${id}/edit`));
    const side = await choose(page, 'The list');
    await side.getByRole('tab', { name: /Events/ }).click();
    const event = side.getByRole('region', { name: 'When an entry is clicked' });
    await event.getByText('An action that the console does not know: LATER').waitFor();
    const add = async (name: RegExp) => {
      await event.getByRole('button', { name: 'Add an action' }).click();
      await page.getByRole('menuitem', { name }).click();
    };
    await add(/^Start a workflow/);
    await event.getByPlaceholder('Choose a workflow').fill('Refund an order');
    await page.getByRole('option', { name: 'Refund an order' }).first().click();
    // The data of the page are read again once the run has ended, unless a person takes that away.
    await event.getByText('When it has ended, read again').waitFor();
    const inputs = event.getByRole('group', { name: 'Inputs of this action' });
    await event.getByRole('button', { name: 'Take them from the chosen row of The table' }).click();
    const order = inputs.getByRole('textbox', { name: 'Order' });
    await expect.poll(() => order.inputValue()).toBe('{{widgets.table.selectedRow.order}}');
    await inputs.getByText('It has a value once a row is chosen.').waitFor();
    await inputs.getByRole('button', { name: 'Insert a value into Order' }).click();
    await page.getByRole('treeitem', { name: 'Chosen row of The table' }).waitFor();
    await expectAccessible(page, { name: 'builder-chosen-row', shows: 'Chosen row of The table', schemes: ['light'] });
    await page.keyboard.press('Escape');
    await order.fill('{{event.item.id}}');
    await inputs.getByText('It is computed when the event happens.').waitFor();
    await add(/^Ask before going on/);
    await event.getByRole('textbox', { name: 'Question' }).fill('Refund {{event.item.id}}?');
    await event.getByRole('button', { name: 'Earlier' }).last().click();
    await expectAccessible(page, { name: 'builder-events', shows: 'When an entry is clicked' });
    // A chosen value comes in the place of the example that the figure began with.
    await choose(page, 'The figure');
    await side.getByRole('button', { name: 'Insert a value into Value' }).click();
    await page.getByRole('textbox', { name: 'Find a value' }).fill('orders.rowCount');
    await page.getByRole('treeitem', { name: 'queries.orders.rowCount' }).click();
    await expect
      .poll(() => side.getByRole('textbox', { name: 'Value', exact: true }).inputValue())
      .toBe('{{queries.orders.rowCount}}');
    await save(page);
    const { page: saved, widgets } = await stored();
    expect(saved.dataSources).toEqual([
      {
        ...{ alias: 'orders', type: 'query', queryID: query.id, inputValues: { day: 'x' } },
        refreshOn: ['workflows.refundAnOrder.status'],
      },
      { alias: 'refundAnOrder', type: 'workflow', workflowID: workflow.id },
    ]);
    expect(widgets.list?.events).toEqual({
      onItemClick: [
        { type: 'LATER', x: 1 },
        { type: 'CONFIRM', message: 'Refund {{event.item.id}}?' },
        { type: 'TRIGGER_WORKFLOW', alias: 'refundAnOrder', inputValues: { order: '{{event.item.id}}' } },
      ],
      other: 'kept',
    });
  });

  test('a page is shared with a role, whose member then opens it; what a role would be refused is said, and versions are told apart and gone back to', async () => {
    const { cluster, tenant, page, path } = stage();
    const query = await aQuery('Not of the page');
    const { id, client, stored } = await aPage('To share', [
      ['button', 'button', { properties: {}, events: { onClick: [{ type: 'TRIGGER_QUERY', queryID: query.id }] } }],
    ]);
    const roleName = `Desk ${id.slice(-6)}`;
    const { body: made } = await client.post('T/roles', { roleName, rolePermissions: ['workflow.read'] });
    const member = await aMember(cluster, { tenant });
    const { body: found } = await client.get(`T/users?search=${encodeURIComponent(member.email)}`);
    await client.patch(`T/users/${found.users[0].tenantUserID}/roles`, { roleIDs: [made.role.roleID] });
    const opened = () => cluster.as(member).in(tenant).get(`T/app-pages/${id}/content`);
    expect((await opened()).status).toBe(403);
    await client.patch(`T/app-pages/${id}`, {
      appPageTitle: 'Shared',
      appPageConfig: { ...(await stored()).page, variables: [{ key: 'late' }] },
    });

    const { body: folder } = await client.post('T/folders', { entityType: 'appPage', folderTitle: `Desks ${id}` });

    // Loaded anew: a folder that another made is known only when the list of before is a minute old.
    await page.goto(`${cluster.baseURL}${path(`/pages/${id}/edit`)}`);
    const side = await choose(page, undefined);
    await side.getByRole('tab', { name: 'Page', exact: true }).click();
    await side.getByRole('combobox', { name: 'Folder' }).click();
    await page.getByRole('option', { name: `Desks ${id}` }).click();
    await expect.poll(async () => (await client.get(`T/app-pages/${id}`)).body.appPage.folderID).toBe(folder.folder.id);
    await side.getByText('will need no right but to this page').waitFor();
    await side.getByText('to run the query “Not of the page”').waitFor();
    await side.getByRole('combobox', { name: 'Share with' }).click();
    await page.getByRole('option', { name: roleName }).click();
    await side.getByRole('button', { name: 'Share', exact: true }).click();
    await side.getByRole('button', { name: `Stop sharing with ${roleName}` }).waitFor();
    await expectAccessible(page, { name: 'builder-page', shows: 'What viewers can do' });
    expect((await opened()).status).toBe(200);
    await side.getByRole('button', { name: `Stop sharing with ${roleName}` }).click();
    await side.getByRole('button', { name: `Stop sharing with ${roleName}` }).waitFor({ state: 'detached' });

    await side.getByRole('tab', { name: 'Versions' }).click();
    const versions = side.getByRole('list', { name: 'Versions, newest first' });
    await versions.getByRole('button', { name: 'What changed' }).first().click();
    await side.getByRole('region', { name: 'Variable late' }).getByText('added').waitFor();
    await expectAccessible(page, { name: 'builder-versions', shows: 'Variable', schemes: ['light'] });
    await versions.getByRole('button', { name: 'Go back to it' }).click();
    // The builder begins anew with what was restored.
    await expect.poll(() => page.getByRole('textbox', { name: 'Title' }).first().inputValue()).toBe('To share');
    expect((await stored()).page.variables).toBeUndefined();
    await side.getByRole('tab', { name: 'Versions' }).click();
    await versions.getByText('Version 1 restored').waitFor();
  });

  test('an uploaded image is chosen for a widget, a widget of the library is inserted as a copy, and the preview says what a role may not do', async () => {
    const { tenant, page, go, path } = stage();
    const query = await aQuery('Beside the page');
    const { id, client, stored } = await aPage('Library', [
      ['logo', 'image', { properties: { alt: 'Logo' } }],
      ['button', 'button', { properties: {}, events: { onClick: [{ type: 'TRIGGER_QUERY', queryID: query.id }] } }],
    ]);
    const payload = {
      widgetTitle: 'Traffic light',
      widgetType: 'badge',
      widgetConfig: { properties: { label: 'Go' } },
    };
    const published = await client.post('T/widget-library', {
      bundle: { bundleVersion: 1, items: [{ type: 'widget', id: crypto.randomUUID(), payload }] },
    });
    expect(published.status).toBe(201);
    await go(path(`/pages/${id}/edit`));
    const side = await choose(page, 'The logo');
    await side.getByRole('button', { name: 'Choose or upload an image' }).click();
    const dialog = page.getByRole('dialog', { name: 'Choose an image' });
    await dialog.getByText('None was uploaded yet.').waitFor();
    const png = Buffer.from(PIXEL, 'base64');
    await dialog.locator('input[type=file]').setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: png });
    await dialog.waitFor({ state: 'detached' });
    await side.getByRole('button', { name: 'Choose or upload an image' }).click();
    await dialog
      .getByRole('button', { name: /logo\.png/ })
      .locator('img')
      .waitFor();
    await expectAccessible(page, { name: 'builder-files', shows: 'logo.png', schemes: ['light'] });
    await dialog.getByRole('button', { name: /logo\.png/ }).click();
    await dialog.waitFor({ state: 'detached' });

    await page.getByRole('button', { name: /^Add/ }).first().click();
    await page
      .getByRole('button', { name: 'One that is there already, of this tenant or of the widget library' })
      .click();
    const library = page.getByRole('dialog', { name: 'Insert a widget that is there already' });
    await library.getByRole('button', { name: 'Choose Traffic light' }).click();
    await library.getByText('All that it needs is here.').waitFor();
    await library.getByRole('button', { name: 'Insert a copy' }).click();
    await library.waitFor({ state: 'detached' });
    await side.getByRole('treeitem', { name: 'Traffic light' }).waitFor();
    await save(page);
    const { page: saved, widgets } = await stored();
    expect(widgets.logo?.properties).toMatchObject({
      src: expect.stringContaining(`/api/v1/tenants/${tenant.id}/widgets/files?path=`),
    });
    expect(saved.widgets).toHaveLength(3);
    expect(Object.values(widgets)).toContainEqual(payload.widgetConfig);

    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByText('Not allowed to such a member: to run the query “Beside the page”').waitFor();
    await expectAccessible(page, { name: 'builder-as-role', shows: 'Not allowed to such a member' });
  });
}

/** A picture of one pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
