import { expect, test } from 'vitest';
import { expectAccessible, forgetRefusals, HOSTILE, type Stage } from './stage.ts';

/** The tenant's own database: tables, rows and SQL. */
export function databaseTests(stage: () => Stage): void {
  test('a table is made after its SQL is shown, gets rows, which are found and changed, and is dropped', async () => {
    const { cluster, tenant, page, go, path } = stage();
    const table = `parts_${Date.now()}`;
    const actOn = async (row: RegExp, action: string) => {
      await page
        .getByRole('row', { name: row })
        .getByRole('button', { name: /^Actions for/ })
        .click();
      await page.getByRole('menuitem', { name: action }).click();
    };
    const dialog = page.getByRole('dialog');
    await go(path('/database'));
    await page.getByRole('button', { name: 'New table' }).click();
    await dialog.getByRole('textbox', { name: 'Table' }).fill(table);
    await dialog.getByLabel('Column 2', { exact: true }).fill('title');
    await dialog.getByRole('button', { name: 'Add a column' }).click();
    await dialog.getByLabel('Column 3', { exact: true }).fill('mistaken');
    await dialog.getByRole('button', { name: 'Remove column mistaken' }).click();
    const addColumn = async (number: number, name: string, type: RegExp) => {
      await dialog.getByRole('button', { name: 'Add a column' }).click();
      await dialog.getByLabel(`Column ${number}`, { exact: true }).fill(name);
      await dialog.getByRole('combobox', { name: `Type of column ${number}` }).click();
      await page.getByRole('option', { name: type }).click();
    };
    await addColumn(3, 'sold', /^boolean/);
    await addColumn(4, 'day', /^date/);
    await addColumn(5, 'more', /^jsonb/);
    await expectAccessible(page, { name: 'database-new-table', shows: 'Add a column' });
    await dialog.getByRole('button', { name: 'Show the SQL' }).click();
    await dialog
      .getByLabel('SQL of the change')
      .getByText(/create table/i)
      .waitFor();
    await dialog.getByRole('button', { name: 'Create the table' }).click();
    await dialog.waitFor({ state: 'detached' });
    // The new table is open.
    await page.getByText('The table is empty.').waitFor();

    await page.getByRole('button', { name: 'Add a row' }).click();
    await dialog.getByText('bigint, leave it empty: the database numbers the rows').waitFor();
    // The button below the fields stays where it is while one types.
    const topOfButton = async () => (await dialog.getByRole('button', { name: 'Save the row' }).boundingBox())?.y;
    const top = await topOfButton();
    await dialog.getByRole('textbox', { name: 'title' }).fill('A');
    await dialog.getByRole('button', { name: 'Clear title' }).waitFor();
    expect(await topOfButton()).toBe(top);
    await dialog.getByRole('textbox', { name: 'title' }).fill(HOSTILE);
    await dialog.getByRole('combobox', { name: 'sold' }).click();
    await page.getByRole('option', { name: 'true' }).click();
    await dialog.getByLabel('day', { exact: true }).fill('2026-03-05');
    await dialog.getByRole('textbox', { name: 'more' }).fill('{"a": 1}');
    await expectAccessible(page, { name: 'database-row', shows: 'Save the row' });
    await dialog.getByRole('button', { name: 'Save the row' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('row', { name: /true.*2026-03-05.*"a": ?1/ }).waitFor();
    await page.getByRole('button', { name: 'Add a row' }).click();
    await dialog.getByText('JSON', { exact: true }).click();
    await dialog.getByRole('textbox', { name: 'Row' }).fill('id: 2');
    await dialog.getByRole('button', { name: 'Save the row' }).click();
    await dialog.getByText('This is not JSON').waitFor();
    expect(await dialog.getByText('That failed').count()).toBe(0);
    await dialog.getByRole('textbox', { name: 'Row' }).fill('[{"id": 2}, 3]');
    await dialog.getByRole('button', { name: 'Save the row' }).click();
    await dialog.getByText('A row is an object with columns as names').waitFor();
    await dialog.getByRole('textbox', { name: 'Row' }).fill(JSON.stringify([{ id: 2, title: 'Bolt' }]));
    await dialog.getByRole('checkbox', { name: 'Add another row after it' }).check();
    await dialog.getByRole('button', { name: 'Save the row' }).click();
    // The dialog stays, without the row that was saved.
    await dialog.getByText('1 row added.').waitFor();
    expect(await dialog.getByRole('textbox', { name: 'Row' }).textContent()).not.toContain('Bolt');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('row', { name: /^1 <img src=x/ }).waitFor();
    expect(await page.getByText(/^\d+ rows$/).count()).toBe(0);
    await page.getByRole('button', { name: 'Count', exact: true }).click();
    await page.getByText('2 rows').waitFor();
    await expectAccessible(page, { name: 'database', shows: 'Bolt' });

    await page.getByRole('button', { name: 'Import rows' }).click();
    const choose = (text: string) => {
      const file = { name: 'parts.csv', mimeType: 'text/csv', buffer: Buffer.from(text) };
      return dialog.locator('input[type=file]').setInputFiles(file);
    };
    await choose('title;sold\n"Nail; ""long""";perhaps\n');
    await dialog.getByText('Row 2: sold: expected true or false').waitFor();
    // The second row has the key of one that is there: none is added.
    await choose('id;title;maker\n10;Screw;ACME\n2;Nail;\n');
    await dialog.getByText('are left out: maker').waitFor();
    await expectAccessible(page, { name: 'database-import', shows: 'It fills id, title' });
    await dialog.getByRole('button', { name: 'Import 2 rows' }).click();
    await dialog.getByText(/Row 3/).waitFor();
    forgetRefusals(stage(), 409);
    await dialog
      .getByLabel('Paste from a spreadsheet')
      .fill('id\ttitle\tsold\n10\tScrew\tyes\n11\t"Nail; ""long"""\tno\n');
    await dialog.getByRole('button', { name: 'Import 2 rows' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('row', { name: /^10 Screw true/ }).waitFor();
    await page.getByRole('row', { name: /^11 Nail; "long" false/ }).waitFor();
    expect(await page.locator('img[src="x"]').count()).toBe(0);

    await page.getByRole('combobox', { name: 'Column' }).click();
    await page.getByRole('option', { name: 'id' }).click();
    await page.getByRole('textbox', { name: 'Value' }).fill('2');
    await page.getByRole('button', { name: 'Filter' }).click();
    await expect.poll(() => page.getByRole('row').count()).toBe(2);
    await page.reload();
    await page.getByRole('row', { name: /^2 Bolt/ }).waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    await page.getByRole('button', { name: 'Export' }).click();
    const saved = page.waitForEvent('download');
    await page.getByRole('menuitem', { name: 'CSV' }).click();
    expect((await saved).suggestedFilename()).toBe(`${table}.csv`);
    const file = await (await saved).createReadStream();
    // The filter counts: one row of two.
    expect((await file.toArray()).join('').trimEnd().split(/\r?\n/)).toEqual([
      '\uFEFFid,title,sold,day,more',
      '2,Bolt,,,',
    ]);
    await actOn(/^2 /, 'Edit');
    await dialog.getByRole('textbox', { name: 'title' }).fill('Nut');
    await dialog.getByRole('combobox', { name: 'sold' }).click();
    await page.getByRole('option', { name: 'false' }).click();
    await dialog.getByRole('button', { name: 'Save the row' }).click();
    await page.getByRole('row', { name: /^2 Nut false/ }).waitFor();
    await actOn(/^2 /, 'Edit');
    await dialog.getByRole('button', { name: 'Set sold to null' }).click();
    await dialog.getByRole('button', { name: 'Save the row' }).click();
    await page.getByRole('row', { name: /^2 Nut false/ }).waitFor({ state: 'detached' });
    await page.getByRole('row', { name: /^2 Nut/ }).waitFor();

    const long = `repeat('<img src=x> ' || chr(8238), 100000)`;
    const client = cluster.as(tenant.creator).in(tenant);
    await client.post('T/database/execute-raw-sql', { sql: `update ${table} set title = ${long} where id = 2` });
    await page.reload();
    await page.getByRole('row', { name: /^2 <img src=x>.*1,300,000 characters/ }).waitFor();
    await actOn(/^2 /, 'Edit');
    await dialog.getByText('Too long to be edited here').waitFor();
    await dialog.getByRole('button', { name: 'Save the row' }).click();
    await page.getByRole('row', { name: /^2 <img src=x>.*1,300,000 characters/ }).waitFor();
    expect(await page.locator('img[src="x"]').count()).toBe(0);
    await actOn(/^2 /, 'Delete');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No row matches the filter.').waitFor();
    await page.getByRole('tab', { name: 'Columns' }).click();
    await page.getByRole('row', { name: /^id (bigint|int8) primary no/ }).waitFor();
    await page.getByRole('button', { name: 'Change columns' }).click();
    for (const name of ['title', 'sold', 'day', 'more'])
      await dialog.getByRole('button', { name: `Drop column ${name}` }).click();
    await dialog.getByRole('button', { name: 'Add a column' }).click();
    await dialog.getByLabel('Column 2', { exact: true }).fill('weight');
    await dialog.getByRole('combobox', { name: 'Type of column 2' }).fill('numeric');
    await dialog.getByLabel('Default of column 2').fill('7');
    await expectAccessible(page, { name: 'database-columns', shows: 'Required', schemes: ['light'] });
    await dialog.getByRole('button', { name: 'Show the SQL' }).click();
    const statements = dialog.getByLabel('SQL of the change');
    for (const part of [/drop column "?title/, /add column "?weight"? numeric default '?7/])
      await statements.getByText(part).waitFor();
    // Shown, and not done.
    expect(await page.getByRole('row', { name: /^title text/ }).count()).toBe(1);
    await dialog.getByRole('button', { name: 'Run it' }).click();
    await page.getByRole('row', { name: /^weight numeric/ }).waitFor();
    expect(await page.getByRole('row', { name: /^title text/ }).count()).toBe(0);

    await page.getByRole('button', { name: 'Actions for the table' }).click();
    await page.getByRole('menuitem', { name: 'Drop the table' }).click();
    await dialog.getByRole('button', { name: 'Show the SQL' }).click();
    await dialog
      .getByLabel('SQL of the change')
      .getByText(/drop table/i)
      .waitFor();
    await dialog.getByRole('button', { name: 'Run it' }).click();
    await page.getByText('Choose one to see its columns and rows').waitFor();

    // The same table from pasted cells, with its rows.
    await page.getByRole('button', { name: 'New table' }).click();
    await dialog.getByRole('textbox', { name: 'Table' }).fill(table);
    await dialog.getByRole('button', { name: 'From a spreadsheet or CSV' }).click();
    await dialog.getByLabel('Paste from a spreadsheet').fill('Part name\tPrice\nBolt\t1.50\nNut\t2\n');
    expect(await dialog.getByRole('combobox', { name: 'Type of column 3' }).inputValue()).toBe('numeric');
    await expectAccessible(page, {
      name: 'database-table-of-cells',
      shows: 'Paste from a spreadsheet',
      schemes: ['light'],
    });
    await dialog.getByRole('button', { name: 'Create the table with 2 rows' }).click();
    await page.getByRole('row', { name: /^2 Nut 2\b/ }).waitFor();
    await go(path('/database'));
    await page.getByRole('link', { name: table, exact: true }).click();
    await page.getByRole('row', { name: /^1 Bolt 1\.50?\b/ }).waitFor();
  });

  test('a row that is gone is said to be, its key can be changed, and one of a table that inherits is told apart', async () => {
    const { cluster, tenant, page, go, path } = stage();
    const table = `gears_${Date.now()}`;
    const dialog = page.getByRole('dialog');
    const client = cluster.as(tenant.creator).in(tenant);
    const sql = async (text: string) => (await client.post('T/database/execute-raw-sql', { sql: text })).body.result;
    const actOn = async (row: RegExp, action: string) => {
      await rowOf(row)
        .getByRole('button', { name: /^Actions for/ })
        .click();
      await page.getByRole('menuitem', { name: action }).click();
    };
    const rowOf = (name: RegExp) => page.getByRole('row', { name });
    const save = () => dialog.getByRole('button', { name: 'Save the row' }).click();
    const enter = async (id: string, title: string) => {
      await dialog.getByRole('textbox', { name: 'id' }).fill(id);
      await dialog.getByRole('textbox', { name: 'title' }).fill(title);
    };
    await sql(`create table ${table} (id int primary key, title text); create table ${table}_more () inherits (${table});
      insert into ${table} values (1, 'own'), (2, 'key'); insert into ${table}_more values (1, 'other')`);
    await go(path(`/database?schema=public&table=${table}`));

    await actOn(/^2 key/, 'Edit');
    await enter('3', 'key');
    await save();
    await rowOf(/^3 key/).waitFor();

    await actOn(/^3 key/, 'Edit');
    await sql(`delete from ${table} where id = 3`);
    await enter('3', 'lost');
    await save();
    await dialog.getByText('the row is not there').waitFor();
    await rowOf(/^3 key/).waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');

    await actOn(/^1 other/, 'Edit');
    await enter('1', 'changed');
    await save();
    await rowOf(/^1 changed/).waitFor();
    await actOn(/^1 changed/, 'Delete');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await rowOf(/^1 changed/).waitFor({ state: 'detached' });
    expect(await sql(`select id, title from ${table}`)).toEqual([{ id: 1, title: 'own' }]);
    forgetRefusals(stage(), 409);
  });

  test('SQL shows what every statement answered, and its text stays when the page is left', async () => {
    const { cluster, tenant, page, go, path } = stage();
    await go(path('/database?tab=sql'));
    const text = page.getByRole('textbox', { name: 'SQL' });
    await text.fill(
      "select null as one, 'null' as two; select n, '<img src=x>' as mark from generate_series(1, 3) n; select n, md5(n::text) from generate_series(1, 500) n",
    );
    await page.getByRole('button', { name: 'Run the SQL' }).click();
    await page.getByText('Statement 1: SELECT, 1 row').waitFor();
    await page.getByText('Statement 2: SELECT, 3 rows').waitFor();
    const third = page.getByRole('table', { name: 'Rows of statement 3' });
    expect(await third.getAttribute('aria-rowcount')).toBe('501');
    expect(await third.getByRole('row').count()).toBeLessThan(50);
    expect(await page.getByRole('row', { name: /^3 <img src=x>/ }).count()).toBe(1);
    expect(await page.getByRole('row', { name: 'NULL null', exact: true }).count()).toBe(1);
    await text.locator('.tok-keyword', { hasText: 'select' }).first().waitFor();
    await text.locator('.tok-string', { hasText: "'null'" }).waitFor();
    await expectAccessible(page, { name: 'database-sql', shows: 'Statement 2' });
    expect(await page.locator('img[src="x"]').count()).toBe(0);

    // A column behind the name of its table, and without it; keys reach them, and leave the field.
    const table = `bolts_${Date.now()}`;
    await cluster
      .as(tenant.creator)
      .in(tenant)
      .post('T/database/execute-raw-sql', { sql: `create table ${table} (id int primary key, thread_pitch numeric)` });
    const column = page.getByRole('listbox', { name: 'Completions' }).getByRole('option', { name: /^thread_pitch/ });
    await text.fill(`select ${table}.`);
    await page.keyboard.type('thr');
    await column.waitFor();
    await expectAccessible(page, { name: 'database-completions', shows: 'thread_pitch', schemes: ['light'] });
    await page.keyboard.press('Enter');
    expect(await text.textContent()).toBe(`select ${table}.thread_pitch`);
    await text.fill(`select from ${table} where `);
    await page.keyboard.type('thr');
    await column.waitFor();
    await page.keyboard.press('Escape');
    await column.waitFor({ state: 'detached' });
    await page.keyboard.press('Tab');
    const focused = page.getByRole('button', { name: 'Run the SQL' }).and(page.locator(':focus'));
    await focused.waitFor();
    expect(await text.textContent()).toBe(`select from ${table} where thr`);
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Control+z');
    await expect.poll(() => text.textContent()).not.toContain('where thr');

    await text.fill("select '\u202egnp.exe'");
    await text.getByText('\\u202e').waitFor();
    await page.keyboard.press('Control+Enter');
    await page.getByText('Statement 2: ').waitFor({ state: 'detached' });
    await page.getByText('Statement 1: SELECT, 1 row').waitFor();
    await text.fill('select nothing from nowhere');
    await page.getByRole('link', { name: 'Home' }).click();
    await page.getByText('Newest runs').waitFor();
    await page.goBack();
    await text.getByText('select nothing from nowhere').waitFor();
    await page.getByRole('button', { name: 'Run the SQL' }).click();
    await page
      .getByRole('alert')
      .getByText(/nowhere/)
      .waitFor();
    expect(await page.getByText('Statement 1').count()).toBe(0);
    for (const status of [400, 422]) forgetRefusals(stage(), status);
  });
}
