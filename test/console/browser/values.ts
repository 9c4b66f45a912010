import { expect, test } from 'vitest';
import { aListener, aWorkflow, chain } from '#test/support/factories.ts';
import { expectAccessible, type Stage } from './stage.ts';

/** Fields of steps name values of the run: chosen by a click, completed, shown, and marked where they are not there. */
export function valueTests(stage: () => Stage): void {
  test('a value of the last test is chosen by the keyboard and by a click, and the field shows what it has', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const client = cluster.as(tenant.creator).in(tenant);
    await client.post('T/variables', { name: 'shopName', value: 'Corner shop' });
    const code =
      'return { customer: { name: "Ada" }, rows: Array.from({ length: 10000 }, (_, id) => ({ id, note: "row " + id })) };';
    const graph = chain({
      fetch: { title: 'Fetch', type: 'javascript', code, outputVariable: 'order' },
      send: { title: 'Send', type: 'http', url: 'https://shop.example/', method: 'POST' },
    });
    const options = { inputDefinitions: [{ key: 'orderID', type: 'string' as const, description: 'Of the shop' }] };
    const workflow = await aWorkflow(cluster, { tenant, title: 'Names values', ...graph, options });
    await go(path(`/workflows/${workflow.id}`));
    await page.getByText('Steps as a list').click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const panel = page.getByRole('complementary', { name: 'Step' });

    // Before any test: what is declared.
    await panel.getByRole('button', { name: 'Insert a value into URL' }).click();
    const tree = page.getByRole('tree', { name: 'Values' });
    await tree.getByRole('treeitem', { name: /orderID/ }).waitFor();
    await page.getByText('Test the workflow to see values here').waitFor();
    await expectAccessible(page, { name: 'values-untested', shows: 'Test the workflow', schemes: ['light'] });
    await page.keyboard.press('Escape');
    await tree.waitFor({ state: 'detached' });

    const given = { args: { orderID: 'o-1' }, pinned: { send: { output: { httpResponse: null } } } };
    const test = await client.post('T/workflows/test', { workflowID: workflow.id, ...given });
    const key = `gantry.test.${workflow.id}`;
    await page.evaluate(`sessionStorage.setItem(${JSON.stringify(key)}, ${JSON.stringify(test.body.instanceID)})`);
    await page.reload();
    await page.locator('.last-test').getByText('Completed').waitFor();
    await page.getByText('Steps as a list').click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();

    const url = panel.getByRole('textbox', { name: 'URL' });
    await panel.getByRole('button', { name: 'Insert a value into URL' }).click();
    await page.getByRole('textbox', { name: 'Find a value' }).press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await expect.poll(() => url.inputValue()).toBe('https://shop.example/{{ctx.input.orderID}}');
    await panel.getByText('"https://shop.example/o-1"').waitFor();

    // The output was too large to come with the test.
    await panel.getByRole('button', { name: 'Insert a value into Body', exact: true }).click();
    await tree
      .getByRole('treeitem', { name: /^order / })
      .locator('.value-toggle')
      .click();
    await tree
      .getByRole('treeitem', { name: /^rows / })
      .locator('.value-toggle')
      .click();
    await tree.getByText('9,950 more: search for them').waitFor();
    await expectAccessible(page, { name: 'values-tree', shows: '9,950 more' });
    await page.getByRole('textbox', { name: 'Find a value' }).fill('row 9876');
    await tree.getByRole('treeitem', { name: /ctx\.order\.rows\[9876\]\.note/ }).click();
    await expect
      .poll(() => panel.getByRole('textbox', { name: 'Body' }).textContent())
      .toBe('{{ctx.order.rows[9876].note}}');
    await panel.getByText('"row 9876"').waitFor();
    await expectAccessible(page, { name: 'values-now', shows: 'row 9876' });

    await page.getByRole('button', { name: 'Save draft' }).click();
    await page.getByText('Version 2, a draft').waitFor();
    const saved = await client.get(`T/workflows/${workflow.id}`);
    const { data } = saved.body.workflow.workflowNodes.find((node: { id: string }) => node.id === 'send');
    expect(data).toMatchObject({
      url: 'https://shop.example/{{ctx.input.orderID}}',
      body: '{{ctx.order.rows[9876].note}}',
    });
  });

  test('what is typed is completed, in fields of one line and in code, and names that are not there are marked', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const graph = chain({
      ask: { title: 'Ask', type: 'approval', outputVariable: 'decision' },
      compute: { title: 'Compute', type: 'javascript', code: 'return 1;' },
      wait: { title: 'Wait', type: 'waitForEvent', eventName: 'paid', eventKey: '{{ctx.decison.comment}}' },
    });
    const options = { inputDefinitions: [{ key: 'orderID', type: 'string' as const }] };
    const workflow = await aWorkflow(cluster, { tenant, title: 'Completes values', ...graph, options });
    await go(path(`/workflows/${workflow.id}`));
    await page.getByText('Steps as a list').click();
    await page.getByRole('button', { name: 'Wait', exact: true }).click();
    const panel = page.getByRole('complementary', { name: 'Step' });
    const key = panel.getByRole('textbox', { name: 'Key' });
    await panel.getByText('At this step there is no “decison”. Did you mean ctx.decision?').waitFor();
    await panel.locator('.value-fault', { hasText: '{{ctx.decison.comment}}' }).waitFor();
    await key.scrollIntoViewIfNeeded();
    await expectAccessible(page, { name: 'values-fault', shows: 'Did you mean' });

    await key.fill('');
    await key.pressSequentially('for {{deci');
    await page.getByRole('option', { name: /^ctx\.decision/ }).waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(() => key.inputValue()).toBe('for {{ctx.decision}}');
    await page.keyboard.type('.');
    await page.getByRole('option', { name: /^approved yes or no/ }).waitFor();
    await expectAccessible(page, { name: 'values-completed', shows: 'approved', schemes: ['light'] });
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await expect.poll(() => key.inputValue()).toBe('for {{ctx.decision.comment}}');
    await panel.getByText('A test shows the value that this has').waitFor();
    await page.keyboard.press('Escape');

    await page.getByRole('button', { name: 'Compute', exact: true }).click();
    const code = panel.getByRole('textbox', { name: 'Code' });
    await code.fill('return ctx.decison; // ctx.nothing');
    await panel.locator('.value-fault', { hasText: 'ctx.decison' }).waitFor();
    expect(await panel.locator('.value-fault').count()).toBe(1);
    await code.fill('return ctx.decision.');
    await page.keyboard.type('app');
    // The editor takes no key for a completion that it has only just shown.
    await page.getByRole('option', { name: 'approved' }).click();
    await expect.poll(() => code.textContent()).toBe('return ctx.decision.approved');
    await panel.getByRole('button', { name: 'Insert a value into Code' }).click();
    await page.getByRole('textbox', { name: 'Find a value' }).fill('order');
    await page.keyboard.press('Enter');
    await expect.poll(() => code.textContent()).toBe('return ctx.decision.approvedctx.input.orderID');
  });

  test('JavaScript shows what it gives for the data of the last test, its error, or that it has no end, and reaches nothing', async () => {
    const { cluster, page, go, path, tenant, faults } = stage();
    const client = cluster.as(tenant.creator).in(tenant);
    const branch = { id: 'large', conditions: [{ operator: 'expression' as const, leftValue: 'ctx.order.total > 5' }] };
    const graph = chain({
      fetch: {
        title: 'Fetch',
        type: 'javascript',
        code: 'return { total: 7, names: ["Ada"] };',
        outputVariable: 'order',
      },
      compute: { title: 'Compute', type: 'javascript', code: 'return { twice: ctx.order.total * 2 };' },
      choose: { title: 'Choose', type: 'condition', branches: [branch] },
    });
    const workflow = await aWorkflow(cluster, { tenant, title: 'Runs code', ...graph });
    const answered: string[] = [];
    const onAnswer = (request: { url(): string }) => answered.push(request.url());
    const shown = (text: string | RegExp) => panel.locator('.value-now', { hasText: text }).waitFor();
    const opened = async (step: string) => {
      await page.getByText('Steps as a list').click();
      await page.getByRole('button', { name: step, exact: true }).click();
    };
    const panel = page.getByRole('complementary', { name: 'Step' });
    await go(path(`/workflows/${workflow.id}`));
    await opened('Compute');
    await shown('A test shows the value that this has');

    const given = { args: {}, workflowID: workflow.id };
    const test = await client.post('T/workflows/test', given);
    const key = `gantry.test.${workflow.id}`;
    await page.evaluate(`sessionStorage.setItem(${JSON.stringify(key)}, ${JSON.stringify(test.body.instanceID)})`);
    await page.reload();
    await page.locator('.last-test').getByText('Completed').waitFor();
    await opened('Compute');
    await shown('= {twice: 14}');
    await expectAccessible(page, { name: 'values-code', shows: 'twice: 14', schemes: ['light'] });
    const code = panel.getByRole('textbox', { name: 'Code' });
    expect(await page.locator('iframe').count()).toBe(1);

    page.on('requestfinished', onAnswer);
    for (const [text, result] of cases) {
      await code.fill(text);
      await shown(result);
    }
    page.off('requestfinished', onAnswer);
    expect(answered.filter((url) => !url.startsWith(cluster.baseURL) && !url.startsWith('blob:'))).toEqual([]);
    await expectAccessible(page, { name: 'values-code-fault', shows: 'not defined', schemes: ['light'] });

    // The browser tells what the policy of the frame has refused.
    expect(faults.splice(0).filter((fault) => !/policy|refused|-src/i.test(fault))).toEqual([]);

    // A text that comes while the code of the one before runs: what that gives is dropped.
    await page.evaluate(WATCHING);
    await code.fill('for (;;);');
    await expect.poll(() => page.evaluate<number>('window.posted')).toBe(1);
    await code.fill('');
    await page.keyboard.type('return "last";');
    await shown('= "last"');
    const texts = await page.evaluate<string[]>('window.texts');
    expect(texts.filter((text) => text.includes('takes longer'))).toEqual([]);
    // Not one run for each key.
    expect(await page.evaluate<number>('window.posted')).toBeLessThan(10);

    await page.getByRole('table').getByRole('button', { name: 'Choose' }).click();
    await shown('= true');
    const field = panel.getByRole('textbox', { name: LEFT });
    await field.fill('ctx.order.total > {{ctx.order.names.length}} + 6');
    await shown('= false');
    await field.fill('ctx.order.nothing.at > 5');
    await shown(/TypeError: .*It counts as not true/);
    await page.getByRole('table').getByRole('button', { name: 'Fetch' }).click();
    await shown('= {total: 7, names: 1 item: "Ada"}');
    await page.getByRole('button', { name: 'Close the step' }).click();
    await expect.poll(() => page.locator('iframe').count()).toBe(0);
  });

  test('a field for a value becomes one for an expression when a value is chosen, and when braces are typed', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const inputDefinitions = [{ key: 'least', type: 'number' as const }];
    const made = await cluster
      .as(tenant.creator)
      .in(tenant)
      .post('T/queries', {
        ...{ dataQueryTitle: 'Takes a value', datasourceType: 'tenantdb' },
        dataQueryOptions: { query: 'select {{inputs.least}}::int as n', inputDefinitions },
      });
    const { dataQueryID } = made.body.dataQuery as { dataQueryID: string };
    const graph = chain({ fetch: { title: 'Fetch', type: 'dataQuery', dataQueryID } });
    const options = { inputDefinitions: [{ key: 'orderID', type: 'number' as const }, ...inputDefinitions] };
    const workflow = await aWorkflow(cluster, { tenant, title: 'Gives values', ...graph, options });
    await go(path(`/workflows/${workflow.id}`));
    await page.getByText('Steps as a list').click();
    await page.getByRole('button', { name: 'Fetch', exact: true }).click();
    const least = page.getByRole('textbox', { name: 'least' });
    const mode = page.getByRole('radiogroup', { name: 'How least is given' });
    await page.getByRole('button', { name: 'Fill by name (1)' }).click();
    await expect.poll(() => least.inputValue()).toBe('{{ctx.input.least}}');
    await least.fill('');
    await page.getByRole('button', { name: 'Insert a value into least' }).click();
    await page.getByRole('textbox', { name: 'Find a value' }).fill('orderid');
    await page.getByRole('textbox', { name: 'Find a value' }).press('Enter');
    await expect.poll(() => least.inputValue()).toBe('{{ctx.input.orderID}}');
    await page.getByText('A test shows the value that this has').waitFor();

    await mode.getByText('Value').click();
    await least.pressSequentially('{{ord');
    await page.getByRole('option', { name: /^ctx\.input\.orderID/ }).waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(() => least.inputValue()).toBe('{{ctx.input.orderID}}');
    expect(await mode.getByRole('radio', { name: 'Expression' }).isChecked()).toBe(true);
  });

  test('an action on events names parts of the newest one', async () => {
    const { cluster, page, go, path, tenant } = stage();
    const conditions = [{ leftValue: '{{event.body.totl}}', operator: 'greater_than', rightValue: 5 }];
    const actions = [{ actionType: 'filter', actionConfig: { conditions } }];
    const { id } = await aListener(cluster, { tenant, title: 'Names events', actions });
    const delivery = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"total": 9}' };
    expect((await fetch(`${cluster.baseURL}/webhooks/v1/inbound/${id}`, delivery)).status).toBeLessThan(300);
    await go(path(`/listeners/${id}?tab=settings`));
    await page.getByText('Events go on if event.body.totl > 5').waitFor();
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await page.getByText('event.body had no “totl” in the newest event. Did you mean event.body.total?').waitFor();
    await page.getByRole('textbox', { name: LEFT }).fill('');
    await page.getByRole('button', { name: /^Insert a value into (Left value|Value)/ }).click();
    await page.getByRole('textbox', { name: 'Find a value' }).fill('total');
    await expectAccessible(page, { name: 'values-event', shows: 'Change the action', schemes: ['light'] });
    await page.getByRole('textbox', { name: 'Find a value' }).press('Enter');
    await expect.poll(() => page.getByRole('textbox', { name: LEFT }).inputValue()).toBe('{{event.body.total}}');
    await page.locator('.value-now', { hasText: '9' }).waitFor();
  });
}

/** Counts what is given to sandboxes, and keeps all that is shown below the field. */
const WATCHING = `
  window.posted = 0;
  window.texts = [];
  const { postMessage } = MessagePort.prototype;
  MessagePort.prototype.postMessage = function (...args) {
    if (Array.isArray(args[0])) window.posted += 1;
    return postMessage.apply(this, args);
  };
  const line = document.querySelector('.value-now').parentElement;
  new MutationObserver(() => texts.push(line.textContent)).observe(line, { subtree: true, childList: true, characterData: true });`;

/** Code of a step, and what is shown below it. */
const cases: readonly (readonly [code: string, shown: string])[] = [
  ['const { order } = ctx;\nreturn order.names.map((name) => name.toUpperCase());', '= 1 item: "ADA"'],
  ['return await Promise.all([1, 2].map(async (n) => n * 2));', '= 2 items: 2, 4'],
  ['total = 1; total += 2; return total;', '= 3'],
  ['const rows = ctx.order.rows;\n\nreturn rows.length;', '(line 3)'],
  ['return 1 +', 'SyntaxError: '],
  ['for (;;);', 'takes longer than the 100 ms'],
  ['await new Promise(() => {});', 'takes longer than the 100 ms'],
  ['return "still here";', '= "still here"'],
  ['return await import("https://evil.test/code.js")', 'TypeError'],
  [
    'return [typeof fetch, typeof XMLHttpRequest, typeof WebSocket, typeof document].join()',
    'undefined,undefined,undefined,undefined',
  ],
  ['return typeof setTimeout + typeof crypto', '= "undefinedobject"'],
  ['return "x".repeat(3000000)', 'gives more than 2 MB'],
  ['throw { toString() { throw 1; } };', 'cannot be shown here'],
  ['return ctx.scriptResult', '= null'],
  ['return nothing', 'ReferenceError: nothing is not defined (line 1)'],
];

/** The field of a comparison that is compared. */
const LEFT = /^(Left value|Value)/;
