import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { aMember, aWidget } from '#test/support/factories.ts';
import { expectAccessible, forgetRefusals, type Stage } from './stage.ts';

type Row = Record<string, unknown>;

/** The builder of pages and dashboards. */
export function builderTests(stage: () => Stage): void {
  const client = () => stage().cluster.as(stage().tenant.creator).in(stage().tenant);

  async function aPage(appPageTitle: string, appPageConfig: Row = {}): Promise<string> {
    const { body } = await client().post('T/app-pages', { appPageTitle, appPageConfig });
    return body.appPage.id;
  }

  async function storedPage(id: string) {
    const { body } = await client().get(`T/app-pages/${id}/content`);
    return body as { appPage: Row & { appPageConfig: Row; versionNumber: number }; widgets: Row[] };
  }

  const save = async (page: Page) => {
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
  };

  const add = async (page: Page, words: string, name: string) => {
    await page.getByRole('combobox', { name: 'Find a widget' }).fill(words);
    await page.getByRole('option', { name }).first().click();
  };

  const part = (page: Page, name: string) =>
    page.locator('.builder-part').and(page.getByRole('group', { name, exact: true }));

  /** The titles of widgets, by the rows, columns and boxes of the layout. */
  function shapeOf(node: Row, widgets: Row[]): unknown {
    if (node.type === 'widget') return widgets.find(({ widgetKey }) => widgetKey === node.widgetKey)?.widgetTitle;
    const children = Array.isArray(node.children) ? node.children : [];
    return { [String(node.type)]: children.map((child) => shapeOf(child, widgets)) };
  }

  async function shapeOfStored(id: string): Promise<unknown> {
    const { appPage, widgets } = await storedPage(id);
    return shapeOf(appPage.appPageConfig.layout as Row, widgets);
  }

  test('a page is built from empty by mouse: widgets are added, dragged beside one another and made wider, and viewers see them', async () => {
    const { page, go, path } = stage();
    const id = await aPage('Built by mouse');
    await go(path(`/pages/${id}/edit`));
    await page.getByText('This page is empty.').waitFor();
    await expectAccessible(page, { name: 'builder-empty', shows: 'This page is empty.' });
    await page.getByRole('button', { name: 'Add the first widget' }).click();
    await page.getByText('One number in large digits').waitFor();
    await expectAccessible(page, { name: 'builder-add', shows: 'One number in large digits' });
    // Found by a word of other tools.
    await add(page, 'kpi', 'Figure');
    await part(page, 'Figure').getByText('Open orders').waitFor();
    await page.getByRole('button', { name: 'Add a widget' }).click();
    await add(page, 'grid', 'Table');
    await part(page, 'Table').getByText('Grace').waitFor();
    // To the right edge of the figure: both stand in a row.
    const figure = await part(page, 'Figure').boundingBox();
    const table = await part(page, 'Table').boundingBox();
    if (!figure || !table) throw new Error('Parts have no boxes');
    await page.mouse.move(table.x + 60, table.y + 20);
    await page.mouse.down();
    await page.mouse.move(table.x + 70, table.y + 10, { steps: 4 });
    await page.mouse.move(figure.x + figure.width - 12, figure.y + figure.height / 2, { steps: 8 });
    await page.locator('.builder-line').waitFor();
    await page.mouse.up();
    await page.getByRole('treeitem', { name: 'Row' }).waitFor();
    await part(page, 'Figure').click();
    const edge = await page.getByRole('separator', { name: 'Width' }).boundingBox();
    const row = await part(page, 'Row').boundingBox();
    if (!edge || !row) throw new Error('The part has no edge');
    await page.mouse.move(edge.x + edge.width / 2, edge.y + edge.height / 2);
    await page.mouse.down();
    await page.mouse.move(row.x + row.width / 3, edge.y + edge.height / 2, { steps: 6 });
    await page.mouse.up();
    await expect.poll(() => page.getByRole('textbox', { name: 'Width in columns' }).first().inputValue()).toBe('4');
    await expectAccessible(page, { name: 'builder', shows: 'Grace' });
    await save(page);

    expect(await shapeOfStored(id)).toEqual({ column: [{ row: ['Figure', 'Table'] }] });
    // The new one is changed like any other widget now.
    await page.getByRole('complementary').getByRole('textbox', { name: 'Title' }).fill('Open');
    await save(page);
    expect(await shapeOfStored(id)).toEqual({ column: [{ row: ['Open', 'Table'] }] });
    const viewer = await aMember(stage().cluster, { tenant: stage().tenant, can: ['appPage.read', 'appPage.list'] });
    const seen = await stage().open(viewer, { at: `/pages/${id}` });
    await seen.getByText('Grace').waitFor();
    await seen.close();
  });

  test('the same page is built by keyboard alone: added, moved into and out of parts, made narrower, undone, saved', async () => {
    const { page, go, path } = stage();
    const id = await aPage('Built by keys');
    await go(path(`/pages/${id}/edit`));
    const tree = page.getByRole('tree', { name: 'Parts of the page' });
    await tree.getByRole('treeitem').first().focus();
    const keys = async (...pressed: string[]) => {
      for (const key of pressed) await page.keyboard.press(key);
    };
    const addByKeys = async (words: string, name: string) => {
      await keys('a');
      await page.locator('[role="combobox"]:focus').waitFor();
      await page.keyboard.type(words);
      await page.getByRole('option', { name, selected: true }).waitFor();
      await keys('Enter');
      await tree.getByRole('treeitem', { name, selected: true }).waitFor();
      await tree.getByRole('treeitem', { name, selected: true }).focus();
    };
    await addByKeys('number', 'Figure');
    await addByKeys('side by side', 'Row');
    // Into the row, since that is chosen.
    await addByKeys('click', 'Button');
    await keys('ArrowUp', 'ArrowUp');
    await tree.getByRole('treeitem', { name: 'Figure', selected: true }).waitFor();
    // Into the row below it, and narrower than its half.
    await keys('Alt+ArrowRight', 'Alt+Shift+ArrowLeft', 'Alt+Shift+ArrowLeft');
    await expect.poll(() => page.getByRole('textbox', { name: 'Width in columns' }).first().inputValue()).toBe('4');
    await keys('Alt+ArrowDown', 'Alt+ArrowLeft', 'Control+z', 'Control+d');
    await page.getByText('The part is duplicated.').waitFor();
    await keys('Delete');
    await page.getByText('The part is removed. Undo brings them back.').waitFor();
    await keys('Control+s');
    await page.getByText('Saved', { exact: true }).waitFor();

    expect(await shapeOfStored(id)).toEqual({ column: [{ row: ['Button', 'Figure'] }] });
  });

  test('a page that was made over the API keeps all that the builder does not know: only the title that was changed differs', async () => {
    const { page, go, path, cluster, tenant } = stage();
    const config = {
      ...{
        properties: { content: 'Hello', shade: 'mine' },
        events: { onLoad: [{ type: 'LATER' }] },
        later: { a: [1] },
      },
    };
    const { id: widgetID } = await aWidget(cluster, { tenant, type: 'text', config: config as never });
    const { id: otherID } = await aWidget(cluster, { tenant, type: 'gantt', config: { lanes: [1, 2] } as never });
    const [one, other] = [`widget_${widgetID}_hello`, `widget_${otherID}_2`];
    const given = {
      ...{ layoutVersion: 7, theme: { later: true }, widgets: [one, other, 'not a key'] },
      layout: {
        type: 'column',
        padding: '4 8',
        children: [
          { type: 'row', id: 'twice', children: [{ type: 'widget', widgetKey: one, span: 4, later: 1 }, 'no node'] },
          { type: 'carousel', id: 'twice', children: [{ type: 'widget', widgetKey: other }] },
        ],
      },
      variables: [{ key: 'day', type: 'string', defaultValue: '1', later: [] }],
      dataSources: [],
    };
    const id = await aPage('From the API', given);
    const before = await storedPage(id);
    await go(path(`/pages/${id}/edit`));
    await part(page, 'A widget').first().click();
    await page.getByRole('textbox', { name: 'Title', exact: true }).first().fill('Seen in the builder');
    await save(page);
    const after = await storedPage(id);

    expect(after.appPage.appPageConfig).toEqual(before.appPage.appPageConfig);
    expect(after.appPage.appPageTitle).toBe('Seen in the builder');
    expect(after.widgets).toEqual(before.widgets);
    await page.getByRole('treeitem', { name: 'A widget' }).first().click();
    await page.getByRole('complementary').getByRole('textbox', { name: 'Title' }).fill('Greeting');
    await save(page);
    const last = await storedPage(id);
    expect(last.appPage.versionNumber).toBe(after.appPage.versionNumber);
    expect(last.widgets).toEqual(
      before.widgets.map((widget) =>
        widget.widgetKey === one ? { ...widget, widgetTitle: 'Greeting', versionNumber: 2 } : widget,
      ),
    );
  });

  test('a change that another person has saved meanwhile is told: it is shown, and merged where the fields differ', async () => {
    const { page, go, path, cluster, tenant } = stage();
    const { id: widgetID } = await aWidget(cluster, { tenant, type: 'text', config: { properties: { content: 'A' } } });
    const key = `widget_${widgetID}_a`;
    const id = await aPage('Both', { widgets: [key], variables: [{ key: 'day', defaultValue: '1' }] });
    await go(path(`/pages/${id}/edit`));
    await part(page, 'A widget').waitFor();
    const { versionNumber } = (await storedPage(id)).appPage;
    await client().patch(`T/app-pages/${id}`, {
      appPageDescription: 'Theirs',
      appPageConfig: { widgets: [key], variables: [{ key: 'day', defaultValue: '2' }] },
    });
    await page.getByRole('textbox', { name: 'Title', exact: true }).first().fill('Mine');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Changed meanwhile').waitFor();
    expect((await storedPage(id)).appPage.versionNumber).toBe(versionNumber + 1);
    await page.getByRole('button', { name: 'Show what they changed' }).click();
    await page.getByRole('list', { name: 'What they have changed' }).getByText('Variables').waitFor();
    await expectAccessible(page, { name: 'builder-conflict', shows: 'Changed meanwhile' });
    await page.getByRole('button', { name: 'Merge theirs into mine' }).click();
    await save(page);
    const { appPage } = await storedPage(id);

    expect([appPage.appPageTitle, appPage.appPageDescription]).toEqual(['Mine', 'Theirs']);
    expect(appPage.appPageConfig.variables).toEqual([{ key: 'day', defaultValue: '2' }]);
    forgetRefusals(stage(), 412);
  });

  test('a dashboard is built: widgets are added and dragged in its grid, and stand where viewers see them', async () => {
    const { page, go, path } = stage();
    await go(path('/pages?kind=dashboards'));
    await page.getByRole('button', { name: 'New dashboard' }).click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Title' }).fill('Day');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    await page.getByText('This dashboard is empty.').waitFor();
    const id = new URL(page.url()).pathname.split('/').at(-2) ?? '';
    for (const [words, name] of [
      ['total', 'Figure'],
      ['column', 'Bar chart'],
    ] as const) {
      await page.getByRole('button', { name: 'Add a widget' }).click();
      await add(page, words, name);
      await part(page, name).waitFor();
    }
    const figure = await part(page, 'Figure').boundingBox();
    const chart = await part(page, 'Bar chart').boundingBox();
    if (!figure || !chart) throw new Error('Parts have no boxes');
    // Beside the figure, and by keys one column further and one row higher.
    await page.mouse.move(chart.x + 30, chart.y + 12);
    await page.mouse.down();
    await page.mouse.move(chart.x + 30 + figure.width + 16, figure.y + 12, { steps: 10 });
    await page.mouse.up();
    await part(page, 'Bar chart').click();
    await page.keyboard.press('Alt+ArrowRight');
    await page.keyboard.press('Alt+Shift+ArrowDown');
    await expectAccessible(page, { name: 'builder-dashboard', shows: 'Dashboard' });
    await save(page);
    const { body } = await client().get(`T/dashboards/${id}`);
    const { lg } = body.dashboard.dashboardConfig.layouts;

    expect(lg.map(({ x, y, w, h }: Row) => [x, y, w, h])).toEqual([
      [0, 0, 4, 4],
      [5, 0, 4, 5],
    ]);
  });

  test('a page of 200 widgets opens, and a change of one of them draws no other anew', async () => {
    const { page, go, path, cluster, tenant } = stage();
    const ids = await Promise.all(
      Array.from({ length: 200 }, async (_, at) => {
        const config = { properties: { label: `Figure ${at}`, value: at } } as never;
        return (await aWidget(cluster, { tenant, type: 'stat', config })).id;
      }),
    );
    const keys = ids.map((one, at) => `widget_${one}_w${at}`);
    const rows = Array.from({ length: 50 }, (_, row) => ({
      ...{ id: `row${row}`, type: 'row' },
      children: keys.slice(row * 4, row * 4 + 4).map((widgetKey) => ({ id: widgetKey, type: 'widget', widgetKey })),
    }));
    const id = await aPage('Large', { widgets: keys, layout: { id: 'root', type: 'column', children: rows } });
    await go(path(`/pages/${id}/edit`));
    await page.getByText('Figure 199').waitFor();
    await page.evaluate(`(() => {
      globalThis.drawn = 0;
      const seen = new MutationObserver((all) => { globalThis.drawn += all.length; });
      for (const one of document.querySelectorAll('.page-widget')) seen.observe(one, { childList: true, characterData: true, subtree: true });
    })()`);
    await page.locator(`[data-row="${keys[0]}"]`).click();
    await page.keyboard.press('Alt+ArrowDown');
    await page.getByText('“A widget” is moved down.').waitFor();
    expect(await page.evaluate('globalThis.drawn')).toBe(0);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
  });
}
