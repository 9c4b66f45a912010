import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { aTenant, aWorkflow } from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { expectAccessible, forgetRefusals, HOSTILE, type Stage } from './stage.ts';

/** Who did what, and who may do what. */
export function peopleTests(stage: () => Stage): void {
  test('who changed a query is read from its page: who, and from what to what', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const client = cluster.as(tenant.creator).in(tenant);
    const { body } = await client.post('T/queries', {
      ...{ dataQueryTitle: 'Audited', datasourceType: 'tenantdb', dataQueryOptions: { query: 'select 1' } },
    });
    const { dataQueryID } = body.dataQuery;
    await client.patch(`T/queries/${dataQueryID}`, {
      ...{ dataQueryTitle: HOSTILE.slice(0, 150), dataQueryOptions: { query: `select 1 -- ${HOSTILE.repeat(2_500)}` } },
    });
    await go(path(`/queries/${dataQueryID}`));
    await page.getByRole('link', { name: 'Who changed this' }).click();
    await page.getByRole('heading', { name: 'History of an asset' }).waitFor();
    const change = page.getByRole('row', { name: /Update query Done/ });
    await expect
      .poll(async () => {
        await page.reload();
        await page.getByRole('row').nth(1).waitFor();
        return change.count();
      })
      .toBe(1);
    // Its page has read it, which changes nothing.
    expect(await page.getByRole('row', { name: /Get query/ }).count()).toBe(0);
    await page.getByRole('link', { name: 'All that was done with it' }).click();
    await page
      .getByRole('row', { name: /Get query/ })
      .first()
      .waitFor();
    await page.getByRole('checkbox', { name: 'Changes only' }).check();
    await expect.poll(() => page.getByRole('row', { name: /Get query/ }).count()).toBe(0);
    await change.getByRole('button').click();
    // Fields by their titles, and not by the names that they have in the API.
    await page.getByRole('region', { name: 'Changes' }).getByText('Changed the query').waitFor();
    await page.getByRole('region', { name: 'Changes' }).getByText('Title: "Audited" →').waitFor();
    expect(await scrolls(page, 'Entries')).toBe(false);
    await page.getByRole('region', { name: 'Changes' }).getByText('\\u202egnp.exe').first().waitFor();
    await expectAccessible(page, { name: 'audit-entry', shows: 'History of this query' });
    expect(await page.locator('img[src="x"]').count()).toBe(0);

    await go(path(`/audit?assetID=${dataQueryID}&method=POST`));
    await page.getByRole('row', { name: /Create query Done/ }).waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    await page.getByRole('button', { name: 'Export' }).click();
    const saved = page.waitForEvent('download');
    await page.getByRole('menuitem', { name: 'JSON lines' }).click();
    const file = await (await saved).createReadStream();
    const lines = (await file.toArray()).join('').trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).metadata.request.operation)).toEqual(['createQuery']);
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByRole('status').getByText('Intact').waitFor();
  });
  test('a role is made, a member invited with it, and their page says what they may do, by which role', async () => {
    const { page, go, path } = stage();
    const name = `Reader ${Date.now()}`;
    await go(path('/roles'));
    await page.getByRole('button', { name: 'New role' }).click();
    await page.getByText('Workflows and their runs').first().click();
    await choose(page, 'Open them, and see their runs', 'On all');
    await page.getByText('see the list · open them, and see their runs').waitFor();
    await page.getByText('Comes with: open them, and see their runs').waitFor();
    await page.getByRole('button', { name: 'Create the role' }).click();
    await page.getByRole('textbox', { name: 'Name' }).and(page.locator('[aria-invalid="true"]')).waitFor();
    forgetRefusals(stage(), 400);
    await page.getByRole('textbox', { name: 'Name' }).fill(name);
    await page.getByRole('button', { name: 'Create the role' }).click();
    await page.getByRole('heading', { name }).waitFor();
    await page.getByRole('checkbox', { name: 'Everything' }).waitFor();
    await expectAccessible(page, { name: 'role', shows: 'Save the role' });

    await go(path('/members'));
    await page.getByRole('button', { name: 'Add a member' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('E-mail address').fill('not an address');
    await dialog.getByRole('button', { name: 'Add' }).click();
    await dialog.locator('[aria-invalid="true"]').waitFor();
    forgetRefusals(stage(), 400);
    await dialog.getByLabel('E-mail address').fill(`invited-${Date.now()}@example.com`);
    await dialog.getByRole('combobox', { name: 'Roles' }).click();
    await page.getByRole('option', { name }).click();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Add a member' }).click();
    await dialog.getByText(name, { exact: true }).waitFor();
    await dialog.getByRole('button', { name: 'Add' }).click();
    const assigned = page.getByRole('region', { name: 'What this person may do' });
    await assigned.getByText('Workflows and their runs: 2').click();
    await assigned.getByText(`Open them, and see their runs, ${name}`).waitFor();
    expect(await scrolls(page, 'Members')).toBe(false);
    await expectAccessible(page, { name: 'member', shows: 'What this person may do' });
    await page.getByRole('button', { name: 'Remove' }).click();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(() => page.getByRole('button', { name: /^invited-/ }).count()).toBe(0);
  });

  test('a colleague gets a role for one workflow, finds it, runs it, and sees the run and nothing else', async () => {
    const { cluster, page, go, path, tenant, open } = stage();
    const client = cluster.as(tenant.creator).in(tenant);
    const sent = `Send ${Date.now()}`;
    const part = await aWorkflow(cluster, { tenant, title: sent });
    const title = `Import ${Date.now()}`;
    const step = { type: 'subWorkflow', childWorkflowID: part.id };
    const whole = await aWorkflow(cluster, {
      ...{ tenant, title },
      ...graph({ start: { type: 'start' }, step, end: { type: 'end' } }, ['start>step', 'step>end']),
    });
    const name = `Clerk ${Date.now()}`;
    const email = `bob-${Date.now()}@example.com`;

    // The page reads the names of members before the colleague has one.
    const names = page.waitForResponse(/\/users\?limit=100$/);
    await page.goto(cluster.baseURL + path('/audit'));
    await names;
    await go(path('/roles'));
    await page.getByRole('button', { name: 'New role' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill(name);
    await page.getByText('Workflows and their runs').first().click();
    await choose(page, 'Run, cancel and repeat', 'On these');
    await page.getByRole('combobox', { name: 'Run, cancel and repeat: on these' }).fill('Import');
    await page.getByRole('option', { name: title }).click();
    await page.getByRole('status').getByText('Added, because it is started as a part').waitFor();
    await page.getByText('run, cancel and repeat (2)').waitFor();
    // The button is in view, although the permissions below fill the window.
    const button = await page.getByRole('button', { name: 'Create the role' }).boundingBox();
    expect((button?.y ?? 9_999) + (button?.height ?? 0)).toBeLessThan(page.viewportSize()?.height ?? 0);
    await page.getByText('Comes with: run, cancel and repeat').waitFor();
    const seen = page.getByRole('region', { name: 'What a member with this role sees' });
    await seen.getByText('finds these pages: Home, Runs, Inbox, Workflows.').waitFor();
    await seen.getByText('Workflows and their runs: 4').click();
    await seen.getByText(`Run, cancel and repeat: “${title}”, ${name}`).waitFor();
    await expectAccessible(page, { name: 'role-on-these', shows: 'On these' });
    await seen.getByRole('combobox', { name: 'Member' }).click();
    await page.getByRole('option', { name: tenant.creator.email }).click();
    await seen.getByText('Everything in this tenant, as an administrator').waitFor();
    await page.getByRole('button', { name: 'Create the role' }).click();
    await page.getByRole('button', { name: 'Save the role' }).waitFor();

    await go(path('/members'));
    await page.getByRole('button', { name: 'Add a member' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('E-mail address').fill(email);
    // The role of this one workflow is found by the workflow, too.
    for (const one of [title, sent]) {
      await dialog.getByRole('combobox', { name: 'Or only to run workflows' }).fill(one);
      await page.getByRole('option', { name: one }).click();
    }
    await expectAccessible(page, { name: 'add-member', shows: 'Or only to run workflows', schemes: ['light'] });
    // A dialog that is closed has made no role; what was chosen in it stays.
    const rolesToRun = async () => {
      const { body } = await client.get('T/roles?pageSize=1000');
      return body.roles.filter(({ roleName }: { roleName: string }) => roleName === `Run ${sent}`).length;
    };
    await dialog.getByRole('button', { name: 'Close' }).click();
    expect(await rolesToRun()).toBe(0);
    await page.getByRole('button', { name: 'Add a member' }).click();
    await dialog.getByRole('button', { name: 'Add' }).click();
    await page.getByRole('region', { name: 'What this person may do' }).waitFor();
    expect(await rolesToRun()).toBe(1);
    // The role that was there for the first one is taken.
    const { users } = (await client.get(`T/users?search=${encodeURIComponent(email)}`)).body;
    const named = users.flatMap(({ roles }: { roles: { roleName: string }[] }) =>
      roles.map(({ roleName }) => roleName),
    );
    expect(named.sort()).toEqual([name, `Run ${sent}`]);

    const bobs = await open({ email });
    await bobs.getByRole('link', { name: 'Workflows', exact: true }).click();
    await bobs.getByRole('link', { name: title }).waitFor();
    const titles = (await client.get('T/workflows?pageSize=100')).body.workflows.length;
    expect(titles).toBeGreaterThan(2);
    // The head, the workflow and the one that it starts.
    expect(await bobs.getByRole('row').count()).toBe(3);
    expect(await bobs.getByRole('button', { name: /^Run (Import|Send) \d+$/ }).count()).toBe(2);
    // Home offers the workflows to a member who may only run.
    await bobs.getByRole('link', { name: 'Home', exact: true }).click();
    const mine = bobs.getByRole('region', { name: 'Workflows that you may run' });
    await mine.getByText(title).waitFor();
    await expectAccessible(bobs, { name: 'home-of-runner', shows: 'Workflows that you may run' });
    await mine.getByRole('button', { name: `Run ${title}` }).click();
    await bobs
      .getByRole('dialog')
      .getByRole('button', { name: /^(Run|Start)/ })
      .click();
    await bobs.getByText('Completed').first().waitFor();
    expect(bobs.url()).toContain('/runs/');
    await go(path('/runs'), bobs);
    await expect.poll(() => bobs.getByRole('row').count()).toBe(3);
    // A member who may not list members still sees which runs are their own.
    await bobs.getByRole('row', { name: new RegExp(`^${title} .* you `) }).waitFor();
    await bobs.getByRole('link', { name: title }).click();
    await bobs.getByText('you', { exact: true }).waitFor();
    await bobs.close();
    await go(path('/runs'));
    await page.getByRole('row', { name: new RegExp(`^${title} .* ${email} `) }).waitFor();
    await client.delete(`T/workflows/${whole.id}?force=true`);
    await client.delete(`T/workflows/${part.id}?force=true`);
  });

  test('a tenant without roles gets the ready ones by a click', async () => {
    const { cluster, page, go } = stage();
    const { tenant } = stage();
    const other = await aTenant(cluster, { creator: tenant.creator });
    await go(`/console/t/${other.id}/roles`);
    await page.getByRole('button', { name: 'Add the ready roles' }).waitFor();
    await expectAccessible(page, { name: 'roles-empty', shows: 'Add the ready roles' });
    await page.getByRole('button', { name: 'Add the ready roles' }).click();
    await page.getByRole('button', { name: 'Operator of runs' }).waitFor();
    expect(await page.getByRole('button', { name: 'Add the ready roles' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Builder' }).click();
    await page.getByText('Workflows and their runs').first().click();
    await expectAccessible(page, { name: 'roles-ready', shows: 'Save the role' });

    // More members than a list shows: the first of them, who is found by the address alone.
    const client = cluster.as(tenant.creator).in(other);
    const add = (userEmail: string) => client.post('T/users', { userEmail, roleIDs: [] });
    const { roles } = (await client.get('T/roles?search=Viewer')).body;
    await client.post('T/users', { userEmail: 'zoe-the-first@example.com', roleIDs: [roles[0].roleID] });
    await Promise.all(Array.from({ length: 51 }, (_, at) => add(`member-${at}@example.com`)));
    await page.reload();
    const seen = page.getByRole('region', { name: 'What a member with this role sees' });
    await seen.getByRole('combobox', { name: 'Member' }).fill('zoe');
    await page.getByRole('option', { name: 'zoe-the-first@example.com' }).click();
    await seen.getByText('zoe-the-first@example.com finds these pages').waitFor();
    await seen.getByText(/^Workflows and their runs: /).click();
    await seen
      .locator('li:visible', { hasText: /, Builder, Viewer$/ })
      .first()
      .waitFor();
  });

  test('an API key ends in 90 days unless another end is chosen, and never only with a warning', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const client = cluster.as(tenant.creator).in(tenant);
    const dialog = page.getByRole('dialog');
    const create = async (name: string, lifetime?: string) => {
      await go(path('/api-keys'));
      await page.getByRole('button', { name: 'New API key' }).click();
      await dialog.getByRole('textbox', { name: 'Name' }).fill(name);
      if (lifetime) await dialog.getByRole('radio', { name: lifetime }).check();
      if (lifetime === 'Never') {
        await dialog.getByText('Without an end').waitFor();
        await expectAccessible(page, { name: 'api-key-never', shows: 'Without an end' });
      }
      await dialog.getByRole('button', { name: 'Create' }).click();
      await dialog.getByText('Copy it now').waitFor();
      await dialog.getByRole('button', { name: 'Done' }).click();
      await dialog.waitFor({ state: 'detached' });
      const { apiKeys } = (await client.get(`T/apikeys?search=${encodeURIComponent(name)}`)).body;
      const { apiKeyExpiry, createdAt } = apiKeys[0];
      return apiKeyExpiry && Math.round((Date.parse(apiKeyExpiry) - Date.parse(createdAt)) / 86_400_000);
    };
    expect(await create(`Usual ${Date.now()}`)).toBe(90);
    expect(await create(`Year ${Date.now()}`, 'In 365 days')).toBe(365);
    expect(await create(`Endless ${Date.now()}`, 'Never')).toBe(null);
  });

  test('an API key is shown once, works, and is refused after it is revoked', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const name = `Key ${Date.now()}`;
    await go(path('/api-keys'));
    await page.getByRole('button', { name: 'New API key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name' }).fill(name);
    await dialog.getByText('Workflows and their runs').click();
    await dialog.getByRole('checkbox', { name: 'See the list' }).check();
    await dialog.getByRole('radio', { name: 'On another date' }).check();
    await dialog.getByLabel('Last day').fill('2001-01-01');
    await dialog.getByText('Choose a day that is not over').waitFor();
    await dialog.getByLabel('Last day').fill('2099-12-31');
    await dialog.getByText(/Valid until .*2099/).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'New API key' }).click();
    expect(await dialog.getByRole('textbox', { name: 'Name' }).inputValue()).toBe(name);
    expect(await dialog.getByLabel('Last day').inputValue()).toBe('2099-12-31');
    await dialog.getByText('see the list').waitFor();
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByText('Copy it now').waitFor();
    const key = (await dialog.locator('code').textContent())?.trim() ?? '';
    const statusOf = async () => {
      const headers = { 'x-api-key': key };
      const { status } = await fetch(`${cluster.baseURL}/api/v1/tenants/${tenant.id}/workflows`, { headers });
      return status;
    };
    expect(await statusOf()).toBe(200);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page
      .getByRole('row', { name: new RegExp(`${name}.* Valid Workflows and their runs: see the list`) })
      .waitFor();
    expect(await page.content()).not.toContain(key);
    await expectAccessible(page, { name: 'api-keys', shows: name });
    await page.getByRole('button', { name: `Actions for ${name}` }).click();
    await page.getByRole('menuitem', { name: 'Revoke' }).click();
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('row', { name: new RegExp(`${name}.* Revoked`) }).waitFor();
    expect(await statusOf()).toBe(401);
  });
}

/** Sets on what a permission is granted, in the open group of a role. */
async function choose(page: Page, words: string, scope: 'No' | 'On all' | 'On these'): Promise<void> {
  await page
    .getByRole('radiogroup', { name: `Workflows and their runs: ${words}` })
    .getByText(scope, { exact: true })
    .click();
}

interface Wide {
  scrollWidth: number;
  clientWidth: number;
}

/** Whether a list is wider than its place. */
function scrolls(page: Page, name: string): Promise<boolean> {
  const list = page.getByRole('group', { name, exact: true });
  return list.evaluate(({ scrollWidth, clientWidth }: Wide) => scrollWidth > clientWidth);
}
