import assert from 'node:assert/strict';
import { find, idAfter, type Task } from '../task.ts';
import { addWorkflow, chain, run, runSQL, statusOf } from '../workspace.ts';

const pay = chain({
  pay: { type: 'set', title: 'Pay', assignments: [{ name: 'paid', value: '{{ctx.input.amount}}' }] },
  end: { type: 'end', outputParameters: [{ name: 'paid', sourceVariable: '{{ctx.paid}}' }] },
});

export const buildTasks: Task[] = [
  {
    name: 'ask-for-an-approval',
    prompt: 'In the workflow "Pay an invoice", ask for an approval before amounts over 500 are paid. Publish it.',
    async prepare(workspace) {
      const workflowID = await addWorkflow(workspace, 'Pay an invoice', pay, { inputs: { amount: 'number' } });
      return {
        async solve(tools) {
          const id = await find(tools, 'workflow', 'Pay an invoice');
          await tools('read_asset', { type: 'workflow', id });
          for (const type of ['condition', 'approval']) await tools('get_form', { of: 'step', type });
          const over = { operator: 'greater_than', leftValue: '{{ctx.input.amount}}', rightValue: 500 };
          const nodes = [
            ...pay.workflowNodes,
            { id: 'size', type: 'condition', data: { branches: [{ id: 'large', conditions: [over] }] } },
            { id: 'ask', type: 'approval', data: { title: 'Pay {{ctx.input.amount}}?' } },
          ];
          const edges = [
            { id: 'a', source: 'start', target: 'size' },
            { id: 'b', source: 'size', target: 'ask', sourceHandle: 'large' },
            { id: 'c', source: 'size', target: 'pay', sourceHandle: 'default' },
            { id: 'd', source: 'ask', target: 'pay', sourceHandle: 'approved' },
            { id: 'e', source: 'pay', target: 'end' },
          ];
          return tools('save_workflow', { workflowID: id, nodes, edges, publish: true });
        },
        async check() {
          const path = { ...workspace.path, workflowID };
          const small = await run(workspace, workflowID, { amount: 20 });
          assert.equal(await statusOf(workspace, small), 'COMPLETED');
          await workspace.gantry.call('executeWorkflow', {
            path,
            query: { wait: 2 } as never,
            body: { args: { amount: 600 } },
          });
          const { requests } = await workspace.gantry.call('listCollectionRequests', { path: workspace.path });
          assert.equal(requests.length, 1);
        },
      };
    },
  },
  {
    name: 'publish-a-draft',
    prompt: 'Publish the draft of the workflow "Welcome mail".',
    async prepare(workspace) {
      const workflowID = await addWorkflow(workspace, 'Welcome mail', pay, { draft: true });
      return {
        async solve(tools) {
          const id = await find(tools, 'workflow', 'Welcome mail');
          const found = await tools('find_tools', { query: 'publish a version of a workflow' });
          assert.match(found, /publish_workflow_version/);
          const versions = await tools('call_tool', { name: 'list_workflow_versions', arguments: { workflowID: id } });
          const versionID = idAfter('versions', versions);
          return tools('call_tool', { name: 'publish_workflow_version', arguments: { workflowID: id, versionID } });
        },
        async check() {
          const { workflow } = await workspace.gantry.call('getWorkflow', { path: { ...workspace.path, workflowID } });
          assert.notEqual(workflow.publishedVersionID, null);
        },
      };
    },
  },
  {
    name: 'make-a-workflow',
    prompt:
      'Make a workflow "Double a number": it takes a number n and gives twice that number as "result". Publish it and try it with 21.',
    async prepare(workspace) {
      return {
        async solve(tools) {
          await tools('get_form', { of: 'step', type: 'javascript' });
          await tools('get_form', { of: 'step', type: 'end' });
          const { workflowNodes: nodes, workflowEdges: edges } = chain({
            double: { type: 'javascript', code: 'return ctx.input.n * 2;', outputVariable: 'it' },
            end: { type: 'end', outputParameters: [{ name: 'result', sourceVariable: '{{ctx.it}}' }] },
          });
          const options = { inputDefinitions: [{ key: 'n', type: 'number', required: true }] };
          const saved = await tools('save_workflow', {
            title: 'Double a number',
            nodes,
            edges,
            options,
            publish: true,
          });
          return tools('run_workflow', { workflowID: idAfter('workflowID', saved), args: { n: 21 } });
        },
        async check(told) {
          assert.match(told, /42/);
          const { workflows } = await workspace.gantry.call('listWorkflows', { path: workspace.path });
          assert.deepEqual(
            workflows.map(({ workflowTitle }) => workflowTitle),
            ['Double a number'],
          );
          const { output } = await workspace.gantry.call('executeWorkflow', {
            path: { ...workspace.path, workflowID: workflows[0]?.id ?? '' },
            query: { wait: 30 } as never,
            body: { args: { n: 4 } },
          });
          assert.deepEqual(output, { result: 8 });
        },
      };
    },
  },
  {
    name: 'make-a-page',
    prompt:
      'Make a page "Orders": a table of all orders, and a button that starts the workflow "Refund an order" for the chosen one.',
    async prepare(workspace) {
      await runSQL(
        workspace,
        `create table orders (id int primary key, customer text); insert into orders values (1, 'Ada')`,
      );
      const workflowID = await addWorkflow(workspace, 'Refund an order', pay, { inputs: { order: 'number' } });
      return {
        async solve(tools) {
          const id = await find(tools, 'workflow', 'Refund an order');
          const options = { query: 'select id, customer from orders order by id' };
          const query = await tools('save_query', { title: 'All orders', datasourceType: 'tenantdb', options });
          await tools('get_form', { of: 'appPage' });
          await tools('get_form', { of: 'widget', type: 'table' });
          const widget = async (title: string, type: string, config: object) => {
            const body = { widgetTitle: title, widgetType: type, widgetConfig: config };
            return idAfter('widget', await tools('call_tool', { name: 'create_widget', arguments: body }));
          };
          const table = `widget_${await widget('Orders', 'table', { items: '{{queries.orders.data}}', isSelectable: true })}_1`;
          const click = [{ type: 'TRIGGER_WORKFLOW', alias: 'refund' }];
          const button = `widget_${await widget('Refund', 'button', { label: 'Refund', events: { onClick: click } })}_1`;
          const children = [table, button].map((widgetKey) => ({ id: widgetKey, type: 'widget', widgetKey, span: 12 }));
          const config = {
            ...{ layoutVersion: 2, widgets: [table, button], layout: { id: 'root', type: 'column', children } },
            dataSources: [
              { alias: 'orders', type: 'query', queryID: idAfter('dataQueryID', query) },
              {
                alias: 'refund',
                type: 'workflow',
                workflowID: id,
                inputValues: { order: '{{widgets.1.selectedRow.id}}' },
              },
            ],
          };
          return tools('save_page', { title: 'Orders', config });
        },
        async check() {
          const { appPages } = await workspace.gantry.call('listAppPages', { path: workspace.path });
          const page = JSON.stringify(appPages.find(({ appPageTitle }) => appPageTitle === 'Orders')?.appPageConfig);
          assert.ok(page.includes(workflowID), 'the page binds the workflow');
          const { widgets } = await workspace.gantry.call('listWidgets', { path: workspace.path });
          const types = widgets.filter(({ id }) => page.includes(id)).map(({ widgetType }) => widgetType);
          assert.ok(types.includes('table') && types.includes('button'), `the page has ${types.join(', ')}`);
        },
      };
    },
  },
  {
    name: 'rename-a-step',
    prompt: 'Call the step "Pay" of "Pay an invoice" "Transfer the money". Change nothing else, and publish nothing.',
    async prepare(workspace) {
      const workflowID = await addWorkflow(workspace, 'Pay an invoice', pay, { inputs: { amount: 'number' } });
      return {
        async solve(tools) {
          const id = await find(tools, 'workflow', 'Pay an invoice');
          await tools('read_asset', { type: 'workflow', id });
          const nodes = pay.workflowNodes.map((node) =>
            node.id === 'pay' ? { ...node, data: { ...node.data, title: 'Transfer the money' } } : node,
          );
          return tools('save_workflow', { workflowID: id, nodes, edges: pay.workflowEdges });
        },
        async check() {
          const { versions } = await workspace.gantry.call('listWorkflowVersions', {
            path: { ...workspace.path, workflowID },
          });
          const versionID = versions.find(({ isPublished }) => !isPublished)?.versionID ?? '';
          const path = { ...workspace.path, workflowID, versionID };
          const draft = JSON.stringify(await workspace.gantry.call('getWorkflowVersion', { path }));
          assert.match(draft, /Transfer the money/);
          assert.match(draft, /ctx\.input\.amount/);
        },
      };
    },
  },
];
