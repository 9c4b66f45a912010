import { expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { aWorkflow, chain } from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { expectAccessible, forgetRefusals, HOSTILE, type Stage } from './stage.ts';

/** The list of workflows, and the editor. */
export function workflowTests(stage: () => Stage): void {
  let editorPath: string;

  test('a workflow is made, gets a step, is refused at its node, corrected, published and run', async () => {
    const { cluster, page, go, path, tenant } = stage();
    await go(path('/workflows'));
    await page.getByRole('button', { name: 'New workflow' }).click();
    await page.getByRole('dialog').getByLabel('Title').fill('Made in the editor');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    await page.getByText('Version 1, a draft').waitFor();
    editorPath = new URL(page.url()).pathname;

    await page.getByText('Steps as a list').click();
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByRole('button', { name: 'Add a step', exact: true }).click();
    await page.getByRole('dialog').getByRole('combobox', { name: 'Find a step' }).fill('code');
    await page.getByRole('option', { name: /^JavaScript/ }).click();
    await page.getByRole('heading', { name: 'JavaScript' }).waitFor();
    await page.getByRole('textbox', { name: 'Code' }).fill('return {');
    await page.getByRole('row', { name: /^Start Start .* JavaScript$/ }).waitFor();
    await page.getByRole('row', { name: /^JavaScript JavaScript .* End$/ }).waitFor();
    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByText('shown at their steps').waitFor();
    await page.getByRole('row', { name: /JavaScript code:/ }).waitFor();
    forgetRefusals(stage(), 400);
    await expectAccessible(page, { name: 'editor-fault', shows: 'shown at their steps', schemes: ['light'] });

    await page.getByRole('button', { name: 'Undo' }).click();
    const code = page.getByRole('textbox', { name: 'Code' });
    expect(await code.textContent()).not.toBe('return {');
    await page.getByText('shown at their steps').waitFor({ state: 'detached' });
    expect(await page.getByRole('row', { name: /JavaScript code:/ }).count()).toBe(0);
    await page.getByRole('button', { name: 'Redo' }).click();
    expect(await code.textContent()).toBe('return {');
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('button', { name: 'Undo' }).press('Control+z');
    await page.getByRole('row', { name: /^Start Start .* End$/ }).waitFor();
    await page.getByRole('button', { name: 'Redo' }).click();
    await page.getByRole('button', { name: 'JavaScript', exact: true }).click();
    await code.fill('return { answer: ctx.');
    await page.keyboard.type('inp');
    await page.getByRole('option', { name: 'input' }).waitFor();
    await code.fill('return { answer: ctx.input.number * 2 };');
    await code.locator('.tok-keyword', { hasText: 'return' }).waitFor();
    await page.getByRole('textbox', { name: 'Result name' }).fill('doubled');
    await page.getByText('Other steps read the result by this name: {{ctx.doubled}}').waitFor();
    // Nothing is published yet: the dialog says so, publishes, and asks for the inputs.
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('dialog').getByText('nothing is published yet').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Publish and go on' }).click();
    await page.getByText('Version 2, published').waitFor();
    await page.getByRole('dialog').getByText('Give it data as JSON').click();
    await page.getByRole('dialog').getByLabel('Inputs').fill('{"number": 21}');
    await page.getByRole('dialog').getByRole('button', { name: 'Start' }).click();
    await page.getByRole('status').getByText('Completed').waitFor();
    await page.getByRole('radio', { name: 'Timeline' }).waitFor({ state: 'attached' });
    const { body } = await cluster.as(tenant.creator).in(tenant).get('T/workflows/instances?limit=1');
    expect(body.instances[0]).toMatchObject({ workflowTitle: 'Made in the editor', versionNumber: 2 });
  });

  test('a workflow is paused, says so where it is built and in the list, and is resumed', async () => {
    const { cluster, page, go, path, tenant } = stage();
    await go(editorPath);
    await page.getByRole('button', { name: 'More' }).click();
    await expectAccessible(page, { name: 'editor-more', shows: 'Runs of this workflow' });
    await page.getByRole('menuitem', { name: 'Pause' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
    await page.getByText('New runs are accepted and wait').waitFor();
    await expectAccessible(page, {
      name: 'editor-paused',
      shows: 'New runs are accepted and wait',
      schemes: ['light'],
    });
    const client = cluster.as(tenant.creator).in(tenant);
    const { body } = await client.post(`T/workflows/${editorPath.split('/').at(-1)}/execute`, { args: { number: 1 } });
    await go(path('/workflows?search=editor'));
    const row = (state: string) => page.getByRole('row', { name: new RegExp(`^Made in the editor ${state}`) });
    const choose = async (verb: 'Pause' | 'Resume') => {
      await page.getByRole('button', { name: 'Actions for Made in the editor' }).click();
      await page.getByRole('menuitem', { name: verb }).click();
      await page.getByRole('dialog').getByRole('button', { name: verb }).click();
    };
    await row('Paused').waitFor();
    await choose('Resume');
    await row('Published').waitFor();
    await choose('Pause');
    await row('Paused').waitFor();
    await go(editorPath);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('New runs are accepted and wait').waitFor({ state: 'detached' });
    await go(path(`/runs/${body.instanceID}`));
    await page.getByRole('status').getByText('Completed').waitFor();
  });

  test('two authors: the second is told, nothing is overwritten, and an earlier version is restored', async () => {
    const { cluster, page, go, path, open, tenant } = stage();
    const other = await open(tenant.creator);
    const client = cluster.as(tenant.creator).in(tenant);
    const [start, end] = [
      { type: 'start', title: 'Start' },
      { type: 'end', title: 'End' },
    ];
    const made = await client.post('T/workflows', { title: 'Of two', ...graph({ start, end }, ['start>end']) });
    const { id: workflowID } = made.body.workflow;
    const code = { type: 'javascript', title: 'JavaScript', code: 'return 1;' };
    const second = graph({ start, code, end }, ['start>code', 'code>end']);
    expect((await client.patch(`T/workflows/${workflowID}`, second)).status).toBe(200);
    const ran = await client.post(`T/workflows/${workflowID}/execute`, { args: {} });
    for (const one of [page, other]) {
      await go(path(`/workflows/${workflowID}`), one);
      await one.getByText('Version 2, published').waitFor();
    }
    const rename = async (one: typeof page, title: string) => {
      await one.getByText('Steps as a list').click();
      await one.getByRole('button', { name: 'End', exact: true }).click();
      await one.getByRole('complementary', { name: 'Step' }).getByRole('textbox', { name: 'Title' }).fill(title);
      await one.getByRole('button', { name: 'Save draft' }).click();
    };
    await rename(page, 'First');
    await page.getByText('Version 3, a draft').waitFor();
    await rename(other, 'Second');
    await other.getByRole('alert').getByText('Another author has saved').waitFor();
    const saved = await client.get(`T/workflows/${workflowID}`);
    expect(saved.body.workflow.versionNumber).toBe(3);
    expect(JSON.stringify(saved.body.workflow.workflowNodes)).toContain('First');
    await other.getByRole('button', { name: 'Save mine as a later draft' }).click();
    await other.getByText('Version 4, a draft').waitFor();

    await other.getByRole('button', { name: 'More' }).click();
    await other.getByRole('menuitem', { name: 'Versions' }).click();
    const dialog = other.getByRole('dialog');
    await dialog.getByRole('row').nth(1).getByRole('button', { name: 'What changed' }).click();
    const renamed = dialog.getByRole('region', { name: 'Step Second' });
    await renamed.getByRole('row', { name: 'Title First Second', exact: true }).waitFor();
    await dialog.getByRole('row', { name: /^4 .* by you/ }).waitFor();
    await dialog.getByRole('row', { name: /^2 / }).getByRole('button', { name: 'What changed' }).click();
    await dialog.getByRole('region', { name: 'Step JavaScript' }).getByText('added').waitFor();
    await dialog.getByRole('region', { name: 'Connection Start → JavaScript' }).waitFor();
    await expectAccessible(other, { name: 'versions', shows: 'Version 2 against' });
    await dialog.getByRole('row').nth(2).getByRole('button', { name: 'Restore as a draft' }).click();
    await other.getByText('Version 5, a draft').waitFor();
    await other.getByText('Steps as a list').click();
    await other.getByRole('button', { name: 'First' }).waitFor();
    await other.close();

    // The graph of a run is that of its version. The page has it from before, unless it is loaded anew.
    await page.goto(cluster.baseURL + path(`/runs/${ran.body.instanceID}?view=graph`));
    await page.locator('[aria-label="End, End, Success"]').waitFor();
    await page.getByText('version 2, the one that ran').waitFor();
    forgetRefusals(stage(), 412);
  });

  test('changes that are left unsaved are asked about, offered again on the next visit, and saved on the way out', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const title = `Left ${newID().slice(-12)}`;
    const workflow = await aWorkflow(cluster, { tenant, title, ...chain() });
    await go(path(`/workflows/${workflow.id}`));
    const field = page.getByRole('textbox', { name: 'Title', exact: true });
    const leave = page.getByRole('navigation').getByRole('link', { name: 'Runs' });
    const dialog = page.getByRole('dialog');
    await field.fill(`${title} again`);
    await leave.click();
    await expectAccessible(page, { name: 'editor-leave', shows: 'Save and leave' });
    await dialog.getByRole('button', { name: 'Stay' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await field.inputValue()).toBe(`${title} again`);
    await leave.click();
    await dialog.getByRole('button', { name: 'Leave without saving' }).click();
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();

    await go(path(`/workflows/${workflow.id}`));
    await expectAccessible(page, { name: 'editor-restore', shows: 'Restore your unsaved changes' });
    expect(await field.inputValue()).toBe(title);
    await page.getByRole('button', { name: 'Restore your unsaved changes' }).click();
    expect(await field.inputValue()).toBe(`${title} again`);
    await leave.click();
    await dialog.getByRole('button', { name: 'Save and leave' }).click();
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    const { body } = await cluster.as(tenant.creator).in(tenant).get(`T/workflows/${workflow.id}`);
    expect(body.workflow).toMatchObject({ title: `${title} again` });
    await go(path(`/workflows/${workflow.id}`));
    await page.getByText('Version 1, published').waitFor();
    expect(await page.getByText('Restore your unsaved changes').count()).toBe(0);
  });

  test('a workflow is found, cloned and deleted after a question', async () => {
    const { cluster, page, go, path, tenant } = stage();
    // No other has the title, also in a second try.
    const title = `Cloned ${newID().slice(-12)}`;
    const client = cluster.as(tenant.creator).in(tenant);
    const made = await client.post('T/workflows', { title, ...chain() });
    const draft = { ...chain({ code: { type: 'javascript', code: 'return 1;' } }), draft: true };
    await client.patch(`T/workflows/${made.body.workflow.id}`, draft);
    await go(path(`/workflows?search=${title}`));
    await page.getByRole('row', { name: new RegExp(`^${title} Published, with a later draft`) }).waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    await page.getByRole('button', { name: `Actions for ${title}` }).click();
    await page.getByRole('menuitem', { name: 'Clone' }).click();
    await page.getByText('Version 1').waitFor();
    await go(path(`/workflows?search=${title}`));
    await expect.poll(() => page.getByRole('row').count()).toBe(3);
    await page.getByRole('button', { name: new RegExp(`^Actions for ${title}.*cop`, 'i') }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => page.getByRole('row').count()).toBe(2);
  });

  test('the receiver of the ends of runs, and how long these are saved, are set in forms that say what is refused', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const client = cluster.as(tenant.creator).in(tenant);
    const seen: number[] = [];
    await using receiver = await startHTTP((_request, response) => {
      response.statusCode = seen.push(1) === 1 ? 500 : 200;
      response.end(HOSTILE);
    });
    const value = `whsec_${'A'.repeat(32)}`;
    await client.post('T/variables', { name: 'END_KEY', value, isSecret: true });
    await go(editorPath);
    await page.getByRole('button', { name: 'Settings', exact: true }).click();
    const dialog = page.getByRole('dialog');
    const webhook = dialog.getByRole('region', { name: 'When a run has ended' });
    const done = dialog.getByRole('button', { name: 'Done' });
    const publish = page.getByRole('button', { name: 'Publish' });
    await webhook.getByLabel('Tell a receiver').check();
    await webhook.getByLabel('Address').fill('ftp://here');
    await webhook.getByRole('combobox', { name: 'Secret' }).fill('NO_KEY');
    await done.click();
    await publish.click();
    await webhook.getByText('must be an address that begins with').waitFor();
    await webhook.getByLabel('Address').fill(`${receiver.origin}/ended`);
    expect(await webhook.getByText('must be an address that begins with').count()).toBe(0);
    await webhook.getByLabel('Cancelled').uncheck();
    const saved = dialog.getByRole('region', { name: 'Ended runs' });
    await saved.getByLabel('Days').fill('0');
    await saved.getByRole('button', { name: 'Save' }).click();
    await saved.locator('[aria-invalid="true"]').waitFor();
    await saved.getByLabel('Days').fill('14');
    await saved.getByLabel('Newest runs').fill('500');
    await saved.getByRole('button', { name: 'Save' }).click();
    await saved.getByText('In force: 14 days, the newest 500 runs.').waitFor();
    await expectAccessible(page, { name: 'editor-settings', shows: 'Tell a receiver' });
    await done.click();

    await publish.click();
    await webhook.getByText('there is no secret variable "NO_KEY"').waitFor();
    await webhook.getByRole('combobox', { name: 'Secret' }).fill('');
    await page.getByRole('option', { name: 'END_KEY' }).click();
    await done.click();
    await publish.click();
    await page.getByText(/^Version \d, published/).waitFor();
    const workflowID = editorPath.split('/').at(-1);
    const { workflow } = (await client.get(`T/workflows/${workflowID}`)).body;
    const { completionWebhook } = workflow.workflowOptions;
    expect([completionWebhook.url, completionWebhook.secret]).toEqual([`${receiver.origin}/ended`, 'END_KEY']);
    expect(completionWebhook.on).toEqual(['COMPLETED', 'FAILED']);
    expect((await client.get(`T/workflows/${workflowID}/retention`)).body.retention).toMatchObject({
      days: 14,
      runs: 500,
    });
    forgetRefusals(stage(), 400);

    const { instanceID } = (await client.post(`T/workflows/${workflowID}/execute`, {})).body;
    await go(path(`/runs/${instanceID}?view=timeline`));
    const told = page.getByRole('region', { name: 'Receiver of the end' });
    await told.getByText('Not told yet').waitFor();
    await told.getByText(/500 after .*<img src=x/).waitFor();
    await expectAccessible(page, { name: 'run-deliveries', shows: '500 after', schemes: ['light'] });
    await told.getByRole('button', { name: 'Tell it now' }).click();
    await told.getByText('Told', { exact: true }).waitFor();
    await told.getByText(/200 after/).waitFor();
    expect(await page.locator('img[src="x"]').count()).toBe(0);
  });

  test('limits of time, of runs and of failures are set in words, and stored as the API has them', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const client = cluster.as(tenant.creator).in(tenant);
    const handler = await aWorkflow(cluster, { tenant, title: 'Hears of failures' });
    const options = {
      inputDefinitions: [{ key: 'customer' }],
      workflowRunTimeout: '2 weeks',
      humanInLoopTimeout: 5_400,
      theme: 'dark',
    };
    const { id } = await aWorkflow(cluster, { tenant, title: 'Has limits', options });
    await go(path(`/workflows/${id}`));
    await page.getByRole('button', { name: 'Settings', exact: true }).click();
    const dialog = page.getByRole('dialog');
    const times = dialog.getByRole('region', { name: 'Times' });
    expect(await times.getByLabel('A run ends after', { exact: true }).inputValue()).toBe('2');
    expect(await times.getByLabel('A question waits for its answer', { exact: true }).inputValue()).toBe('90');
    await times.getByLabel('Unit of A question waits for its answer').selectOption('hours');
    await times.getByLabel('A run begins within', { exact: true }).fill('30');
    await times.getByLabel('An attempt of a step takes at most', { exact: true }).fill('2');
    await times.getByLabel('Unit of An attempt of a step takes at most').selectOption('minutes');
    const beginning = dialog.getByRole('region', { name: 'When runs begin' });
    await beginning.getByLabel('Runs at once').fill('3');
    await beginning.getByLabel('Runs that begin, at most').fill('20');
    await beginning.getByRole('combobox', { name: 'In which time they begin' }).click();
    await page.getByRole('option', { name: 'an hour' }).click();
    await beginning.getByLabel('Limit runs with the same key').check();
    const key = beginning.getByRole('textbox', { name: 'Key', exact: true });
    expect(await key.inputValue()).toBe('{{ctx.input.customer}}');
    await key.fill('{{ctx.rows}}');
    await beginning.getByText('Before a run begins there is no “rows”.').waitFor();
    await key.fill('');
    await beginning.getByRole('button', { name: 'Insert a value into Key' }).click();
    await page.getByRole('dialog', { name: 'Values for Key' }).getByText('customer', { exact: true }).click();
    await expect.poll(() => key.inputValue()).toBe('{{ctx.input.customer}}');
    await beginning.getByRole('combobox', { name: 'A further run' }).click();
    await page.getByRole('option', { name: 'The oldest of them is cancelled' }).click();
    const failures = dialog.getByRole('region', { name: 'When something fails' });
    await failures.getByRole('combobox', { name: 'After a failed run, start' }).click();
    await page.getByRole('option', { name: 'Hears of failures' }).click();
    await failures.getByLabel('Retries').fill('11');
    await failures.getByRole('combobox', { name: 'Other limits for one kind of step' }).click();
    await page.getByRole('option', { name: 'HTTP request' }).click();
    const ofKind = failures.getByRole('group', { name: 'Steps of the kind HTTP request' });
    await ofKind.getByLabel('Retries').fill('5');
    await expectAccessible(page, { name: 'editor-options', shows: 'Steps of the kind HTTP request' });
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Publish' }).click();
    await failures.getByText('received 11').waitFor();
    forgetRefusals(stage(), 400);
    await failures.getByLabel('Retries').first().fill('1');
    const about = dialog.getByRole('region', { name: 'About' });
    await about.getByLabel('Description').fill('Limits all it can');
    await about.getByLabel('Disabled').check();
    await about.getByRole('button', { name: 'Save' }).click();
    await about.getByText('Saved.').waitFor();
    await about.getByLabel('Disabled').uncheck();
    await about.getByLabel('Offer as a tool').check();
    await about.getByRole('button', { name: 'Save' }).click();
    await about.getByText('Saved.').waitFor();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByText('Version 2, published').waitFor();
    const { body } = await client.get(`T/workflows/${id}`);
    expect(body.workflow.workflowOptions).toMatchObject({
      workflowRunTimeout: '2 weeks',
      humanInLoopTimeout: '90 hours',
      queueTimeout: '30 minutes',
      defaultNodeTimeoutSeconds: 120,
      maxRunsAtOnce: 3,
      rate: { limit: 20, per: 'hour' },
      concurrency: { key: '{{ctx.input.customer}}', limit: 1, onLimit: 'cancel-old', scope: 'workflow' },
      onFailure: { workflowID: handler.id },
      defaultRetryLimit: 1,
      nodeDefaults: { http: { retryLimit: 5 } },
      theme: 'dark',
    });
    expect(body.workflow).toMatchObject({
      workflowDescription: 'Limits all it can',
      isDisabled: false,
      isOfferedAsTool: true,
    });
  });

  test('the list and the editor: no finding by axe, and no sideways scroll', async () => {
    const { cluster, tenant, page, go, path } = stage();
    const child = await aWorkflow(cluster, { tenant, title: 'Called' });
    const call = { type: 'subWorkflow', childWorkflowID: child.id };
    await aWorkflow(cluster, { tenant, title: 'Calls it', ...chain({ call }) });
    await go(path('/workflows'));
    await expectAccessible(page, { name: 'workflows', shows: 'Order approval' });
    await page.getByRole('button', { name: 'Actions for Called' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByText('These workflows call it and fail from then on: “Calls it”.').waitFor();
    await page.getByRole('button', { name: 'Keep it' }).click();
    await go(editorPath);
    await page.getByText('Steps as a list').click();
    await page.getByRole('button', { name: 'JavaScript', exact: true }).click();
    await page.getByText('After an error').first().waitFor({ state: 'attached' });
    await expectAccessible(page, { name: 'editor', shows: 'Remove the step' });
    // Descriptions of its fields name code as code.
    await page
      .locator('code', { hasText: /^\{\{ctx\.\w+\}\}$/ })
      .first()
      .waitFor({ state: 'attached' });
    expect(await page.getByText('`').count()).toBe(0);
  });
}
