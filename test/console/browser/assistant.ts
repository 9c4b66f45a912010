import type { Locator } from 'playwright-core';
import { expect, test } from 'vitest';
import { aMember, aWorkflow } from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { type AIProviderServer, startAIProvider } from '../../servers/ai-provider.ts';
import { expectAccessible, forgetRefusals, type Stage } from './stage.ts';

/** The assistant beside the pages, with a server of the OpenAI protocol that says what it is told to. */
export function assistantTests(stage: () => Stage): void {
  const client = () => stage().cluster.as(stage().tenant.creator).in(stage().tenant);
  const panel = () => stage().page.getByRole('complementary', { name: 'Assistant' });
  const call = (name: string, args: object) => ({ calls: [{ name, arguments: args }] });
  const sent = (provider: AIProviderServer) => {
    const { messages } = JSON.parse(provider.seen.at(-1)?.body ?? '{}') as { messages: { content: string }[] };
    return { told: messages[0]?.content ?? '', last: messages.at(-1)?.content ?? '' };
  };
  const ask = async (text: string) => {
    await panel().getByRole('textbox', { name: 'Message' }).fill(text);
    await panel().getByRole('textbox', { name: 'Message' }).press('Enter');
  };
  /** A try before may have left it open, which the browser remembers for all pages: then its code is on its way. */
  const open = async (page = stage().page) => {
    const button = page.getByRole('button', { name: 'Assistant', exact: true });
    if ((await button.getAttribute('aria-expanded')) === 'false') await page.keyboard.press('Control+j');
    await page.getByRole('complementary', { name: 'Assistant' }).waitFor();
  };
  const aDraft = async (title: string) => {
    const nodes = { start: { type: 'start' }, call: { type: 'http', title: 'Call', url: '/a' }, end: { type: 'end' } };
    return aWorkflow(stage().cluster, {
      ...{ tenant: stage().tenant, title },
      ...graph(nodes, ['start>call', 'call>end']),
    });
  };

  test('without a model it says how to get one; then it proposes a change, which is applied to the draft and not published', async () => {
    await using provider = await startAIProvider();
    const { page, go, path, cluster, tenant } = stage();
    await page.setViewportSize({ width: 1280, height: 800 });
    await client().delete('T/ai-config');
    await client().delete('T/ai/chat/session');
    const member = await aMember(cluster, { tenant, can: ['ai.execute'] });
    const theirs = await stage().open(member);
    await open(theirs);
    await theirs.getByText('An administrator of this tenant can set one').waitFor();
    await theirs.getByRole('button', { name: 'Close the assistant' }).click();
    await theirs.close();
    forgetRefusals(stage(), 403);
    const { id } = await aDraft('Orders');
    await go(path(`/workflows/${id}`));
    await page.locator('[data-id="call"]').click();
    await open();
    await panel().getByText('It needs a language model').waitFor();
    await expectAccessible(page, { name: 'assistant-no-model', shows: 'It needs a language model' });
    await page.setViewportSize({ width: 1280, height: 800 });
    await panel().getByRole('combobox', { name: 'Language model of' }).click();
    await page.getByRole('option', { name: 'Another server' }).click();
    await panel().getByLabel('Model', { exact: false }).last().waitFor();
    await panel().getByRole('textbox', { name: 'Model' }).fill('test-model');
    await panel().getByRole('textbox', { name: 'Address' }).fill('http://127.0.0.1:9/v1');
    await panel().getByRole('button', { name: 'Test the model' }).click();
    await panel().getByText('Is it running, and is the address right?').waitFor();
    forgetRefusals(stage(), 502);
    await panel().getByRole('textbox', { name: 'Address' }).fill(provider.baseURL);
    await panel().getByRole('button', { name: 'Test the model' }).click();
    await panel().getByText('The model answers').waitFor();
    await panel().getByRole('button', { name: 'Save' }).click();

    await panel().getByText('Sees Workflow “Orders”').waitFor();
    // Two people have opened it in this browser, each with a conversation of their own.
    const stored = await page.evaluate<string[]>(
      `Object.keys(localStorage).filter((key) => key.startsWith('gantry.chat.${tenant.id}'))`,
    );
    for (const { email } of [member, tenant.creator]) expect(stored).toContain(`gantry.chat.${tenant.id}.${email}`);
    await expectAccessible(page, { name: 'assistant-empty', shows: 'What does this workflow do?' });
    await page.setViewportSize({ width: 1280, height: 800 });
    const step = { id: 'wait', type: 'delay', data: { title: 'Wait a day', delayMs: 'soon' } };
    const change = {
      ...{ workflowID: id, summary: 'Waits a day **before** the end.' },
      steps: [
        { id: 'call', type: 'http', data: { title: 'Call', url: '/b', method: 'POST', body: { a: 'new' } } },
        step,
      ],
      connections: [
        { source: 'call', target: 'wait', sourceHandle: 'success' },
        { source: 'wait', target: 'end' },
      ],
      removedConnections: [{ source: 'call', target: 'end' }],
    };
    const last = Promise.withResolvers<void>();
    provider.play(
      { pieces: ['I add a step: **a', ' delay**.'], until: last.promise, ...call('proposeWorkflow', change) },
      { pieces: ['Please look at it.'] },
    );
    await ask('Wait a day before the end');
    await panel().getByText('I add a step').waitFor();
    await panel().getByRole('button', { name: 'Stop' }).waitFor();
    last.resolve();
    await panel().getByText('Please look at it.').waitFor();
    const card = panel().getByRole('region', { name: 'Proposed change' });
    await card.getByText('It cannot be published so').waitFor();
    provider.play(
      call('proposeWorkflow', {
        ...change,
        steps: [change.steps[0], { ...step, data: { title: 'Wait a day', duration: 1, unit: 'days' } }],
      }),
      { pieces: ['Corrected.'] },
    );
    await card.getByRole('button', { name: 'Have it corrected' }).click();
    await panel().getByText('Corrected.').waitFor();
    expect(sent(provider).told).toContain('"chosenStep":"call"');
    expect(sent(provider).told).toContain('"url":"/a"');
    const better = card.last();
    await better.getByText('Step Wait a day, Delay: added').waitFor();
    await better.getByRole('row', { name: 'url /a /b' }).waitFor();
    // The graph shows what the latest proposal does with it.
    const marked = (mark: string, step: string) => page.locator(`[data-id="${step}"] [data-mark="${mark}"]`);
    await marked('added', 'wait').getByText('Added').waitFor();
    await marked('changed', 'call').getByText('POST /b').waitFor();
    expect(await page.locator('[data-mark]').count()).toBe(2);
    const shown = page.getByRole('region', { name: 'Proposed on the graph' });
    await shown.getByText('1 added').waitFor();
    await expectAccessible(page, { name: 'assistant-change', shows: 'Wait a day, Delay' });
    await shown.getByRole('button', { name: 'Show the draft' }).click();
    await page.locator('[data-id="wait"]').waitFor({ state: 'detached' });
    await shown.getByRole('button', { name: 'Show the change' }).click();
    await marked('added', 'wait').waitFor();
    await page.setViewportSize({ width: 1280, height: 800 });
    await better.getByRole('button', { name: 'Apply to the draft' }).click();
    await page.locator('[data-id="wait"]').waitFor();
    await page.getByText('Not saved', { exact: true }).waitFor();
    await better.getByText('The draft has all of it.').waitFor();
    expect(await page.locator('[data-mark]').count()).toBe(0);
    // The panel of the step that is open shows what was applied, and not what was typed before.
    await page.getByRole('complementary', { name: 'Step' }).getByText('"new"').waitFor();
    const { body } = await client().get(`T/workflows/${id}`);
    expect([body.workflow.versionNumber, body.workflow.workflowNodes.length]).toEqual([1, 3]);

    await page.getByRole('button', { name: 'Undo' }).click();
    await marked('added', 'wait').waitFor();
    await better.getByRole('button', { name: 'Discard' }).click();
    await better.getByText('Discarded.').waitFor();
    // The one before it is not shown in its stead.
    await page.locator('[data-id="wait"]').waitFor({ state: 'detached' });
    await panel().getByRole('button', { name: 'Close the assistant' }).click();
  });

  test('it asks before it changes something: refused, approved after a reload, and decided in another tab', async () => {
    await using provider = await startAIProvider();
    const { page, go, path, cluster, tenant } = stage();
    await withModel(provider);
    const { id } = await aDraft('To be deleted');
    const count = async () =>
      (await cluster.pool.query('select from workflow where tenant_id = $1 and id = $2', [tenant.id, id])).rowCount;
    const deletes = call('delete_workflow', { workflowID: id });
    await go(path('/workflows'));
    await open();
    await panel().getByRole('button', { name: 'New conversation' }).click();
    provider.play(deletes, { pieces: ['As you like.'] });
    await ask('Delete it');
    const card = panel().getByRole('region', { name: 'Approval: Delete workflow' });
    await card.getByText('To be deleted').waitFor();
    expect(await card.textContent()).not.toContain(id);
    await expectAccessible(page, { name: 'assistant-approval', shows: 'May the assistant do this?' });
    await page.setViewportSize({ width: 1280, height: 800 });
    await card.getByRole('button', { name: 'Refuse' }).click();
    await panel().getByText('As you like.').waitFor();
    await panel().getByText('Delete workflow: refused').waitFor();
    expect([await count(), sent(provider).last]).toEqual([1, expect.stringContaining('did not confirm')]);

    provider.play(deletes, { pieces: ['It is gone.'] });
    await ask('Do delete it');
    await card.waitFor();
    await page.reload();
    await card.waitFor();
    const other = await page.context().newPage();
    await other.addInitScript(
      `if (origin !== 'null') sessionStorage.setItem('gantry.session', ${JSON.stringify(await page.evaluate("sessionStorage.getItem('gantry.session')"))})`,
    );
    await other.goto(page.url());
    const elsewhere: Locator = other.getByRole('complementary', { name: 'Assistant' });
    await elsewhere.getByRole('button', { name: 'Approve' }).click();
    await elsewhere.getByText('It is gone.').waitFor();
    await other.close();
    await panel().getByText('Delete workflow: approved, done').waitFor();
    expect(await count()).toBe(0);

    // A provider that fails says so in words, and the question is asked again.
    provider.play({ status: 401 }, { pieces: ['Here I am.'] });
    await panel().getByRole('button', { name: 'Do not send what is open here' }).click();
    await ask('Are you there?');
    await panel().getByText('The provider does not accept the key').waitFor();
    forgetRefusals(stage(), 502);
    await panel().getByRole('button', { name: 'Ask again' }).click();
    await panel().getByText('Here I am.').waitFor();
    expect(sent(provider).told).not.toContain('where the user is');
    const endless = Promise.withResolvers<void>();
    provider.play({ pieces: ['Once upon', ' a time'], until: endless.promise });
    await ask('Tell me a story');
    await panel().getByText('Once upon').waitFor();
    await panel().getByRole('button', { name: 'Stop' }).click();
    await panel().getByRole('button', { name: 'Send' }).waitFor();
    await expect.poll(() => provider.abandoned()).toBe(1);
    expect(await panel().getByRole('alert').count()).toBe(0);
    endless.resolve();
    await panel().getByRole('button', { name: 'Conversations' }).click();
    await page.getByRole('menuitem', { name: /^Wait a day before the end/ }).click();
    await panel().getByText('Corrected.').waitFor();
    await panel().getByRole('button', { name: 'Close the assistant' }).click();
  });

  test('it explains a failed run with its data, and writes a query that is run here and put into the form', async () => {
    await using provider = await startAIProvider();
    const { page, go, path } = stage();
    await withModel(provider);
    const nodes = { start: { type: 'start' }, send: { type: 'http', title: 'Send', url: '{{ctx.input.address}}' } };
    const { id } = await aWorkflow(stage().cluster, {
      ...{ tenant: stage().tenant, title: 'Sending' },
      ...graph(nodes, ['start>send']),
    });
    const run = await client().post(`T/workflows/${id}/execute?wait=10`, { args: { address: 'ftp://example.com' } });
    await go(path(`/runs/${run.body.instanceID}`));
    provider.play({ pieces: ['The address is of `ftp`.\n\n<img src=x onerror="throw 1">\n\n- use https'] });
    await page.getByRole('button', { name: 'Explain this failure' }).click();
    await panel().getByRole('listitem').getByText('use https').waitFor();
    await panel().getByText('<img src=x onerror="throw 1">').waitFor();
    const { told, last } = sent(provider);
    expect(last).toContain('Why did this run fail');
    expect(told).toContain('ftp://example.com');
    expect(told).toContain('"failedStep":{"id":"send"');
    await expectAccessible(page, { name: 'assistant-explains', shows: 'Sees Run “Sending”' });
    await page.setViewportSize({ width: 1280, height: 800 });

    await go(path('/queries/new'));
    await panel().getByText('Sees Query “New query”').waitFor();
    const query = 'select n, n * 2 as twice from generate_series(1, {{inputs.most}}) n';
    provider.play(
      call('proposeQuery', {
        ...{ datasourceID: null, title: 'Twice', summary: 'Numbers and their doubles.' },
        dataQueryOptions: { query, inputDefinitions: [{ key: 'most', type: 'integer', required: true }] },
      }),
      { pieces: ['There.'] },
    );
    await ask('Numbers and their doubles');
    const card = panel().getByRole('region', { name: 'Proposed query' });
    await card.getByRole('textbox', { name: 'most' }).fill('3');
    await card.getByRole('button', { name: 'Run', exact: true }).click();
    await card.getByText(/ms, 3 rows/).waitFor();
    await expectAccessible(page, { name: 'assistant-query', shows: 'Numbers and their doubles.' });
    await page.setViewportSize({ width: 1280, height: 800 });
    await card.getByRole('button', { name: 'Use it' }).click();
    await page.getByRole('region', { name: 'Query', exact: true }).getByText('generate_series').waitFor();
    expect(await page.getByRole('textbox', { name: 'Title' }).inputValue()).toBe('Twice');
    await panel().getByRole('button', { name: 'Close the assistant' }).click();

    await go(path('/workflows'));
    await page.getByRole('button', { name: 'Describe one' }).click();
    const message = panel().getByRole('textbox', { name: 'Message' });
    await expect.poll(() => message.inputValue()).toBe('Draft a workflow that ');
    const made = `Made ${Date.now()}`;
    provider.play(call('proposeWorkflow', { workflowID: null, title: made, summary: 'Ends.' }), { pieces: ['So.'] });
    await ask('Draft a workflow that ends');
    await panel().getByRole('button', { name: 'Create it as a draft' }).click();
    await page.getByRole('heading', { name: made }).waitFor();
    // One proposal makes one workflow, also after the page was left.
    await page.reload();
    await panel().getByText('It was created as a draft').waitFor();
    expect(await panel().getByRole('button', { name: 'Create it as a draft' }).count()).toBe(0);
    await panel().getByRole('button', { name: 'Close the assistant' }).click();
    await client().delete('T/ai-config');
  });

  test('a page of orders with a button is proposed, created after a yes, and changed in its builder', async () => {
    await using provider = await startAIProvider();
    const { page, go, path } = stage();
    await withModel(provider);
    const count = async () => (await client().get('T/app-pages?limit=100')).body.appPages.length;
    const before = await count();
    const refund = await aDraft('Refund');
    await go(path('/pages'));
    await open();
    await panel().getByRole('button', { name: 'New conversation' }).click();
    const title = `Orders ${Date.now()}`;
    const table = {
      ...{ name: 'orders', type: 'table', title: 'Orders' },
      properties: { items: '{{queries.orders.data}}', isSelectable: true },
    };
    const query = { title: 'All orders', dataQueryOptions: { query: 'select n as id from generate_series(1, 3) n' } };
    provider.play(
      call('proposePage', {
        ...{ appPageID: null, title, summary: 'Orders, and a **button**.' },
        sources: [{ alias: 'orders', query }],
        widgets: [
          table,
          { name: 'hello', type: 'button', title: 'Hello', properties: { label: 'Hello' }, events: { onClick: [] } },
        ],
        rows: [
          [
            { widget: 'orders', span: 8 },
            { widget: 'hello', span: 4 },
          ],
        ],
      }),
      { pieces: ['Look at it.'] },
    );
    await ask('Make a page of orders with a refund button');
    const card = panel().getByRole('region', { name: 'Proposed page' });
    await card.getByText('Query All orders').click();
    await card.getByText('generate_series').waitFor();
    await expectAccessible(page, { name: 'assistant-page', shows: 'Orders, and a' });
    await page.setViewportSize({ width: 1280, height: 800 });
    expect(await count()).toBe(before);
    await card.getByRole('button', { name: 'Create it as a draft' }).click();
    await page.waitForURL(/\/pages\/[\da-f-]+\/edit$/);
    const appPageID = /pages\/([\da-f-]+)/.exec(page.url())?.[1] ?? '';
    const stored = async () => (await client().get(`T/app-pages/${appPageID}`)).body.appPage;
    expect(await stored()).toMatchObject({ appPageTitle: title, isDraft: true, versionNumber: 1 });
    await card.getByText('It was created as a draft').waitFor();

    await panel().getByText(`Sees Page “${title}”`).waitFor();
    provider.play(
      call('proposePage', {
        ...{ appPageID, summary: 'The button refunds.', removedWidgets: ['hello'] },
        sources: [
          {
            alias: 'refund',
            workflowID: refund.id,
            inputValues: { id: '{{widgets.orders.selectedRow.id}}' },
            triggerMode: 'manual',
          },
        ],
        widgets: [
          {
            ...{ name: 'refund', type: 'button', title: 'Refund', properties: { label: 'Refund' } },
            events: { onClick: [{ type: 'TRIGGER_WORKFLOW', alias: 'refund' }] },
          },
        ],
      }),
      { pieces: ['Better.'] },
    );
    await ask('Let the button refund the order');
    await panel().getByText('Better.').waitFor();
    const change = card.last();
    await change.getByText('Widget Refund: added').waitFor();
    await change.getByText('Widget Hello: removed').waitFor();
    await change.getByRole('button', { name: 'Apply to the page' }).click();
    await change.getByText('The page has all of it.').waitFor();
    // It is in the builder, and not saved.
    expect(await stored()).toMatchObject({ versionNumber: 1 });
    await page.getByRole('button', { name: 'Undo' }).first().click();
    await change.getByText('Widget Refund: added').waitFor();
    await panel().getByRole('button', { name: 'Close the assistant' }).click();
    await client().delete('T/ai-config');
  });

  test('calls of one step are decided while what is open here is still read, and are sent once', async () => {
    await using provider = await startAIProvider();
    const { page, go, path, cluster, tenant } = stage();
    await withModel(provider);
    const drafts = await Promise.all([aDraft('First to go'), aDraft('Second to go')]);
    const ids = drafts.map(({ id }) => id);
    const reading = Promise.withResolvers<void>();
    let waits = false;
    await page.route('**/database/**', async (route) => {
      if (waits) await reading.promise;
      await route.continue();
    });
    await go(path('/queries/new'));
    await open();
    await panel().getByRole('button', { name: 'New conversation' }).click();
    const calls = ids.map((workflowID) => ({ name: 'delete_workflow', arguments: { workflowID } }));
    provider.play({ calls }, { pieces: ['Both are gone.'] });
    await ask('Delete both');
    const cards = panel().getByRole('region', { name: 'Approval: Delete workflow' });
    await expect.poll(() => cards.count()).toBe(2);
    waits = true;
    await page.reload();
    await expect.poll(() => cards.count()).toBe(2);
    let sends = 0;
    page.on('request', (request) => {
      if (request.method() === 'POST' && request.url().endsWith('/ai/chat/stream')) sends += 1;
    });
    await cards.first().getByRole('button', { name: 'Approve' }).click();
    await cards.first().getByText('waits for your other decisions').waitFor();
    await cards.last().getByRole('button', { name: 'Approve' }).click();
    reading.resolve();
    await panel().getByText('Both are gone.').waitFor();
    const left = await cluster.pool.query('select from workflow where tenant_id = $1 and id = any($2)', [
      tenant.id,
      ids,
    ]);
    expect([left.rowCount, sends]).toEqual([0, 1]);
    await page.unroute('**/database/**');
    await panel().getByRole('button', { name: 'Close the assistant' }).click();
    await client().delete('T/ai-config');
  });

  async function withModel({ baseURL }: AIProviderServer): Promise<void> {
    const model = { provider: 'openai-compatible', baseURL, model: 'test-model' };
    expect((await client().post('T/ai-config', model)).status).toBe(200);
  }
}
