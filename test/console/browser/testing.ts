import { expect, test } from 'vitest';
import { aListener, aWorkflow } from '#test/support/factories.ts';
import { code, graph } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';
import { expectAccessible, type Stage } from './stage.ts';

/** Steps are tested while a workflow is built. */
export function testingTests(stage: () => Stage): void {
  /** Orders are listed, and a total is computed of them; beside that something is sent. */
  const aWorkflowToTest = async (title: string) => {
    const { cluster, tenant, go, path } = stage();
    const steps = graph(
      {
        start: { type: 'start', title: 'Start' },
        list: code('return ctx.input.ids.map((id) => ({ id }));', { title: 'List orders', outputVariable: 'orders' }),
        sum: code('return ctx.orders.length;', { title: 'Count them', outputVariable: 'count' }),
        send: code('throw new Error("sent");', { title: 'Send', outputVariable: 'sent' }),
        end: { type: 'end', title: 'End' },
      },
      ['start>list', 'list:success>sum', 'sum:success>end', 'list:success>send'],
    );
    const inputDefinitions = [{ key: 'ids', type: 'array' as const, required: true, title: 'Numbers of orders' }];
    const workflow = await aWorkflow(cluster, { tenant, title, ...steps, options: { inputDefinitions } });
    const client = cluster.as(tenant.creator).in(tenant);
    await go(path(`/workflows/${workflow.id}`));
    return { workflow, client };
  };

  test('a step is run with all that leads to it, then alone with what is known; its result is pinned and edited', async () => {
    const { page } = stage();
    const { workflow, client } = await aWorkflowToTest('Tested while built');
    const panel = page.getByRole('complementary', { name: 'Step' });
    const card = (id: string) => page.locator(`.react-flow__node[data-id="${id}"]`);
    await card('sum').click();
    await panel.getByText('needs a result of “List orders”').waitFor();
    expect(await panel.getByRole('button', { name: 'Run only this step' }).isDisabled()).toBe(true);
    await panel.getByRole('tab', { name: 'Result' }).click();
    await expectAccessible(page, { name: 'step-untested', shows: 'No test has reached this step yet' });

    await panel.getByRole('button', { name: 'Run to here' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Numbers of orders').fill('[7, 8]');
    await expectAccessible(page, { name: 'step-inputs', shows: 'Without writes' });
    await dialog.getByRole('button', { name: 'Start the test' }).click();
    await panel.getByRole('tab', { name: 'Result Success' }).waitFor();
    await panel.getByRole('region', { name: 'Output', exact: true }).getByText('"count": 2').waitFor();
    await panel.getByRole('region', { name: 'Input', exact: true }).getByText('ctx.orders.length').waitFor();
    await card('list').getByText('2 rows').waitFor();
    await page.locator('[aria-label="List orders, JavaScript, last test: Success, 2 rows"]').waitFor();
    expect(await card('send').getByText('Failed').count()).toBe(0);
    await page.getByText('Steps as a list').click();
    await page.getByRole('row', { name: /^List orders JavaScript .* Success, 2 rows Count them, Send$/ }).waitFor();
    await page.getByText('Steps as a list').click();
    await expectAccessible(page, { name: 'step-result', shows: '"count": 2' });

    await panel.getByRole('tab', { name: 'Settings' }).click();
    await panel.getByRole('textbox', { name: 'Code' }).fill('return ctx.orders.wrong.length;');
    await card('sum').getByText('Outdated').waitFor();
    expect(await card('list').getByText('Outdated').count()).toBe(0);
    await panel.getByRole('tab', { name: 'Result Outdated' }).click();
    await expectAccessible(page, { name: 'step-outdated', shows: 'has changed since the test' });
    await panel.getByRole('tab', { name: 'Settings' }).click();
    await panel.getByText('“Run only this step” takes the last results of “List orders”').waitFor();
    await panel.getByRole('button', { name: 'Run only this step' }).click();
    await panel.getByRole('tab', { name: 'Result Failed' }).waitFor();
    await card('sum').getByText('Cannot read properties of undefined').waitFor();
    await expectAccessible(page, { name: 'step-failed', shows: 'Cannot read properties of undefined' });
    // The result of the step before it is still that of the test that ran it.
    await card('list').click();
    await panel.getByRole('button', { name: 'Test data' }).click();
    await page.getByRole('menuitem', { name: 'Pin this result' }).click();
    await panel.getByText('Tests take this result and do not run the step').waitFor();
    await page.locator('[aria-label="List orders, JavaScript, last test: Success, 2 rows, pinned"]').waitFor();
    await panel.getByRole('button', { name: 'Edit the data' }).click();
    await dialog.getByRole('textbox', { name: 'Data' }).fill('{"orders": {"wrong": [1, 2, 3]}}');
    await expectAccessible(page, { name: 'step-pin', shows: 'everyone who may read the workflow sees it' });
    await dialog.getByRole('button', { name: 'Pin', exact: true }).click();

    await dialog.waitFor({ state: 'detached' });
    await card('sum').click();
    await panel.getByRole('heading', { name: 'Count them' }).waitFor();
    await panel.getByRole('button', { name: 'Run only this step' }).click();
    await panel.getByRole('region', { name: 'Output', exact: true }).getByText('"count": 3').waitFor();
    await page.getByRole('button', { name: 'Save draft' }).click();
    await page.getByText('Version 2, a draft').waitFor();
    await page.reload();
    await card('list').locator('.node-pin').waitFor();
    const { body } = await client.get(`T/workflows/${workflow.id}`);
    const saved = body.workflow.workflowNodes.find(({ id }: { id: string }) => id === 'list');
    expect(saved.pinned.output).toEqual({ orders: { wrong: [1, 2, 3] } });

    // A run of the version executes the step.
    const ran = await client.post(`T/workflows/${workflow.id}/execute?wait=30&version=2`, { args: { ids: [1] } });
    expect(ran.body.error.message).toContain('of undefined');
  });

  test('the whole graph is tested from its head, with what is pinned; a fault of a step is told before anything runs', async () => {
    const { page } = stage();
    const { workflow, client } = await aWorkflowToTest('Tested as a whole');
    const panel = page.getByRole('complementary', { name: 'Step' });
    await page.locator('.react-flow__node[data-id="send"]').click();
    await panel.getByRole('button', { name: 'Test data' }).click();
    await page.getByRole('menuitem', { name: 'Pin a result by hand' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Data' }).fill('nothing');
    await dialog.getByRole('button', { name: 'Pin', exact: true }).click();
    // The fault waits until the pointer is up: the button would move from under it. It is told once.
    await dialog.getByText('This is not JSON').waitFor();
    expect(await dialog.getByText('That failed').count()).toBe(0);
    await dialog.getByRole('textbox', { name: 'Data' }).fill('{"sent": true}');
    await dialog.getByRole('button', { name: 'Pin', exact: true }).click();
    // The inputs of a run are taken again.
    await client.post(`T/workflows/${workflow.id}/execute?wait=30`, { args: { ids: [1, 2, 3] } });
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    await dialog.getByText('Pinned, and not run: “Send”').waitFor();
    await dialog.getByRole('combobox', { name: 'Inputs of an earlier run' }).click();
    await page.getByRole('option', { name: /failed, started by hand or api$/ }).click();
    await expect.poll(() => dialog.getByLabel('Numbers of orders').textContent()).toMatch(/1,\s*2,\s*3/);
    await dialog.getByRole('button', { name: 'Start the test' }).click();
    await page.locator('[aria-label="End, End, last test: Success"]').waitFor();
    await page.locator('.last-test').getByText('Completed').waitFor();

    await page.locator('.react-flow__node[data-id="sum"]').click();
    await panel.getByRole('tab', { name: 'Settings' }).click();
    await panel.getByRole('textbox', { name: 'Code' }).fill('return {');
    await panel.getByRole('button', { name: 'Run only this step' }).click();
    await panel
      .getByRole('alert')
      .getByText(/“Count them”, code: /)
      .waitFor();
    stage().faults.splice(0);
  });

  test('a step in a loop is run for the first item, up to it and alone; a test that waits for a person is answered in place, or stopped', async () => {
    const { page, cluster, tenant, go, path } = stage();
    const steps = graph(
      {
        start: { type: 'start' },
        each: { type: 'loop', title: 'Each', sourceVariable: '{{ctx.input.ids}}', itemVariable: 'id' },
        double: code('return ctx.id * 2;', { title: 'Double', outputVariable: 'doubled' }),
        next: code('return ctx.doubled + 1;', { title: 'Next', outputVariable: 'next' }),
        ask: { type: 'approval', title: 'Ask' },
        end: { type: 'end' },
      },
      ['start>each', 'each:loop>double', 'double:success>next', 'each:completed>ask', 'ask:approved>end'],
    );
    const workflow = await aWorkflow(cluster, { tenant, title: 'Tested in a loop', ...steps });
    await go(path(`/workflows/${workflow.id}`));
    const panel = page.getByRole('complementary', { name: 'Step' });
    const output = panel.getByRole('region', { name: 'Output', exact: true });
    await page.locator('.react-flow__node[data-id="next"]').click();
    await panel.getByRole('button', { name: 'Test data' }).click();
    await page.getByRole('menuitem', { name: 'Change the inputs of the test' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Give it data as JSON').click();
    await dialog.getByRole('textbox', { name: 'Inputs' }).fill('{"ids": [5, 6]}');
    await dialog.getByRole('button', { name: 'Start the test' }).click();
    await output.getByText('"next": 11').waitFor();
    await panel.getByText('“Run only this step” takes the last results of “Double”').waitFor();
    const { body } = await cluster.as(tenant.creator).in(tenant).get('T/workflows/instances?limit=1');
    await panel.getByRole('button', { name: 'Run only this step' }).click();
    await expect
      .poll(() => page.locator('.last-test a').getAttribute('href'))
      .not.toContain(body.instances[0].instanceID);
    await output.getByText('"next": 11').waitFor();
    await page.locator('[aria-label="Double, JavaScript, last test: Success, 10"]').waitFor();
    // The test has left the loop at the step that it was run to.
    expect(await page.locator('.react-flow__node').getByText('Cancelled').count()).toBe(0);

    await page.locator('.react-flow__node[data-id="ask"]').click();
    await panel.getByRole('button', { name: 'Run to here' }).click();
    await panel.getByRole('tab', { name: 'Result Waiting' }).waitFor();
    await panel.getByRole('heading', { name: 'Ask' }).first().hover();
    await expectAccessible(page, { name: 'step-question', shows: 'Accept' });
    await panel.getByRole('button', { name: 'Accept' }).click();
    await panel.getByRole('tab', { name: 'Result Success' }).waitFor();
    await panel.getByRole('button', { name: 'Run to here' }).click();
    await panel.getByRole('tab', { name: 'Result Waiting' }).waitFor();
    await page.getByRole('button', { name: 'Close the step' }).click();
    await page.getByRole('button', { name: 'Show what it waits for' }).click();
    await panel.getByRole('tab', { name: 'Result Waiting', selected: true }).waitFor();
    await page.getByRole('button', { name: 'Stop the test' }).click();
    await page.locator('.last-test').getByText('Cancelled').waitFor();

    // A rejection would end the run with a failure, since nothing follows it.
    await page.getByRole('button', { name: 'Close the step' }).click();
    await page.getByRole('button', { name: 'Publish' }).click();
    await expectAccessible(page, { name: 'publish-open', shows: 'Publish all the same' });
    await dialog.getByText('If “Ask” is rejected, nothing follows and the run fails.').waitFor();
    await dialog.getByRole('button', { name: 'Show the step' }).first().click();
    await panel.getByRole('heading', { name: 'Ask' }).waitFor();
    await page.getByRole('button', { name: 'Publish' }).click();
    await dialog.getByRole('button', { name: 'Publish all the same' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('Version 1, published').waitFor();
  });

  test('a step in a map has a result for each item, which is chosen by its number', async () => {
    const { page, cluster, tenant, go, path } = stage();
    const steps = graph(
      {
        start: { type: 'start' },
        all: { type: 'map', title: 'All', sourceVariable: '{{ctx.input.ids}}', itemVariable: 'id', chunkSize: 2 },
        double: code('return ctx.id * 2;', { title: 'Double', outputVariable: 'doubled' }),
        end: { type: 'end' },
      },
      ['start>all', 'all:map>double', 'all:completed>end'],
    );
    const workflow = await aWorkflow(cluster, { tenant, title: 'Tested in a map', ...steps });
    await go(path(`/workflows/${workflow.id}`));
    const panel = page.getByRole('complementary', { name: 'Step' });
    const output = panel.getByRole('region', { name: 'Output', exact: true });
    await page.locator('.react-flow__node[data-id="double"]').click();
    await panel.getByRole('button', { name: 'Test data' }).click();
    await page.getByRole('menuitem', { name: 'Change the inputs of the test' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Give it data as JSON').click();
    await dialog.getByRole('textbox', { name: 'Inputs' }).fill('{"ids": [5, 6, 7]}');
    await dialog.getByRole('button', { name: 'Start the test' }).click();
    await output.getByText('"doubled": 10').waitFor();
    await panel.getByRole('button', { name: 'The next item' }).click();
    await output.getByText('"doubled": 12').waitFor();
    await panel.getByRole('textbox', { name: 'Item' }).fill('2');
    await output.getByText('"doubled": 14').waitFor();
    await expectAccessible(page, { name: 'step-item', shows: '"doubled": 14' });
    // A new step has no result yet: it begins with its settings.
    await page.getByRole('button', { name: 'Add a step', exact: true }).click();
    await dialog.getByRole('option', { name: /^Log/ }).click();
    await panel.getByRole('tab', { name: 'Settings', selected: true }).waitFor();
  });

  test('what a run would do is drawn on the canvas for an input: values, what depends, and why a step is not reached', async () => {
    const { page, cluster, tenant, go, path } = stage();
    const large = { operator: 'greater_than', leftValue: '{{ctx.input.amount}}', rightValue: 100 };
    const found = { operator: 'equals', leftValue: '{{ctx.customer.isKnown}}', rightValue: true };
    const url = 'https://api.example.test/customers/{{ctx.input.customer}}';
    const steps = graph(
      {
        start: { type: 'start', title: 'Start' },
        check: { type: 'condition', title: 'Large?', branches: [{ id: 'large', label: 'large', conditions: [large] }] },
        ask: { type: 'http', title: 'Customer', url, outputVariable: 'customer' },
        small: { type: 'log', title: 'Note it', message: 'small: {{ctx.input.amount}}' },
        known: { type: 'condition', title: 'Known?', branches: [{ id: 'known', conditions: [found] }] },
        greet: { type: 'log', title: 'Greet', message: 'hello {{ctx.customer.name}}' },
        end: { type: 'end', title: 'End' },
      },
      ['start>check', 'check:large>ask', 'check:default>small', 'ask:success>known', 'known:known>greet', 'greet>end'],
    );
    const workflow = await aWorkflow(cluster, { tenant, title: 'Planned', ...steps });
    await go(path(`/workflows/${workflow.id}`));
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Dry run' }).click();
    await dialog.getByText('Give it data as JSON').click();
    await dialog.getByRole('textbox', { name: 'Inputs' }).fill('{"amount": 500, "customer": 42}');
    await expectAccessible(page, { name: 'plan-dialog', shows: 'Nothing is executed' });
    await dialog.getByRole('button', { name: 'Show it' }).click();
    const plan = page.getByRole('region', { name: 'What would happen' });
    await plan.getByText('4 steps would run, 2 may run, 1 would not.').waitFor();
    const card = (id: string) => page.locator(`.react-flow__node[data-id="${id}"]`);
    await card('ask').getByText('GET api.example.test/customers/42').waitFor();
    await card('small').getByText('“Large?” leads on by “large”').waitFor();
    await card('greet').getByText('depends on the result of “Customer”').waitFor();
    await page.locator('[aria-label^="Greet, Log, May run: depends on"]').waitFor();
    await card('greet').click();
    const panel = page.getByRole('complementary', { name: 'Step' });
    await panel.getByRole('row', { name: /^message known when it runs: the result of “Customer”$/ }).waitFor();
    await expectAccessible(page, { name: 'plan', shows: '4 steps would run' });

    // The plan is of a saved version: changes are saved as a draft first.
    await panel.getByRole('textbox', { name: 'Title' }).fill('Greet them');
    await plan.getByText('The graph has changed since').waitFor();
    await plan.getByRole('button', { name: 'With another input' }).click();
    await dialog.getByRole('textbox', { name: 'Inputs' }).fill('{"amount": 5}');
    await dialog.getByRole('button', { name: 'Save the draft and show it' }).click();
    await plan.getByText('by version 2: 3 steps would run, 4 would not.').waitFor();
    await card('small').getByText('Would run').waitFor();
    await card('ask').getByText('“Large?” leads on by “otherwise”').waitFor();
    await card('greet').getByText('no way leads here').waitFor();
    await plan.getByRole('button', { name: 'Close the plan' }).click();
    await card('small').getByText('Would run').waitFor({ state: 'detached' });
    const { body } = await cluster.as(tenant.creator).in(tenant).get(`T/workflows/instances?workflowID=${workflow.id}`);
    expect(body.instances).toEqual([]);
  });

  test('a draft is tried with recent events of its listener: the same, or which step differs from what to what', async () => {
    const { page, cluster, tenant, go, path } = stage();
    const client = cluster.as(tenant.creator).in(tenant);
    const stepsOf = (text: string) =>
      graph(
        {
          start: { type: 'start', title: 'Start' },
          sum: code(text, { title: 'Net price', outputVariable: 'net' }),
          end: { type: 'end', outputParameters: [{ name: 'net', sourceVariable: '{{ctx.net}}' }] },
        },
        ['start>sum', 'sum:success>end'],
      );
    const workflow = await aWorkflow(cluster, {
      tenant,
      title: 'Tried',
      ...stepsOf('return ctx.input.event.body.price;'),
    });
    const actions = [{ actionType: 'trigger_workflow', actionConfig: { workflowID: workflow.id } }];
    const listener = await aListener(cluster, { tenant, title: 'Orders of the shop', actions });
    for (const price of [50, 150]) {
      const url = `${cluster.baseURL}/webhooks/v1/inbound/${listener.id}`;
      const headers = { 'content-type': 'application/json' };
      await fetch(url, { method: 'POST', headers, body: JSON.stringify({ price }) });
    }
    await eventually(async () => {
      const { body } = await client.get(`T/workflows/instances?workflowID=${workflow.id}&status=COMPLETED`);
      expect(body.instances).toHaveLength(2);
    });

    await go(path(`/workflows/${workflow.id}`));
    const panel = page.getByRole('complementary', { name: 'Step' });
    await page.locator('.react-flow__node[data-id="sum"]').click();
    await panel
      .getByRole('textbox', { name: 'Code' })
      .fill('const { price } = ctx.input.event.body; return price > 100 ? price - 10 : price;');
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Try with recent events' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('row', { name: /webhook \{"price":150\} Done –$/ }).waitFor();
    await dialog.getByRole('button', { name: 'Save the draft and try with 2 events' }).click();
    await dialog.getByRole('row', { name: /"price":50\} Done The same/ }).waitFor();
    const other = dialog.getByRole('row', { name: /"price":150\} Done 2 steps differ/ });
    await other.getByRole('button', { name: 'What differs' }).click();
    const differences = dialog.getByRole('region', { name: 'What differs' });
    await differences.getByRole('row', { name: 'Net price net 150 140', exact: true }).waitFor();
    await differences.getByRole('row', { name: 'The run net 150 140', exact: true }).waitFor();
    await expectAccessible(page, { name: 'replayed', shows: '2 steps differ' });
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByText('Version 2, a draft').waitFor();
  });
}
