/** Pages that are made from what a tenant has, by the wizard. */
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { aDataQuery, aMember, aWorkflow } from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { expectAccessible, forgetRefusals, type Stage } from './stage.ts';

export function madePageTests(stage: () => Stage): void {
  /** The id of the page that was made, which its builder shows. */
  const opened = async () => {
    await stage().page.waitForURL(/\/pages\/[\da-f-]+\/edit/);
    return /pages\/([\da-f-]+)/.exec(stage().page.url())?.[1] ?? '';
  };

  test('a page is made from a table: its rows are found, shown, changed, added and deleted by a member who may read pages alone', async () => {
    const { cluster, tenant, page, go, path, open, faults } = stage();
    const client = cluster.as(tenant.creator).in(tenant);
    await client.post('T/database/execute-raw-sql', {
      sql: `drop table if exists shop_orders;
        create table shop_orders (id bigint generated always as identity primary key, customer text not null, state text not null default 'open',
          total numeric(10,2) not null default 0, is_paid boolean not null default false, ordered_on date not null default current_date, note text);
        insert into shop_orders (customer, state, total) select 'Customer ' || n, case when n % 3 = 0 then 'sent' else 'open' end, n from generate_series(1, 45) n`,
    });
    await page.setViewportSize({ width: 1280, height: 800 });
    await go(path('/database?schema=public&table=shop_orders'));
    await page.getByRole('button', { name: 'Make a page' }).click();
    const dialog = page.getByRole('dialog', { name: 'New page: from a table' });
    await dialog.getByRole('checkbox', { name: 'Delete rows' }).waitFor();
    await expectAccessible(page, { name: 'made-from-table', shows: 'What people may do on the page' });
    await pictureForGuide(page, 'first-page-wizard');
    await dialog.getByRole('button', { name: 'Create the page' }).click();
    const appPageID = await opened();
    await page.getByText('Customer 1', { exact: true }).waitFor();
    await pictureForGuide(page, 'first-page-builder');

    const viewer = await aMember(cluster, { tenant, can: ['appPage.read', 'appPage.list'] });
    const theirs = await open(viewer, { at: `/pages/${appPageID}` });
    const list = theirs.getByRole('region', { name: 'Shop orders', exact: true });
    await list.getByText('Page 1 of 3, 45 rows').waitFor();
    await list.getByRole('button', { name: 'Next' }).click();
    await list.getByText('Customer 21', { exact: true }).waitFor();
    await list.getByRole('button', { name: 'Next' }).click();
    await list.getByText('Page 3 of 3').waitFor();
    // A filter that leaves fewer pages shows the last of them.
    await theirs.getByRole('combobox', { name: 'State' }).click();
    await theirs.getByRole('option', { name: 'sent' }).click();
    await list.getByText('Customer 45', { exact: true }).waitFor();
    await list.getByRole('button', { name: 'Total' }).click();
    await list.getByRole('button', { name: 'Total' }).click();
    await list.getByRole('row').nth(1).getByText('Customer 45', { exact: true }).waitFor();
    await list.getByRole('textbox', { name: 'Search' }).fill('mer 33');
    await list.getByRole('checkbox', { name: 'Choose 33' }).check();
    const row = theirs.getByRole('region', { name: 'Row', exact: true });
    await row.getByText('Customer 33').waitFor();
    await expectAccessible(theirs, { name: 'made-page', shows: 'Customer 33' });
    await pictureForGuide(theirs, 'first-page-shown');
    await theirs.getByRole('tab', { name: 'Change' }).click();
    const change = theirs.getByRole('form', { name: 'Change the row' });
    await expect.poll(() => change.getByLabel('Customer').inputValue()).toBe('Customer 33');
    await change.getByLabel('Customer').fill("Ada O'Brien");
    await change.getByRole('checkbox', { name: 'Is paid' }).check();
    await change.getByRole('button', { name: 'Save' }).click();
    await theirs.getByText('Saved').waitFor();
    await list.getByText('No row has this text').waitFor();
    await list.getByRole('textbox', { name: 'Search' }).fill("o'br");
    await list.getByText("Ada O'Brien").click();
    await list.getByRole('checkbox', { name: 'Choose 33', checked: true }).waitFor();
    await theirs.getByRole('tab', { name: 'Row' }).click();
    await theirs.getByRole('button', { name: 'Delete' }).click();
    const question = theirs.getByRole('dialog');
    await question.getByText('Delete this row?').waitFor();
    await question.getByRole('button').last().click();
    await theirs.getByText('Deleted').waitFor();
    await list.getByText('No row has this text').waitFor();

    await theirs.getByRole('tab', { name: 'Add' }).click();
    const add = theirs.getByRole('form', { name: 'Add a row' });
    await add.getByRole('button', { name: 'Add' }).click();
    await add.getByText('is required').first().waitFor();
    await add.getByLabel('Customer').fill('Grace');
    await add.getByLabel('Total').fill('12.50');
    await add.getByRole('button', { name: 'Add' }).click();
    await theirs.getByText('Added').waitFor();
    const { body } = await client.post('T/database/execute-raw-sql', {
      sql: 'select customer, state, total, is_paid from shop_orders where id in (33, 46)',
    });
    expect(body.result).toEqual([{ customer: 'Grace', state: 'open', total: '12.50', is_paid: false }]);
    expect(faults).toEqual([]);
    await theirs.close();
  });

  test('pages are made from a query and from a workflow, and a blank one; the wizard asks what is missing', async () => {
    const { cluster, tenant, page, go, path, faults } = stage();
    const inputDefinitions = [{ key: 'most', type: 'integer', default: 3 }];
    const query = {
      query: 'select n, n * 2 as twice from generate_series(1, {{inputs.most}}::int) n',
      inputDefinitions,
    };
    const name = `Doubles ${Date.now()}`;
    const { id } = await aDataQuery(cluster, { tenant, title: name, query: query as never });
    await page.setViewportSize({ width: 1280, height: 800 });
    await go(path(`/queries/${id}`));
    await page.getByRole('button', { name: `Actions for ${name}` }).click();
    await page.getByRole('menuitem', { name: 'Make a page' }).click();
    const dialog = page.getByRole('dialog');
    await expect.poll(() => dialog.getByRole('radio', { name: 'When the page opens' }).isChecked()).toBe(true);
    await dialog.getByRole('button', { name: 'Create the page' }).click();
    await go(path(`/pages/${await opened()}`));
    const result = page.getByRole('region', { name, exact: true });
    await expect.poll(() => result.getByRole('row').count()).toBe(4);
    await page.getByRole('textbox', { name: 'Most' }).fill('5');
    await expect.poll(() => result.getByRole('row').count()).toBe(6);

    const title = `Greet ${Date.now()}`;
    await aWorkflow(cluster, {
      ...{ tenant, title, options: { inputDefinitions: [{ key: 'who', type: 'string', required: true }] } as never },
      ...graph(
        {
          start: { type: 'start' },
          end: { type: 'end', outputParameters: [{ name: 'greeting', sourceVariable: 'Hello {{ctx.input.who}}' }] },
        },
        ['start>end'],
      ),
    });
    await go(path('/pages'));
    await page.getByRole('button', { name: 'New page' }).first().click();
    await expectAccessible(page, { name: 'new-page', shows: 'A form that starts a workflow' });
    await dialog.getByRole('button', { name: 'A form that starts a workflow' }).click();
    await dialog.getByRole('combobox', { name: 'Workflow' }).fill(title);
    await page.getByRole('option', { name: title }).click();
    await dialog.getByText('The form asks for: Who.').waitFor();
    await dialog.getByRole('button', { name: 'Create the page' }).click();
    await go(path(`/pages/${await opened()}`));
    await page.getByRole('textbox', { name: 'Who' }).fill('Ada');
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('region', { name: 'Result', exact: true }).getByText('Hello Ada').waitFor();

    await go(path('/pages'));
    await page.getByRole('button', { name: 'New page' }).first().click();
    await dialog.getByRole('button', { name: 'Blank' }).click();
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByText(/expected|too short|at least/i).waitFor();
    await dialog.getByLabel('Title').fill('Empty one');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await opened();
    forgetRefusals(stage(), 400);
    expect(faults).toEqual([]);
  });

  test('a board of runs is made: who may, cancels one and runs it again; a viewer of the page sees them and does neither', async () => {
    const { cluster, tenant, page, go, path, open, faults } = stage();
    const title = `Nightly ${Date.now()}`;
    const { id } = await aWorkflow(cluster, {
      ...{ tenant, title },
      ...graph(
        {
          start: { type: 'start' },
          ask: { type: 'dataCollection', title: 'Go on?', fields: [{ key: 'yes' }] },
          end: { type: 'end' },
        },
        ['start>ask', 'ask:output>end'],
      ),
    });
    await cluster.as(tenant.creator).in(tenant).post(`T/workflows/${id}/execute`, {});
    await go(path('/pages'));
    await page.getByRole('button', { name: 'New page' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'A board of runs' }).click();
    await dialog.getByRole('combobox', { name: 'Workflow' }).fill(title);
    await page.getByRole('option', { name: title }).click();
    await dialog.getByText('People see the state of each run').waitFor();
    await expectAccessible(page, { name: 'new-board', shows: 'A board of runs', schemes: ['light'] });
    await dialog.getByRole('button', { name: 'Create the page' }).click();
    const appPageID = await opened();
    // On the canvas they are those that its author may read.
    await page.getByRole('cell', { name: 'WAITING', exact: true }).waitFor();
    await go(path(`/pages/${appPageID}`));
    const list = page.getByRole('region', { name: `Runs of ${title}`, exact: true });
    await list
      .getByRole('row', { name: /WAITING/ })
      .getByRole('checkbox')
      .check();
    await expectAccessible(page, { name: 'board-of-runs', shows: 'Cancel the run' });
    await page.getByRole('button', { name: 'Cancel the run' }).click();
    const question = page.getByRole('dialog', { name: 'Please confirm' });
    await question.getByText('Cancel this run').waitFor();
    await question.getByRole('button', { name: 'Yes, go on' }).click();
    await list
      .getByRole('row', { name: /CANCELLED/ })
      .getByRole('checkbox')
      .check();
    expect(await page.getByRole('button', { name: 'Cancel the run' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Run it again' }).click();
    await question.getByRole('button', { name: 'Yes, go on' }).click();
    await list.getByRole('row', { name: /WAITING/ }).waitFor();
    await page.getByRole('combobox', { name: 'State' }).click();
    await page.getByRole('option', { name: 'Cancelled' }).click();
    await list.getByRole('row', { name: /WAITING/ }).waitFor({ state: 'detached' });

    const viewer = await aMember(cluster, { tenant, can: ['appPage.read', 'appPage.list'] });
    const theirs = await open(viewer, { at: `/pages/${appPageID}` });
    await theirs
      .getByRole('row', { name: /CANCELLED/ })
      .getByRole('checkbox')
      .check();
    await theirs
      .getByRole('row', { name: /CANCELLED/ })
      .getByText(tenant.creator.email.slice(0, 30))
      .waitFor();
    expect(await theirs.getByRole('button', { name: /the run|it again/ }).count()).toBe(0);
    await theirs.close();

    await list
      .getByRole('row', { name: /CANCELLED/ })
      .getByRole('checkbox')
      .check();
    await page.getByRole('button', { name: 'Open the run' }).click();
    await page.waitForURL(/[/]runs[/][-0-9a-f]+/);
    expect(faults).toEqual([]);
  });
}

/** The pictures of the guide “Your first page” are taken here, from the running product, where GUIDE_PICTURES is set. */
async function pictureForGuide(page: Page, name: string): Promise<void> {
  if (!process.env.GUIDE_PICTURES) return;
  await page.screenshot({ path: join(import.meta.dirname, `../../../ops/guides/images/${name}.png`) });
}
