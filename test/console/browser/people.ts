import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
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
    const change = page.getByRole('row', { name: /updateQuery Done/ });
    await expect
      .poll(async () => {
        await page.reload();
        await page.getByRole('row').nth(1).waitFor();
        return change.count();
      })
      .toBe(1);
    // Its page has read it, which changes nothing.
    expect(await page.getByRole('row', { name: /getQuery/ }).count()).toBe(0);
    await page.getByRole('link', { name: 'All that was done with it' }).click();
    await page
      .getByRole('row', { name: /getQuery/ })
      .first()
      .waitFor();
    await page.getByRole('checkbox', { name: 'Changes only' }).check();
    await expect.poll(() => page.getByRole('row', { name: /getQuery/ }).count()).toBe(0);
    await change.getByRole('button').click();
    await page.getByRole('region', { name: 'Changes' }).getByText('"Audited" →').waitFor();
    expect(await scrolls(page, 'Entries')).toBe(false);
    await page.getByRole('region', { name: 'Changes' }).getByText('\\u202egnp.exe').first().waitFor();
    await expectAccessible(page, { name: 'audit-entry', shows: 'History of this' });
    expect(await page.locator('img[src="x"]').count()).toBe(0);

    await go(path(`/audit?assetID=${dataQueryID}&method=POST`));
    await page.getByRole('row', { name: /createQuery Done/ }).waitFor();
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
    await page.getByText(/^workflow, 0 of/).click();
    await page.getByRole('checkbox', { name: 'workflow.read' }).check();
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
    await assigned.getByText('workflow: 1').click();
    await assigned.getByText(`workflow.read, ${name}`).waitFor();
    expect(await scrolls(page, 'Members')).toBe(false);
    await expectAccessible(page, { name: 'member', shows: 'What this person may do' });
    await page.getByRole('button', { name: 'Remove' }).click();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(() => page.getByRole('button', { name: /^invited-/ }).count()).toBe(0);
  });

  test('an API key is shown once, works, and is refused after it is revoked', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const name = `Key ${Date.now()}`;
    await go(path('/api-keys'));
    await page.getByRole('button', { name: 'New API key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name' }).fill(name);
    await dialog.getByText(/^workflow, 0 of/).click();
    await dialog.getByRole('checkbox', { name: 'workflow.list' }).check();
    await dialog.getByLabel('Expires').fill('2099-12-31T10:00');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'New API key' }).click();
    expect(await dialog.getByRole('textbox', { name: 'Name' }).inputValue()).toBe(name);
    expect(await dialog.getByLabel('Expires').inputValue()).toBe('2099-12-31T10:00');
    await dialog.getByText(/^workflow, 1 of/).waitFor();
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
    await page.getByRole('row', { name: new RegExp(`${name}.* Valid workflow.list`) }).waitFor();
    expect(await page.content()).not.toContain(key);
    await expectAccessible(page, { name: 'api-keys', shows: name });
    await page.getByRole('button', { name: `Actions for ${name}` }).click();
    await page.getByRole('menuitem', { name: 'Revoke' }).click();
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('row', { name: new RegExp(`${name}.* Revoked`) }).waitFor();
    expect(await statusOf()).toBe(401);
  });
}

/** Whether a list is wider than its place. */
function scrolls(page: Page, name: string): Promise<boolean> {
  const list = page.getByRole('group', { name, exact: true });
  return list.evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth);
}
