import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { aListener, aWorkflow } from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import { expectAccessible, forgetRefusals, HOSTILE, type Stage } from './stage.ts';

/** Listeners: their state, what they have received, dead letters, and the test mode. */
export function listenerTests(stage: () => Stage): void {
  test('dead letters are looked into, redriven one corrected, and all after their number is said', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const script = 'return event.body.order.id > 0 ? { order: event.body.order } : null;';
    const actions = [{ actionType: 'transform', actionConfig: { script } }];
    const { id } = await aListener(cluster, { tenant, title: HOSTILE.slice(0, 150), actions });
    const deliver = async (body: object) => {
      const address = `${cluster.baseURL}/webhooks/v1/inbound/${id}`;
      const headers = { 'content-type': 'application/json', 'x-note': '<b>noted</b>' };
      const { status } = await fetch(address, { method: 'POST', headers, body: JSON.stringify(body) });
      expect(status).toBeLessThan(300);
    };
    for (const n of [1, 2, 3]) await deliver({ n, text: HOSTILE.repeat(n === 3 ? 6_000 : 1) });

    await go(path('/listeners'));
    await page
      .getByRole('row', { name: /Connected Webhook you/ })
      .first()
      .waitFor();
    await expectAccessible(page, { name: 'listeners', shows: 'Connected' });
    await eventually(async () => {
      const { body } = await cluster.as(tenant.creator).in(tenant).get(`T/listeners/${id}/events?state=dead`);
      expect(body.events.length).toBe(3);
    });
    await go(path());
    const named = page.getByRole('region', { name: 'Dead letters of the last 24 hours' });
    const letters = named.locator('div', { has: page.locator(`a[href*="${id}"]`) }).last();
    await letters.getByText('3 dead letters').waitFor();
    await letters.getByRole('link').click();
    await page.getByRole('combobox', { name: 'State of events' }).waitFor();
    await expect.poll(() => page.getByRole('row', { name: /Dead letter/ }).count(), { timeout: 15_000 }).toBe(3);
    await page
      .getByRole('button', { name: /^just now$| ago$/ })
      .first()
      .click();
    await page.getByLabel('Body of the event').getByText('"n":3').waitFor();
    await page.getByText(/The first 50,000 of [\d,]+ characters/).waitFor();
    await page.getByLabel('Headers of the event').getByText('x-note: <b>noted</b>').waitFor();
    await page.getByRole('list', { name: 'Actions of the event' }).getByText('Transform Failed').waitFor();
    expect(new URL(page.url()).search).toMatch(/^\?state=dead&event=/);
    await expectAccessible(page, { name: 'listener-event', shows: 'Body as received' });
    expect(await page.locator('img[src="x"]').count()).toBe(0);

    await page.getByRole('button', { name: 'Correct and redrive' }).click();
    await page.getByRole('textbox', { name: 'Body' }).fill('{"order": {"id": 7}}');
    await page.getByRole('button', { name: 'Redrive the corrected copy' }).click();
    await page.getByText('It repeats the event').waitFor();
    await page.getByText('Body as corrected').waitFor();
    await page.getByText('Done', { exact: true }).first().waitFor();
    await page.getByRole('button', { name: 'Close the event' }).click();
    await page.getByRole('row', { name: /Replaced/ }).waitFor();

    await page.getByRole('button', { name: 'Redrive dead letters' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('2 dead letters will be processed again').waitFor();
    await dialog.getByRole('button', { name: 'Redrive 2 dead letters' }).click();
    await dialog.getByText('Done: 2 dead letters given to workers again.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
  });

  test('dead letters that become duplicates are told from those that are processed again', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const script = 'return event.body.order.id > 0 ? { order: event.body.order } : null;';
    const actions = [{ actionType: 'transform', actionConfig: { script } }];
    const config = { dedupBy: 'header', dedupField: 'x-delivery' };
    const { id } = await aListener(cluster, { tenant, title: 'Repeated', config, actions });
    const deliver = async (body: object, delivery: string) => {
      const address = `${cluster.baseURL}/webhooks/v1/inbound/${id}`;
      const headers = { 'content-type': 'application/json', 'x-delivery': delivery };
      expect((await fetch(address, { method: 'POST', headers, body: JSON.stringify(body) })).status).toBeLessThan(300);
    };
    const client = cluster.as(tenant.creator).in(tenant);
    const countOf = async (state: string) =>
      (await client.get(`T/listeners/${id}/events?state=${state}`)).body.events.length;
    for (const delivery of ['one', 'two', 'three']) {
      await deliver({}, delivery);
    }
    await expect.poll(() => countOf('dead'), { timeout: 15_000 }).toBe(3);
    for (const delivery of ['one', 'two']) await deliver({ order: { id: 1 } }, delivery);
    await expect.poll(() => countOf('done'), { timeout: 15_000 }).toBe(2);

    await go(path(`/listeners/${id}?state=dead`));
    await page
      .getByRole('button', { name: /^just now$| ago$/ })
      .last()
      .click();
    await page.getByRole('button', { name: 'Redrive', exact: true }).click();
    await page.getByText('Another delivery with the same header “x-delivery” was accepted').waitFor();
    await page.getByRole('button', { name: /^Event [\w-]{8}$/ }).click();
    await page.getByText('Another delivery with').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Redrive dead letters' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Redrive 2 dead letters' }).click();
    await dialog.getByText('Done: 1 dead letter given to workers again. 1 is a duplicate').waitFor();
    await expectAccessible(page, { name: 'listener-duplicates', shows: '1 is a duplicate', schemes: ['light'] });
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await go(path(`/listeners/${id}?state=duplicate`));
    await page
      .getByRole('button', { name: /^just now$| ago$/ })
      .first()
      .click();
    await page.getByRole('button', { name: 'Process it anyway' }).click();
    await page.getByText('It repeats the event').waitFor();
    await page.getByText('Body as received').waitFor();
  });

  test('a refused delivery is told with its reason; a test delivery is signed and accepted, and its command is shown', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const options = { authType: 'github', authSecret: 'the word of both' } as const;
    const { id } = await aListener(cluster, { tenant, title: 'From GitHub', options });
    await go(path(`/listeners/${id}?tab=refused`));
    await page.getByText('No delivery was refused').waitFor();
    const headers = { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}`, 'x-github-event': 'push' };
    const address = `${cluster.baseURL}/webhooks/v1/inbound/${id}`;
    expect((await fetch(address, { method: 'POST', headers, body: `{"text":"${HOSTILE}"}` })).status).toBe(401);
    await page.getByRole('tab', { name: 'Refused (1)' }).waitFor();
    // Who looks at them needs no notice of them.
    await page.getByText('1 delivery was refused').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Change the secret here' }).waitFor();
    await page.getByText(/401: .*the signature is wrong/).click();
    await page.getByLabel('Headers of the refused delivery').getByText('x-github-event: push').waitFor();
    await page.getByLabel('Body of the refused delivery').getByText('<img src=x').waitFor();
    expect(await page.locator('img[src="x"]').count()).toBe(0);
    await expectAccessible(page, { name: 'listener-refused', shows: 'has not taken' });
    // The list tells it too: the listener is connected.
    await go(path('/listeners'));
    await page
      .getByRole('row', { name: /From GitHub/ })
      .getByRole('link', { name: '1 delivery refused' })
      .click();
    await page.getByRole('tab', { name: 'Refused (1)', selected: true }).waitFor();
    await page.getByRole('tab', { name: 'Events', exact: true }).click();
    expect((await fetch(address, { method: 'POST', headers, body: '{}' })).status).toBe(401);
    await page.getByText('1 delivery was refused').waitFor();
    await page.getByRole('link', { name: 'Look at the reasons' }).click();
    await page.getByRole('tab', { name: 'Refused (2)', selected: true }).waitFor();
    await page.getByRole('tab', { name: 'Events', exact: true }).click();
    await page.getByRole('tab', { name: 'Events', selected: true }).waitFor();
    expect(await page.getByText('was refused').count()).toBe(0);

    await page.getByRole('tab', { name: 'Live test' }).click();
    const tried = page.getByRole('region', { name: 'Test delivery' });
    await tried.getByRole('textbox', { name: 'Body' }).fill('{"ref": "main"}');
    await tried.getByRole('textbox', { name: 'Headers' }).fill('X-GitHub-Event: push');
    await tried.getByRole('button', { name: 'Show the curl command' }).click();
    const command = tried.getByLabel('Command', { exact: true });
    await command.getByText('x-hub-signature-256: sha256=').waitFor();
    expect(await command.textContent()).not.toContain('the word of both');
    await tried.getByRole('button', { name: 'Send' }).click();
    await tried.getByText('Accepted: the sender would get 200.').waitFor();
    await expectAccessible(page, { name: 'listener-tried', shows: 'Accepted' });
    await tried.getByRole('link', { name: 'The event' }).click();
    await page.getByLabel('Headers of the event').getByText('x-github-event: push').waitFor();
  });

  test('a webhook is made on one page: its address, who sends, the secret, and the workflow that starts', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const client = cluster.as(tenant.creator).in(tenant);
    const { id: workflowID } = await aWorkflow(cluster, {
      ...{ tenant, title: 'Started by GitHub' },
      options: { inputDefinitions: [{ key: 'branch', type: 'string', required: true }] },
      ...graph({ start: { type: 'start' }, end: { type: 'end' } }, ['start>end']),
    });
    const title = `Pushes ${Date.now()}`;
    await go(path('/listeners/new'));
    await page.getByRole('textbox', { name: 'Title' }).fill(title);
    await page.getByRole('combobox', { name: 'Authentication' }).click();
    await page.getByRole('option', { name: 'GitHub' }).click();
    await page.getByRole('button', { name: 'Create' }).click();
    // Nothing is left behind by a try that was refused.
    await page.getByText('is required', { exact: true }).waitFor();
    forgetRefusals(stage(), 400);
    await page.getByRole('button', { name: 'Make up a secret' }).click();
    await page.getByRole('button', { name: 'Copy the secret' }).waitFor();
    const secret = await page.getByLabel('Secret', { exact: true }).inputValue();
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    await page.getByRole('combobox', { name: 'Workflow' }).fill('Started by');
    await page.getByRole('option', { name: 'Started by GitHub' }).click();
    await page.getByRole('textbox', { name: 'branch' }).fill('{{event.body.ref}}');
    await expectAccessible(page, { name: 'webhook-new', shows: 'Make up a secret' });
    const sent: string[] = [];
    page.on('request', (request) => {
      const [, made] = /\/tenants\/[^/]+\/((?:datasources|listeners).*)$/.exec(request.url()) ?? [];
      if (made !== undefined && request.method() === 'POST') sent.push(made);
    });
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: title }).waitFor();
    // A page that is closed while it is made leaves no listener without its workflow.
    expect(sent).toEqual(['datasources', 'listeners']);
    await page.getByText('Connected', { exact: true }).waitFor();
    const address = await page.getByText(`${cluster.baseURL}/webhooks/v1/inbound/`).textContent();
    const body = '{"ref":"main"}';
    const signature = createHmac('sha256', secret).update(body).digest('hex');
    const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` };
    expect((await fetch(address ?? '', { method: 'POST', headers, body })).status).toBe(200);
    await page.getByRole('row', { name: /Done/ }).waitFor();
    const { body: runs } = await client.get(`T/workflows/instances?workflowID=${workflowID}`);
    expect(runs.instances).toHaveLength(1);
    const run = await client.get(`T/workflows/instances/${runs.instances[0].instanceID}`);
    expect(run.body.input).toEqual({ branch: 'main' });
  });

  test('events are shown as they come, the listener is deactivated, and its settings are a form', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const script = 'return { doubled: event.body.n * 2 };';
    const actions = [{ actionType: 'transform', actionConfig: { script } }];
    const { id } = await aListener(cluster, { tenant, title: 'Orders', actions });
    await go(path(`/listeners/${id}?tab=test`));
    await page.getByText('Events are shown here as they come.').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    let n = 20;
    // Workers learn of a test with the event after the announcement at the latest.
    await expect
      .poll(async () => {
        n += 1;
        const headers = { 'content-type': 'application/json' };
        const body = JSON.stringify({ n, text: HOSTILE });
        await fetch(`${cluster.baseURL}/webhooks/v1/inbound/${id}`, { method: 'POST', headers, body });
        return page.getByRole('article').count();
      })
      .toBeGreaterThan(0);
    const transformed = await page.getByLabel('Event after the transform').first().textContent();
    const doubled = Number(/"doubled": (\d+)/.exec(transformed ?? '')?.[1]);
    // The value is that of one of the events that were sent, 21 to `n`.
    expect(doubled % 2).toBe(0);
    expect(doubled).toBeGreaterThan(41);
    expect(doubled).toBeLessThan(2 * n + 1);
    await expectAccessible(page, { name: 'listener-test', shows: 'After the transform', schemes: ['light'] });
    expect(await page.locator('img[src="x"]').count()).toBe(0);

    const deliver = async (text: string) => {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ n: 1, text });
      await fetch(`${cluster.baseURL}/webhooks/v1/inbound/${id}`, { method: 'POST', headers, body });
    };
    await deliver(HOSTILE.repeat(300));
    await page.getByText(/The first 50,000 of [\d,]+ characters/).waitFor();
    // A megabyte is not sent to the page.
    await deliver(HOSTILE.repeat(6_000));
    await page.getByRole('article').first().getByText('The event is too large to be shown here').waitFor();
    expect(await page.locator('img[src="x"]').count()).toBe(0);
    await expectAccessible(page, { name: 'listener-test-large', shows: 'too large to be shown', schemes: ['light'] });

    await page.getByRole('button', { name: 'Deactivate' }).click();
    await page.getByText('Inactive', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Activate' }).click();
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.getByRole('tab', { name: 'Settings' }).click();
    const list = page.getByRole('region', { name: 'Actions' });
    const dialog = page.getByRole('dialog');
    await list.getByLabel('Code of Transform').getByText('doubled').waitFor();
    await list.getByRole('button', { name: 'Add an action' }).click();
    // The commonest action stands first.
    const does = dialog.getByRole('combobox', { name: 'What it does' });
    expect(await does.inputValue()).toBe('Start a workflow');
    await does.click();
    await page.getByRole('option', { name: 'Transform' }).click();
    await dialog.getByRole('textbox', { name: 'Code' }).pressSequentially('return eve');
    // Escape closes the completions, and not the dialog around.
    const completion = dialog.getByRole('option', { name: 'event', exact: true });
    await completion.waitFor();
    await page.keyboard.press('Escape');
    await completion.waitFor({ state: 'detached' });
    await dialog.getByRole('combobox', { name: 'What it does' }).click();
    await page.getByRole('option', { name: /workflow/i }).click();
    await dialog.getByRole('combobox', { name: 'Workflow' }).fill('Order approval');
    await page.getByRole('option', { name: 'Order approval' }).click();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await list.getByText('Order approval').waitFor();
    await list.getByRole('link', { name: 'Open the workflow' }).waitFor();
    await expectAccessible(page, { name: 'listener-settings', shows: 'Actions, in their order' });
    await list.getByRole('button', { name: 'Delete' }).last().click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await list.getByText('Order approval').waitFor({ state: 'detached' });

    await go(path('/listeners'));
    await page.getByRole('button', { name: 'New listener' }).click();
    await page.getByRole('radio', { name: /^A datasource/ }).check();
    // Its datasource is made here: of a type that can be listened to, with the fields of the chosen authentication alone.
    await page.getByRole('button', { name: 'New datasource' }).click();
    await dialog.getByRole('combobox', { name: 'Type' }).click();
    expect(await page.getByRole('option', { name: 'Excel' }).count()).toBe(0);
    await page.getByRole('option', { name: 'Webhook' }).click();
    await dialog.getByRole('textbox', { name: 'Title' }).fill('Hooks of GitHub');
    const shown = (name: string) => dialog.getByLabel(name, { exact: true }).count();
    expect([await shown('Secret'), await shown('User'), await shown('Bearer token')]).toEqual([0, 0, 0]);
    await dialog.getByRole('combobox', { name: 'Authentication' }).click();
    await page.getByRole('option', { name: 'GitHub' }).click();
    await dialog.getByLabel('Secret', { exact: true }).fill('of both sides');
    expect([await shown('User'), await shown('Bearer token'), await shown('Algorithm')]).toEqual([0, 0, 0]);
    await expectAccessible(page, { name: 'listener-datasource', shows: 'Previous secret', schemes: ['light'] });
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(() => page.getByRole('combobox', { name: 'Datasource' }).inputValue()).toBe('Hooks of GitHub');
    await page.getByRole('textbox', { name: 'Title' }).fill('Made here');
    await expectAccessible(page, {
      name: 'listener-new',
      shows: 'Of a type that can be listened to',
      schemes: ['light'],
    });
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Made here' }).waitFor();
    await list.getByText('events are recorded only').waitFor();
  });
}
