import { expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { aTenant, aWorkflow, chain } from '#test/support/factories.ts';
import { connectMCP, startMCPOf } from '#test/support/mcp.ts';
import { startAIProvider } from '../../servers/ai-provider.ts';
import { expectAccessible, forgetRefusals, HOSTILE, type Stage } from './stage.ts';

/** Settings of the tenant, and the approvals that one of them asks for. */
export function settingsTests(stage: () => Stage): void {
  test('calls over MCP wait once a setting says so, are counted in the header, and are approved or refused', async () => {
    const { cluster, page, go, tenant: other } = stage();
    // The header counts all that waits in a tenant: what other tests have left must not be in it.
    const tenant = await aTenant(cluster, { creator: other.creator });
    const path = (rest: string) => `/console/t/${tenant.id}${rest}`;
    await using mcp = await startMCPOf(cluster);
    const headers = { authorization: `Bearer ${await cluster.tokenFor(tenant.creator)}` };
    const client = await connectMCP({ mcp, tenantID: tenant.id, headers });

    const { put } = cluster.as(tenant.creator).in(tenant);
    await put('T/tool-approval-policy', { policy: 'none', byAnother: false });

    await go(path('/settings/tools'));
    await page.getByRole('radio', { name: 'Those that may destroy something' }).check();
    await expectAccessible(page, { name: 'settings-tools', shows: 'Another person must approve' });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();

    const doomed = await aWorkflow(cluster, { tenant, title: 'Doomed' });
    const spared = await aWorkflow(cluster, { tenant, title: 'Spared' });
    for (const { id } of [doomed, spared])
      await client.callTool({ name: 'delete_workflow', arguments: { workflowID: id } });
    await page.getByRole('link', { name: 'Inbox, 2 waiting' }).click();
    const calls = page.getByRole('region', { name: 'Tools to approve' });
    await calls.getByRole('row', { name: /^Delete workflow Workflow: Doomed Waits/ }).waitFor();
    await expectAccessible(page, { name: 'inbox-calls', shows: 'Delete workflow' });

    const open = async (title: string) => {
      await go(path('/inbox'));
      await calls.getByRole('row').filter({ hasText: title }).getByRole('link').click();
      await page.getByLabel('Input of the call').getByText(title).waitFor();
    };
    await open('Spared');
    await expectAccessible(page, { name: 'tool-call', shows: 'Reason of a refusal', schemes: ['light'] });
    await page.getByLabel('Reason of a refusal').fill(HOSTILE);
    await page.getByRole('button', { name: 'Refuse' }).click();
    await page.getByRole('status').getByText('Refused').waitFor();
    await page.getByText('Decided by').waitFor();
    expect(await page.locator('img[src="x"]').count()).toBe(0);
    await open('Doomed');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('status').getByText('Done').waitFor();
    const { rows } = await cluster.pool.query('select id from workflow where id = any($1)', [[doomed.id, spared.id]]);
    expect(rows).toEqual([{ id: spared.id }]);

    // As much as a call that waits may have.
    await put('T/tool-approval-policy', { policy: 'changes', byAnother: false });
    const large = { title: 'Large', workflowDescription: HOSTILE.repeat(300), draft: true };
    await client.callTool({ name: 'create_workflow', arguments: large });
    await go(path('/inbox'));
    await calls
      .getByRole('row', { name: /Create workflow .*<img src=x/ })
      .getByRole('link')
      .click();
    await page.getByLabel('Input of the call').getByText('<img src=x').waitFor();
    expect(await page.locator('img[src="x"]').count()).toBe(0);
    await page.getByRole('button', { name: 'Refuse' }).click();
    await page.getByRole('status').getByText('Refused').waitFor();

    await go(path('/inbox'));
    await page.getByText('No call waits for a decision').waitFor();
    await page.getByText('Show decided calls').click();
    await calls.getByRole('row', { name: /^Delete workflow .* Refused/ }).waitFor();
    expect(new URL(page.url()).search).toBe('?calls=all');

    // Approving by the caller is withdrawn while the page is open, and not offered after that.
    await put('T/tool-approval-policy', { policy: 'destructive', byAnother: true });
    await client.callTool({ name: 'delete_workflow', arguments: { workflowID: spared.id } });
    await open('Spared');
    await page.getByText('Up to another person').waitFor();
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Refuse' }).click();
    await page.getByRole('status').getByText('Refused').waitFor();
    await put('T/tool-approval-policy', { policy: 'none', byAnother: false });
    await client.close();
  });

  test('a tenant changes its name, logo, limits and retention; what the API refuses is said at the field', async () => {
    const { cluster, tenant, page, go, path } = stage();
    const title = `Tenant ${Date.now()}`;
    await go(path('/settings'));
    await page.getByLabel('Title').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('[aria-invalid="true"]').waitFor();
    forgetRefusals(stage(), 400);
    await page.getByLabel('Title').fill(title);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    await expect.poll(() => page.getByRole('combobox', { name: 'Tenant' }).inputValue()).toBe(title);
    const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const file = { name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(dot, 'base64') };
    await page.locator('input[type="file"]').setInputFiles(file);
    const logo = page.getByRole('img', { name: 'Logo of the tenant' });
    await logo.waitFor();
    await expect
      .poll(() => logo.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth))
      .toBe(1);
    await page.getByRole('button', { name: 'Pause all workflows' }).click();
    await page.getByRole('button', { name: 'Resume all workflows' }).click();
    await page.getByRole('button', { name: 'Pause all workflows' }).waitFor();
    await page.getByRole('button', { name: 'Delete …' }).click();
    expect(await page.getByRole('button', { name: 'Delete for good' }).isDisabled()).toBe(true);
    await page.keyboard.press('Escape');
    await expectAccessible(page, { name: 'settings', shows: 'There is no way back' });

    await page.getByRole('link', { name: 'Limits' }).click();
    await page.getByLabel('Runs that workers have at once').fill('0');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('[aria-invalid="true"]').waitFor();
    forgetRefusals(stage(), 400);
    await page.getByLabel('Runs that workers have at once').fill('7');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    await page.getByRole('row', { name: /^AI tokens per day 0 2,000,000/ }).waitFor();
    await expectAccessible(page, { name: 'settings-limits', shows: 'AI tokens per day' });
    await page.getByRole('link', { name: 'Retention' }).click();
    await page.getByLabel('Days', { exact: true }).fill('3');
    await page.getByRole('button', { name: 'Save' }).first().click();
    await page.getByText('In force: 3 days').waitFor();
    await expectAccessible(page, { name: 'settings-retention', shows: 'Days of the trail', schemes: ['light'] });

    const { body } = await cluster.as(tenant.creator).in(tenant).get('T/dispatch');
    expect(body.dispatch.maxRuns).toBe(7);
    const { patch } = cluster.as(tenant.creator).in(tenant);
    await patch('T/dispatch', { maxRuns: null });
    await patch('T/retention', { days: null });
  });

  test('variables are kept, secrets never shown; a model is set and tested; an account is connected in a window', async () => {
    const { cluster, tenant, page, go, path, context } = stage();
    const dialog = page.getByRole('dialog');
    await using provider = await startAIProvider();
    await cluster.as(tenant.creator).in(tenant).delete('T/ai-config');
    await go(path('/settings/variables'));
    const [greeting, token] = [`greeting_${Date.now()}`, `token_${Date.now()}`];
    for (const [name, value, isSecret] of [
      [greeting, HOSTILE, false],
      [token, 'hidden-word', true],
    ] as const) {
      await page.getByRole('button', { name: 'New variable' }).click();
      await dialog.getByLabel('Name').fill(name);
      if (isSecret) await dialog.getByLabel('Secret').check();
      await dialog.getByRole('textbox', { name: 'Value' }).fill(value);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.waitFor({ state: 'detached' });
    }
    await page.getByRole('row', { name: new RegExp(`^${token} secret`) }).waitFor();
    await page.getByRole('row', { name: new RegExp(`^${greeting} <img src=x.*\\\\u202egnp`) }).waitFor();
    await page.getByRole('button', { name: `Actions for ${token}` }).click();
    await page.getByRole('menuitem', { name: 'Change' }).click();
    await dialog.getByLabel('Description').fill('For the shop');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /For the shop/ }).waitFor();
    expect(await page.content()).not.toContain('hidden-word');
    expect(await page.locator('img[src="x"]').count()).toBe(0);
    const user = await aWorkflow(cluster, {
      tenant,
      title: 'Greets by a variable',
      ...chain({}, { said: `{{vars.${greeting}}}` }),
    });
    await page.getByRole('button', { name: `Show where ${greeting} is used` }).click();
    const use = dialog.getByRole('link', { name: 'Greets by a variable' });
    expect(await use.getAttribute('href')).toContain(user.id);
    await expectAccessible(page, {
      name: 'settings-variable-usage',
      shows: 'Greets by a variable',
      schemes: ['light'],
    });
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: `Show where ${token} is used` }).click();
    await dialog.getByText('No workflow names it.').waitFor();
    await page.keyboard.press('Escape');
    await expectAccessible(page, { name: 'settings-variables', shows: greeting });
    await page.getByRole('button', { name: `Actions for ${greeting}` }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByText('1 published workflow uses this variable').waitFor();
    forgetRefusals(stage(), 409);
    await dialog.getByRole('button', { name: 'Delete all the same' }).click();
    await page.getByRole('row', { name: new RegExp(greeting) }).waitFor({ state: 'detached' });

    await page.getByRole('link', { name: 'AI', exact: true }).click();
    await page.getByRole('combobox', { name: 'Fill in for' }).click();
    await page.getByRole('option', { name: 'On this machine: Ollama' }).click();
    await page.getByText('Start it with: ollama run').waitFor();
    expect(await page.getByRole('combobox', { name: 'Provider' }).inputValue()).toBe('OpenAI-compatible server');
    expect(await page.getByLabel('Address').inputValue()).toBe('http://localhost:11434/v1');
    await page.getByRole('textbox', { name: 'Model' }).fill('test-model');
    await page.getByLabel('Address').fill(provider.baseURL);
    await page.getByRole('textbox', { name: 'Key' }).fill('hidden-key');
    await page.getByRole('button', { name: 'Test the model' }).click();
    await page.getByRole('status').getByText('25 tokens').waitFor();
    await page.getByText('25 of 2,000,000').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    await page.getByText('The model is the tenant’s own.').waitFor();
    expect(await page.getByRole('textbox', { name: 'Key' }).inputValue()).not.toContain('hidden');
    await expectAccessible(page, { name: 'settings-ai', shows: 'Tokens this month' });
    await page.getByRole('button', { name: 'Delete the settings' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No model is set').waitFor();

    const providerPages = 'https://acme.test/**';
    await context.route(providerPages, (route) => route.fulfill({ body: 'The provider' }));
    await page.getByRole('link', { name: 'Accounts' }).click();
    await page.getByRole('heading', { name: 'Accounts' }).waitFor();
    await page.getByRole('combobox', { name: 'Provider' }).click();
    await page.getByRole('option', { name: 'Acme' }).click();
    await expectAccessible(page, { name: 'settings-accounts', shows: 'No account is connected', schemes: ['light'] });
    const opened = page.waitForEvent('popup');
    await page.getByRole('button', { name: 'Connect' }).click();
    const popup = await opened;
    await popup.getByText('The provider').waitFor();
    expect(new URL(popup.url()).searchParams.get('state')).toMatch(/./);
    await popup.close();
    await context.unroute(providerPages);
    await page.getByRole('alert').getByText('closed before the account was connected').waitFor();
    forgetRefusals(stage(), 400);
  });

  test('a bundle is exported; of another one it is shown what its import does, it is imported and rolled back', async () => {
    const { cluster, tenant: other, page, go } = stage();
    // Pages that other tests have made were imported, too.
    const tenant = await aTenant(cluster, { creator: other.creator });
    await aWorkflow(cluster, { tenant, title: 'To export' });
    const path = (rest: string) => `/console/t/${tenant.id}${rest}`;
    await go(path('/settings/bundles'));
    const exported = page.getByRole('region', { name: 'Export' });
    const imported = page.getByRole('region', { name: 'Import', exact: true });
    const last = page.getByRole('region', { name: 'Last imports' });
    await last.getByText('None yet.').waitFor();
    const saved = page.waitForEvent('download');
    await exported.getByRole('button', { name: 'Export' }).click();
    const text = (await (await (await saved).createReadStream()).toArray()).join('');
    expect(JSON.parse(text)).toMatchObject({ bundleVersion: 1, items: expect.any(Array) });
    await exported.getByText(/^Saved: \d+ assets?\.$/).waitFor();

    const give = (name: string, content: string) =>
      page.locator('input[type="file"]').setInputFiles({
        ...{ name, mimeType: 'application/json', buffer: Buffer.from(content) },
      });
    await give('words.json', 'no JSON');
    await imported.getByText('words.json is no JSON').waitFor();
    const payload = {
      dataQueryTitle: 'From a bundle',
      dataQueryOptions: { query: 'select 1' },
      datasourceType: 'tenantdb',
    };
    const items = [{ type: 'dataQuery', id: newID(), payload }];
    await give('bundle.json', JSON.stringify({ bundleVersion: 1, items }));
    await imported.getByRole('row', { name: 'From a bundle Query New' }).waitFor();
    await expectAccessible(page, { name: 'settings-bundles', shows: 'From a bundle' });
    await imported.getByRole('button', { name: 'Import it' }).click();
    await imported.getByText('Imported: 1 asset.').waitFor();
    await last.getByRole('button', { name: 'Roll back' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
    await last.getByText('Rolled back').waitFor();
    await go(path('/queries?search=From'));
    await page.getByText('Nothing matches the filter.').waitFor();
  });
}
