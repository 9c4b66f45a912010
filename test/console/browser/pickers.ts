import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { aDataQuery, anOAuthConnection, aUser, aWorkflow, chain } from '#test/support/factories.ts';
import { expectAccessible, forgetRefusals, type Stage } from './stage.ts';

const NOTHING = '00000000-0000-4000-8000-000000000000';

/** Fields that name something: by its title, with its declared inputs. */
export function pickerTests(stage: () => Stage): void {
  test('a step gets its query by title, its inputs as fields, an expression in place of values, and a link', async () => {
    const { cluster, page, go, path, context, tenant } = stage();
    const client = cluster.as(tenant.creator).in(tenant);
    const title = `Orders above ${randomUUID().slice(0, 8)}`;
    const query = {
      dataQueryTitle: title,
      datasourceType: 'tenantdb',
      dataQueryOptions: {
        query: 'select {{inputs.least}}::int as n',
        inputDefinitions: [
          { key: 'least', type: 'number', required: true, description: 'In euros' },
          { key: 'note', type: 'string', default: 'none' },
        ],
      },
    };
    const made = await client.post('T/queries', query);
    const id: string = made.body.dataQuery.dataQueryID;
    // The query is not among the first that the list has.
    for (let page = 0; page < 3; page += 1)
      await client.post(
        'T/queries/bulk',
        Array.from({ length: 20 }, (_, n) => ({ ...query, dataQueryTitle: `Other ${page} ${n}` })),
      );
    const graph = chain({
      fetch: { type: 'dataQuery', title: 'Query 2', dataQueryID: NOTHING, inputValues: { legacy: 1 } },
    });
    const workflow = await aWorkflow(cluster, { tenant, title: 'Picks a query', ...graph });
    await go(path(`/workflows/${workflow.id}`));
    await page.getByText('Steps as a list').click();
    await page.getByRole('button', { name: 'Query 2', exact: true }).click();

    const picker = page.getByRole('combobox', { name: 'Query' });
    await picker.click();
    await page.getByRole('option', { name: /^Other 2 19/ }).waitFor();
    await page.getByText('There are more').waitFor();
    expect(await page.getByRole('option', { name: /^Orders above/ }).count()).toBe(0);
    // Its whole title is typed, and the list without a search does not have it.
    await picker.fill(title);
    await page.getByRole('option', { name: title }).click();
    await expect.poll(() => picker.inputValue()).toBe(title);
    await picker.fill(title.toUpperCase());
    await page.getByRole('option', { name: title }).click();
    // The step has no title of its own yet.
    await page.getByRole('heading', { name: title }).waitFor();
    await page.getByRole('textbox', { name: 'least' }).fill('5');
    await page.getByText('In euros').waitFor();
    expect(await page.getByRole('textbox', { name: 'note' }).getAttribute('placeholder')).toBe('none');
    expect(await page.getByRole('textbox', { name: 'legacy' }).inputValue()).toBe('1');
    await page.getByRole('radiogroup', { name: 'How note is given' }).getByText('Expression').click();
    await page.getByRole('textbox', { name: 'note' }).fill('{{ctx.input.note}}');
    await expectAccessible(page, { name: 'picker', shows: 'In euros' });

    const given = page.getByRole('radiogroup', { name: 'How Query is given' });
    await given.getByText('Expression').click();
    await page.getByText('Computed when the step runs').first().waitFor();
    await page.getByRole('textbox', { name: 'Query' }).fill('{{ctx.input.query}}');
    await given.getByText('Value').click();
    await expect.poll(() => picker.inputValue()).toBe(title);
    const opened = context.waitForEvent('page');
    await page.getByRole('link', { name: 'Open the query' }).click();
    const other = await opened;
    await other.getByRole('heading', { name: title }).waitFor();
    await other.close();

    await page.getByRole('button', { name: 'Save draft' }).click();
    await page.getByText('Version 2, a draft').waitFor();
    const saved = await client.get(`T/workflows/${workflow.id}`);
    const { data } = saved.body.workflow.workflowNodes.find((node: { id: string }) => node.id === 'fetch');
    expect(data).toMatchObject({
      dataQueryID: id,
      inputValues: { legacy: 1, least: 5, note: '{{ctx.input.note}}' },
    });
  });

  test('a query is made beside the field that names it, and a deleted one is told', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const client = cluster.as(tenant.creator).in(tenant);
    const { id } = await aDataQuery(cluster, { tenant, title: 'Soon gone' });
    const graph = chain({ fetch: { type: 'dataQuery', dataQueryID: id } });
    const workflow = await aWorkflow(cluster, { tenant, title: 'Lost its query', ...graph });
    expect((await client.delete(`T/queries/${id}`)).status).toBe(200);
    await go(path(`/workflows/${workflow.id}`));
    await page.getByText('Steps as a list').click();
    await page.getByRole('button', { name: 'fetch', exact: true }).click();
    await page.getByText(`It was deleted, or never existed: ${id}`).waitFor();
    await expectAccessible(page, { name: 'picker-gone', shows: 'It was deleted', schemes: ['light'] });

    await page.getByRole('button', { name: 'New query' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Title').fill('Made here');
    expect(await dialog.getByRole('combobox', { name: 'Datasource' }).inputValue()).toBe("This tenant's database");
    await dialog.getByRole('textbox', { name: 'SQL' }).fill('select {{inputs.item}}::text as n');
    await dialog.getByRole('group', { name: 'Input item' }).waitFor();
    await expectAccessible(page, { name: 'picker-new', shows: 'New query', schemes: ['light'] });
    const asked = page.waitForEvent('dialog').then(async (question) => {
      await question.dismiss();
      return question.message();
    });
    await dialog.getByRole('button', { name: 'Close' }).click();
    expect(await asked).toBe('Close without saving the changes?');
    expect(await dialog.getByLabel('Title').inputValue()).toBe('Made here');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(() => page.getByRole('combobox', { name: 'Query' }).inputValue()).toBe('Made here');
    await page.getByRole('textbox', { name: 'item' }).waitFor();
    forgetRefusals(stage(), 404);
  });

  test('a member, a role for them, and an account are made beside the fields that name them', async () => {
    const { cluster, page, go, path, tenant, context } = stage();
    const user = await aUser(cluster);
    const inputDefinitions = [{ key: 'who', type: 'string' as const, reference: 'user' }];
    const [title, role] = [`Asks a member ${Date.now()}`, `Made beside ${Date.now()}`];
    await aWorkflow(cluster, { tenant, title, options: { inputDefinitions } });
    await go(path(`/workflows?search=${encodeURIComponent(title)}`));
    await page.getByRole('button', { name: `Run ${title}` }).click();
    const add = async (email: string) => {
      await page.getByRole('button', { name: 'New member' }).click();
      await page.getByLabel('E-mail address').fill(email);
    };
    await add(`invited-here-${Date.now()}@example.com`);
    await page.getByRole('button', { name: 'New role' }).click();
    const roleDialog = page.getByRole('dialog', { name: 'New role' });
    await roleDialog.getByRole('textbox', { name: 'Name' }).fill(role);
    await expectAccessible(page, { name: 'picker-new-role', shows: 'Create the role', schemes: ['light'] });
    await roleDialog.getByRole('button', { name: 'Create the role' }).click();
    await roleDialog.waitFor({ state: 'detached' });
    const memberDialog = page.getByRole('dialog', { name: 'Add a member' });
    await memberDialog.getByText(role, { exact: true }).waitFor();
    await memberDialog.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('has no account yet, and can be chosen here').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await add(user.email);
    await memberDialog.getByRole('button', { name: 'Add', exact: true }).click();
    await memberDialog.waitFor({ state: 'detached' });
    await expect.poll(() => page.getByRole('combobox', { name: 'who' }).inputValue()).toBe(user.email);

    const account = await anOAuthConnection(cluster, { tenant });
    await go(path('/datasources/new'));
    await page.getByRole('combobox', { name: 'Type' }).fill('REST');
    await page.getByRole('option', { name: /REST/ }).click();
    await page.getByRole('combobox', { name: 'Authentication' }).click();
    await page.getByRole('option', { name: /account/i }).click();
    await page.getByRole('button', { name: 'New account' }).click();
    await page.getByRole('combobox', { name: 'Provider' }).waitFor();
    await expectAccessible(page, { name: 'picker-new-account', shows: 'New account', schemes: ['light'] });
    const provider = 'https://acme.test/**';
    await context.route(provider, (route) => route.fulfill({ body: 'The provider' }));
    const opened = page.waitForEvent('popup');
    await page.getByRole('button', { name: 'Connect' }).click();
    const popup = await opened;
    await popup.getByText('The provider').waitFor();
    await context.unroute(provider);
    // The last page of the API, which says to its opener how it went; a provider is asked in the tests of the API.
    const back = `${cluster.baseURL}/api/v1/oauth/acme/callback?state=none`;
    await popup.evaluate(`location.href = ${JSON.stringify(back)}`);
    await popup.getByRole('heading', { name: 'Not connected' }).waitFor();
    const done = JSON.stringify({ type: 'OAUTH_SUCCESS', provider: 'acme', oauthConnectionID: account.id });
    await popup.evaluate(`opener.postMessage(${done}, location.origin)`);
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const chosen = page.getByRole('combobox', { name: 'Connected account' });
    await expect.poll(() => chosen.inputValue()).toMatch(/^acme/);
    await popup.close();
    await page.getByRole('link', { name: 'Open the account' }).waitFor();
    for (const status of [400, 404]) forgetRefusals(stage(), status);
  });

  test('a step that sends a request is filled from a curl command, and says what it leaves out', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const graph = chain({ send: { type: 'http', url: 'https://old.example' } });
    const workflow = await aWorkflow(cluster, { tenant, title: 'Sends a request', ...graph });
    await go(path(`/workflows/${workflow.id}`));
    await page.getByText('Steps as a list').click();
    await page.getByRole('button', { name: 'send', exact: true }).click();
    await page.getByRole('button', { name: 'Paste a curl command' }).click();
    const dialog = page.getByRole('dialog');
    await dialog
      .getByLabel('Command')
      .fill(`curl -k -X PUT https://api.example/items/1 -H 'Content-Type: application/json' -d '{"n": 1}'`);
    await dialog.getByText('-k is left out').waitFor();
    await expectAccessible(page, { name: 'picker-curl', shows: '-k is left out', schemes: ['light'] });
    await dialog.getByRole('button', { name: 'Fill the step' }).click();
    await expect
      .poll(() => page.getByRole('textbox', { name: 'URL' }).inputValue())
      .toBe('https://api.example/items/1');
    await page.getByRole('button', { name: 'Save draft' }).click();
    await page.getByText('Version 2, a draft').waitFor();
    const saved = await cluster.as(tenant.creator).in(tenant).get(`T/workflows/${workflow.id}`);
    const { data } = saved.body.workflow.workflowNodes.find((node: { id: string }) => node.id === 'send');
    expect(data).toMatchObject({ method: 'PUT', url: 'https://api.example/items/1', bodyType: 'json', body: { n: 1 } });
  });
}
