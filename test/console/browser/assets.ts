import { expect, test } from 'vitest';
import { createKeyRing } from '#shared/core/key-ring.ts';
import { aDataQuery, aDatasource, aWorkflow } from '#test/support/factories.ts';
import { expectAccessible, forgetRefusals, type Stage } from './stage.ts';

/** Queries and cron jobs. */
export function assetTests(stage: () => Stage): void {
  test('a query is made, changed, run with its inputs and explained; its runs are told; each row is shown as text', async () => {
    const { page, go, path, tenant, cluster } = stage();
    const dialog = page.getByRole('dialog');
    const made = 'create table purchases (id int generated always as identity primary key, sku text, "order" numeric)';
    await cluster.as(tenant.creator).in(tenant).post('T/database/execute-raw-sql', { sql: made });
    await go(path('/queries'));
    await page.getByRole('button', { name: 'New query' }).click();
    await page.getByRole('textbox', { name: 'Title' }).fill('Count');
    const sql = page.getByRole('textbox', { name: /^(SQL|Query)/ }).first();
    // SQL is written from the columns of a table, with inputs that have their types.
    await page.getByRole('combobox', { name: 'Begin with a table' }).click();
    await page.getByRole('option', { name: 'purchases' }).click();
    await page.getByRole('combobox', { name: 'What is done with it' }).click();
    await page.getByRole('option', { name: 'Insert a row' }).click();
    await page.getByRole('button', { name: 'Write the SQL' }).click();
    await expect.poll(() => sql.textContent()).toContain('insert into purchases (sku, "order")');
    const typed = page.getByRole('group', { name: 'Input order' });
    await typed.getByText('Number', { exact: true }).waitFor();
    await expectAccessible(page, { name: 'query-from-table', shows: 'Write the SQL' });
    await sql.fill('select n, n * 10 as total from generate_series(1, 3) n limit {{inputs.rows}}');
    // Text that a person has typed is not replaced without a question.
    await page.getByRole('button', { name: 'Write the SQL' }).click();
    await dialog.getByText('The SQL that you have typed is replaced').waitFor();
    await dialog.getByRole('button', { name: 'Keep mine' }).click();
    expect(await sql.textContent()).toContain('generate_series');
    // The inputs are found, with a type, and the query is run before there is one.
    const input = page.getByRole('group', { name: 'Input rows' });
    await input.getByText('Number', { exact: true }).waitFor();
    const tried = page.getByRole('region', { name: 'Try it' });
    await tried.getByLabel('rows').fill('2');
    await sql.press('Control+Enter');
    await tried.getByText('2 rows').waitFor();
    await tried.getByText('Chart', { exact: true }).click();
    await tried.getByRole('row', { name: '2 20' }).waitFor();
    await expectAccessible(page, { name: 'query-new', shows: 'Create' });
    await sql.fill('select n from generate_series(1, {{inputs.rows}}) n');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Count' }).waitFor();
    await page.getByText("This tenant's database").waitFor();
    await input.getByText('rows', { exact: true }).click();
    expect(await input.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('rows');
    expect(await input.getByLabel(/^Default/).count()).toBe(1);
    await input.getByText('The query reads it as {{inputs.rows}}').waitFor();
    await page
      .getByRole('textbox', { name: /^(SQL|Query)/ })
      .first()
      .fill(
        `select n, repeat('<img src=x>', case n when 205 then 100000 else 1 end) as mark from generate_series(1, {{inputs.rows}}) n`,
      );
    // The query is run as it is shown, also before it is saved.
    const panel = page.getByRole('tabpanel', { name: 'Run' });
    await panel.getByRole('textbox', { name: 'rows' }).fill('7');
    await panel.getByText('with the changes, which are not saved yet').waitFor();
    await panel.getByRole('button', { name: 'Run' }).click();
    await panel.getByRole('columnheader', { name: 'mark' }).waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('not saved yet').waitFor({ state: 'detached' });
    await panel.getByRole('textbox', { name: 'rows' }).fill('205');
    await panel.getByRole('button', { name: 'Run' }).click();
    await page.getByText('205 rows').waitFor();
    expect(await page.getByRole('cell', { name: '205', exact: true }).count()).toBe(0);
    await page.getByRole('region', { name: 'Rows of the answer' }).press('End');
    await page.getByRole('cell', { name: '205', exact: true }).waitFor();
    const cut = page.getByRole('button', { name: /^<img src=x>.*1,100,000 characters/ });
    expect((await cut.boundingBox())?.height).toBeLessThan(40);
    await cut.click();
    await dialog.getByText('The first 50,000 of 1,100,000 characters').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(await page.locator('img[src="x"]').count()).toBe(0);
    await expectAccessible(page, { name: 'query', shows: '205 rows' });

    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('nothing was executed').waitFor();
    await page
      .getByLabel('Plan', { exact: true })
      .getByText(/"Node Type": "Function Scan",\n +"/)
      .waitFor();
    await page.getByRole('tab', { name: 'History' }).click();
    await page.getByRole('row', { name: / you, by hand .* 205 rows/ }).waitFor();
    expect(new URL(page.url()).search).toBe('?tab=history');
    await page.getByRole('button', { name: 'Actions for Count' }).click();
    await page.getByRole('menuitem', { name: 'Clone' }).click();
    await page.getByRole('heading', { name: /Count .*cop/i }).waitFor();
    await page.getByRole('button', { name: /^Actions for Count/ }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'Queries' }).waitFor();
  });

  test('recipients are lines, and headers names with values; neither is written as JSON', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const options = { host: 'mail.example.com', from: 'Orders <orders@example.com>' };
    const { id } = await aDatasource(cluster, { tenant, title: 'Mail', type: 'smtp', options });
    await go(path(`/queries/new?datasourceID=${id}`));
    await page.getByRole('textbox', { name: 'Title' }).fill('Send two mails');
    await page.getByRole('textbox', { name: 'To', exact: true }).fill('ada@example.com\n{{inputs.other}}');
    await page.getByRole('textbox', { name: 'Cc', exact: true }).fill('grace@example.com');
    const headers = page.getByRole('group', { name: 'Headers', exact: true });
    for (const [index, [name, value]] of Object.entries({ 'X-Campaign': 'autumn', 'X-Round': '2' }).entries()) {
      await headers.getByRole('button', { name: 'Add to Headers' }).click();
      const row = headers.getByRole('group', { name: `Headers, ${index + 1}` });
      await row.getByLabel('Name').fill(name);
      await row.getByLabel('Value').fill(value);
    }
    await headers.getByRole('button', { name: 'Remove X-Round' }).click();
    await expectAccessible(page, { name: 'query-mail', shows: 'X-Campaign' });
    await headers.getByRole('button', { name: 'Show as JSON' }).click();
    await headers.getByText('"X-Campaign": "autumn"').last().waitFor();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Send two mails' }).waitFor();
    await page.getByRole('button', { name: 'Actions for Send two mails' }).click();
    await page.getByRole('menuitem', { name: 'Offer as a tool' }).click();
    await page.getByText('Offered as a tool', { exact: true }).waitFor();
    const dataQueryID = new URL(page.url()).pathname.split('/').at(-1);
    const { body } = await cluster.as(tenant.creator).in(tenant).get(`T/queries/${dataQueryID}`);
    expect(body.dataQuery.isOfferedAsTool).toBe(true);
    expect(body.dataQuery.dataQueryOptions).toMatchObject({
      to: ['ada@example.com', '{{inputs.other}}'],
      cc: 'grace@example.com',
      headers: { 'X-Campaign': 'autumn' },
      inputDefinitions: [{ key: 'other', type: 'string' }],
    });
  });

  test('a cron job is made and changed, says when it runs next, is run by hand, paused, resumed and backfilled', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const { id } = await aWorkflow(cluster, { tenant, title: 'Nightly' });
    await go(path('/cron'));
    await page.getByRole('button', { name: 'New cron job' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Title').fill('Every night');
    // A schedule is chosen in words, and the expression can be written.
    const repeats = dialog.getByRole('combobox', { name: 'Repeats' });
    expect(await repeats.inputValue()).toBe('Every weekday, Monday to Friday');
    await repeats.click();
    await page.getByRole('option', { name: 'Every month' }).click();
    await dialog.getByLabel('Day of the month').fill('15');
    await dialog.getByLabel('At', { exact: true }).fill('06:30');
    await dialog.getByRole('status').getByText(/06:30/).waitFor();
    await repeats.click();
    await page.getByRole('option', { name: 'By a cron expression' }).click();
    expect(await dialog.getByLabel('Schedule').inputValue()).toBe('30 6 15 * *');
    await dialog.getByLabel('Schedule').fill('0 3 * * 8');
    await dialog.getByRole('status').getByText(/day/).waitFor();
    await dialog.getByLabel('Schedule').fill('0 3 * * *');
    await dialog.getByLabel('Time zone').fill('Europe/Vienna');
    await dialog
      .getByRole('status')
      .getByText(/at 03:00/)
      .waitFor();
    await expect.poll(() => dialog.getByRole('status').getByRole('listitem').count()).toBe(5);
    await dialog.getByRole('combobox', { name: 'Workflow' }).fill('Nightly');
    await page.getByRole('option', { name: 'Nightly' }).first().click();
    // A workflow without inputs asks for none.
    expect(await dialog.getByLabel('Inputs', { exact: true }).isVisible()).toBe(false);
    await expectAccessible(page, { name: 'cron-form', shows: 'If something is in the way', schemes: ['light'] });
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Every night' }).waitFor();
    forgetRefusals(stage(), 400);
    await go(path('/cron'));
    await page.getByText('Every night').waitFor();
    await expectAccessible(page, { name: 'cron', shows: 'Every night' });
    await page.getByRole('link', { name: 'Every night' }).click();
    const next = page.getByRole('region', { name: 'Next runs' }).getByRole('listitem');
    await expect.poll(() => next.count()).toBe(10);
    expect(await next.first().textContent()).toMatch(/^\w{3}, \w+ \d+, \d{4}, 3:00 AM \(here [12]:00 AM\)$/);
    const started = page.getByRole('link', { name: 'Nightly', exact: true });
    expect(await started.getAttribute('href')).toContain(`/workflows/${id}`);
    await page.getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('row', { name: /Started by hand Run$/ }).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('none happens until the job is resumed').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('Scheduled', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await dialog.getByLabel('At', { exact: true }).fill('04:00');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('0 4 * * *').waitFor();
    const past = page.getByRole('region', { name: 'Missed times' }).first();
    await past.getByLabel('From').fill('2026-01-01T00:00');
    await past.getByLabel('To').fill('2026-01-02T23:00');
    await past.getByRole('button', { name: 'Run for these' }).click();
    await past.getByRole('row', { name: /done: 2 of 2 times/ }).waitFor({ timeout: 20_000 });
    await expectAccessible(page, { name: 'cron-job', shows: 'History' });
  });

  test('a datasource whose secret was sealed with a key that is not here says so, until another is saved', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const lost = createKeyRing([{ id: 'lost', key: Buffer.alloc(32, 3) }]);
    const { context } = cluster;
    const before = { ...cluster, context: { ...context, secrets: { ...context.secrets, ...lost } } };
    const options = { baseUrl: cluster.baseURL, authType: 'bearer', bearerToken: 'the lost one' };
    const { id } = await aDatasource(before, { tenant, title: 'Lost', type: 'restapi', options });
    await go(path('/datasources'));
    await page.getByRole('row', { name: /^Lost REST API Secrets unreadable/ }).waitFor();
    await page.getByRole('link', { name: 'Lost' }).click();
    await page.getByText('Sealed with a key that is not here').waitFor();
    // The fields of another authentication are not shown.
    expect(await page.getByLabel('User', { exact: true }).count()).toBe(0);
    expect(await page.getByRole('combobox', { name: 'Authentication' }).inputValue()).toBe('Bearer token');
    await expectAccessible(page, { name: 'datasource-lost', shows: 'Bearer token. Give it again' });
    await page.getByLabel('Bearer token').fill('another one');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Sealed with a key that is not here').waitFor({ state: 'detached' });
    await page.getByRole('status').getByText('Not tested').waitFor();
    await cluster.pool.query('delete from datasource where id = $1', [id]);
  });

  test('connections are tested from the list, also one that fails', async () => {
    const { cluster, page, go, path, tenant } = stage();
    await aDatasource(cluster, { tenant, title: 'Reached' });
    const connectionString = 'postgresql://reader:hidden-word@127.0.0.1:1/none';
    const options = { connectionOption: 'connectionString', connectionString };
    await aDatasource(cluster, { tenant, title: 'Away', options });
    await go(path('/datasources'));
    await page.getByRole('button', { name: 'Test Reached' }).click();
    await page.getByRole('row', { name: /^Reached PostgreSQL Connected/ }).waitFor();
    await page.getByRole('button', { name: 'Test Away' }).click();
    await page.getByRole('row', { name: /^Away PostgreSQL Failed/ }).waitFor();
    await expect.poll(() => page.getByRole('alert').count()).toBe(1);
    expect(await page.content()).not.toContain('hidden-word');
    for (const status of [400, 422, 502, 504]) forgetRefusals(stage(), status);
    await expectAccessible(page, { name: 'datasources', shows: 'Reached' });

    // The masked secret stays what it is: the server refuses the connection, and not the password.
    await page.getByRole('link', { name: 'Away' }).click();
    await page.getByLabel('Title').fill('Far away');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Far away' }).waitFor();
    await page.getByText('The last test failed').waitFor();
    expect(await page.content()).not.toContain('hidden-word');
    await expectAccessible(page, { name: 'datasource', shows: 'What uses it' });

    // A file is uploaded where the datasource is described that reads it.
    await go(path('/datasources/new'));
    await page.getByRole('combobox', { name: 'Type' }).fill('Excel');
    await page.getByRole('option', { name: /^Excel/ }).click();
    await page.getByLabel('Title').fill('Prices');
    const file = { name: 'prices.csv', mimeType: 'text/csv', buffer: Buffer.from('name,price\nBolt,1\n') };
    await page.locator('input[type="file"]').setInputFiles(file);
    await page.getByRole('row', { name: /^prices.csv 18 / }).waitFor();
    await expectAccessible(page, { name: 'datasource-file', shows: 'Uploaded files', schemes: ['light'] });
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Prices' }).waitFor();
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    await page.getByRole('status').getByText('Connected').waitFor();
    await page.getByRole('button', { name: 'Delete prices.csv' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog
      .getByRole('alert')
      .getByText(/uses this file/)
      .waitFor();
    forgetRefusals(stage(), 409);
    await dialog.getByRole('button', { name: 'Keep it' }).click();

    await go(path('/datasources/new'));
    const type = page.getByRole('combobox', { name: 'Type' });
    await page.getByRole('button', { name: 'Create' }).click();
    await expect.poll(() => type.getAttribute('aria-invalid')).toBe('true');
    forgetRefusals(stage(), 400);
    await type.fill('REST');
    await page.getByRole('option', { name: /REST/ }).first().click();
    await expect.poll(() => type.getAttribute('aria-invalid')).not.toBe('true');
    await page.getByLabel('Title').fill('Shop');
    await page.getByRole('textbox', { name: 'Base URL' }).fill(cluster.baseURL);
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Shop' }).waitFor();
    await page.getByRole('button', { name: 'Actions for Shop' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'Datasources' }).waitFor();
  });

  test('the list of queries: no finding by axe, and no sideways scroll', async () => {
    const { page, go, path } = stage();
    await go(path('/queries'));
    await expectAccessible(page, { name: 'queries', shows: 'Count' });
  });

  test('folders are made, filled, moved into each other and deleted, with what is in them kept', async () => {
    const { cluster, page, go, path, tenant } = stage();
    for (const title of ['Put away', 'Left out']) await aDataQuery(cluster, { tenant, title });
    const dialog = page.getByRole('dialog');
    const folder = page.getByRole('combobox', { name: 'Folder' });
    const make = async (title: string) => {
      await page.getByRole('button', { name: 'New folder' }).click();
      await dialog.getByRole('textbox', { name: 'Title' }).fill(title);
      await dialog.getByRole('button', { name: 'Create' }).click();
      await dialog.waitFor({ state: 'detached' });
    };
    await go(path('/queries'));
    await make('Archive');
    await expect.poll(() => folder.inputValue()).toBe('Archive');
    await page.getByText('Nothing matches the filter.').waitFor();
    await make('Of last year');
    // A folder that is made in another one is in it.
    await expect.poll(() => folder.inputValue()).toBe('Archive / Of last year');
    await page.getByLabel('Any folder').click();
    await page.getByRole('checkbox', { name: 'Choose Put away' }).check();
    await expectAccessible(page, { name: 'queries-folders', shows: 'Move 1 query' });
    await page.getByRole('button', { name: 'Move 1 query' }).click();
    await dialog.getByRole('combobox', { name: 'To the folder' }).click();
    await page.getByRole('option', { name: 'Archive / Of last year' }).click();
    await dialog.getByRole('button', { name: 'Move', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await folder.click();
    await page.getByRole('option', { name: 'Archive / Of last year' }).click();
    await page.getByRole('link', { name: 'Put away' }).waitFor();
    expect(await page.getByRole('link', { name: 'Left out' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Rename or move the folder' }).click();
    await dialog.getByRole('textbox', { name: 'Title' }).fill('Old');
    await dialog.getByLabel('At the top').click();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => folder.inputValue()).toBe('Old');
    await page.getByRole('button', { name: 'Delete the folder' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('link', { name: 'Left out' }).waitFor();
    await page.getByRole('link', { name: 'Put away' }).waitFor();
  });
}
