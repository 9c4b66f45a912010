import { expect, test } from 'vitest';
import { aWorkflow, chain } from '#test/support/factories.ts';
import { expectAccessible, forgetRefusals, type Stage } from './stage.ts';

/** Declared inputs of workflows: where they are listed, and the forms that ask for them. */
export function inputTests(stage: () => Stage): void {
  test('inputs are listed on the step that begins; tests, runs and cron jobs then have a field for each', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const client = cluster.as(tenant.creator).in(tenant);
    const ends = ['start', 'end'].map((id) => ({ id, type: id, data: { title: id === 'start' ? 'Start' : 'End' } }));
    const way = { id: 'way', source: 'start', target: 'end' };
    const title = `Asks for inputs ${Date.now()}`;
    const made = await client.post('T/workflows', { title, workflowNodes: ends, workflowEdges: [way], draft: true });
    const { id } = made.body.workflow as { id: string };
    await go(path(`/workflows/${id}`));
    await page.locator('[data-id="start"]').click();
    const panel = page.getByRole('complementary', { name: 'Step' });
    const add = panel.getByRole('button', { name: 'Add an input' });
    const input = (name: string) => panel.locator('details', { has: page.locator('summary code', { hasText: name }) });
    const choose = async (type: string) => {
      await panel.getByRole('combobox', { name: 'Type' }).last().click();
      await page.getByRole('option', { name: type, exact: true }).click();
    };
    await panel.getByText('None yet. Runs take every JSON object.').waitFor();
    await add.press('Enter');
    // The name of a new one is chosen, to be typed over.
    await page.keyboard.type('total');
    await choose('Whole number');
    // A new one must be given, unless its author says otherwise.
    expect(await input('total').getByLabel('Required').isChecked()).toBe(true);
    await input('total').getByLabel('Label').fill('Total in euros');
    await add.click();
    await page.keyboard.type('size');
    await choose('Choice of a list');
    await input('size').getByLabel('Required').uncheck();
    await input('size').getByLabel('Options').fill('small\nlarge');
    await input('size').getByRole('combobox', { name: 'Default' }).click();
    await page.getByRole('option', { name: 'large' }).click();
    await add.click();
    await page.keyboard.type('total');
    await panel.getByText('Another input has this name').first().waitFor();
    await input('total').last().getByLabel('Name').fill('day');
    await choose('Date');
    await input('day').getByLabel('Required').uncheck();
    await panel.getByText('{{ctx.input.day}}').waitFor();
    await input('day').getByRole('button', { name: 'Move day up' }).press('Enter');
    // The button keeps the focus.
    await page.keyboard.press('Enter');
    await panel.getByText('day is now 1 of 3').waitFor();
    await add.click();
    await panel.getByRole('button', { name: /^Remove input/ }).click();
    await expectAccessible(page, { name: 'editor-inputs', shows: 'Add an input' });

    await page.getByRole('button', { name: 'Test', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Total in euros').fill('1.5');
    await dialog.getByRole('button', { name: 'Start the test' }).click();
    await dialog.getByText('expected a whole number, received 1.5').first().waitFor();
    forgetRefusals(stage(), 400);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByText('Version 2, published').waitFor();
    const { body } = await client.get(`T/workflows/${id}`);
    expect(body.workflow.workflowOptions.inputDefinitions).toEqual([
      { key: 'day', type: 'date', required: false },
      { key: 'total', type: 'integer', required: true, title: 'Total in euros' },
      { key: 'size', type: 'choice', required: false, options: ['small', 'large'], default: 'large' },
    ]);

    // Later drafts may ask for other inputs than the version that is run.
    await add.click();
    await page.keyboard.type('later');
    await page.getByRole('button', { name: 'Save draft' }).click();
    await page.getByText('Version 3, a draft').waitFor();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await dialog.getByText('The published version is run').waitFor();
    await dialog.getByLabel('day').waitFor();
    expect(await dialog.getByLabel('later').count()).toBe(0);
    expect(await dialog.getByRole('combobox', { name: 'size' }).getAttribute('placeholder')).toBe('large');
    await dialog.getByRole('button', { name: 'Start' }).click();
    await dialog.getByText('is required').waitFor();
    forgetRefusals(stage(), 400);
    await dialog.getByLabel('Total in euros').fill('7');
    await dialog.getByLabel('day').fill('2026-11-28');
    await expectAccessible(page, { name: 'run-inputs', shows: 'Total in euros' });
    await dialog.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('status').getByText('Completed').waitFor();
    const { instances } = (await client.get(`T/workflows/instances?workflowID=${id}&status=COMPLETED`)).body;
    const run = await client.get(`T/workflows/instances/${instances[0].instanceID}`);
    expect(run.body.input).toEqual({ day: '2026-11-28', total: 7, size: 'large' });

    await go(path('/cron'));
    await page.getByRole('button', { name: 'New cron job' }).click();
    await dialog.getByLabel('Title').fill('Daily');
    await dialog.getByRole('combobox', { name: 'Workflow' }).click();
    await page.getByRole('option', { name: title }).click();
    await dialog.getByRole('radiogroup', { name: 'How day is given' }).getByText('Expression').click();
    await dialog.getByText('Computed at each tick').waitFor();
    expect(await dialog.getByRole('textbox', { name: 'later' }).count()).toBe(0);
    await dialog.getByRole('textbox', { name: 'Total in euros' }).fill('9');
    await expectAccessible(page, { name: 'cron-inputs', shows: 'Computed at each tick', schemes: ['light'] });
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { cronJobs } = (await client.get('T/cronjobs?search=Daily')).body;
    expect(cronJobs[0].cronJobConfig).toMatchObject({ workflowID: id, inputValues: { total: 9 } });
  });

  test('a definition that the list cannot show stays as it was written, and is edited as JSON', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const client = cluster.as(tenant.creator).in(tenant);
    const written = { key: 'old', type: 'string' as const, title: { en: 'Old' }, required: false };
    const known = { key: 'known', type: 'string' as const, widget: 'area', required: false };
    const options = { inputDefinitions: [written, known], theme: 'dark' };
    const { id } = await aWorkflow(cluster, { tenant, title: 'Has old inputs', ...chain({}), options });
    await go(path(`/workflows/${id}`));
    await page.getByText('Steps as a list').click();
    await page.getByRole('row').nth(1).getByRole('button').first().click();
    const panel = page.getByRole('complementary', { name: 'Step' });
    await panel.getByText('written as JSON').click();
    await panel.getByText('The list cannot show it').waitFor();
    await panel.locator('summary code', { hasText: 'known' }).click();
    await panel.getByText('It also has widget, which stays').waitFor();
    await panel.getByRole('textbox', { name: 'Description' }).first().fill('A hint');
    await panel.getByRole('button', { name: 'Show as JSON' }).click();
    await panel.getByRole('textbox', { name: 'Inputs as JSON' }).waitFor();
    await expectAccessible(page, { name: 'editor-inputs-json', shows: 'Show as a list', schemes: ['light'] });
    await page.getByRole('button', { name: 'Save draft' }).click();
    await page.getByText('Version 2, a draft').waitFor();
    const { body } = await client.get(`T/workflows/${id}`);
    expect(body.workflow.workflowOptions).toMatchObject({
      inputDefinitions: [written, { ...known, description: 'A hint' }],
      theme: 'dark',
    });
  });
}
