import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { find, idBeside, type Task } from '../task.ts';
import { addWorkflow, chain, run, runSQL, statusOf } from '../workspace.ts';

const failing = chain({
  read: { type: 'javascript', title: 'Read the file', code: 'return [1, 2, 3];', outputVariable: 'rows' },
  store: {
    type: 'javascript',
    title: 'Store the rows',
    code: 'throw new Error("column price does not exist");',
    outputVariable: 'stored',
  },
});

export const runTasks: Task[] = [
  {
    name: 'explain-a-failure',
    prompt: 'Why did the last nightly import fail? Name the step and the reason.',
    async prepare(workspace) {
      await run(workspace, await addWorkflow(workspace, 'Nightly import', failing));
      return {
        async solve(tools) {
          const failures = await tools('list_failures');
          return tools('get_run', { instanceID: idBeside('Nightly import', failures, 1) });
        },
        async check(told) {
          assert.match(told, /store/i);
          assert.match(told, /column price does not exist/);
        },
      };
    },
  },
  {
    name: 'repeat-a-run',
    prompt: 'The table "deliveries" exists now. Repeat the failed run of "Load deliveries" from the step that failed.',
    async prepare(workspace) {
      const query = 'select count(*)::int as count from deliveries';
      const { dataQuery } = await workspace.gantry.call('createQuery', {
        path: workspace.path,
        body: { dataQueryTitle: 'Count deliveries', datasourceType: 'tenantdb', dataQueryOptions: { query } } as never,
      });
      const flow = chain({
        count: { type: 'dataQuery', dataQueryID: dataQuery.id, title: 'Count', outputVariable: 'count' },
      });
      const workflowID = await addWorkflow(workspace, 'Load deliveries', flow);
      await run(workspace, workflowID);
      await runSQL(workspace, 'create table deliveries (id int)');
      return {
        async solve(tools) {
          const instanceID = idBeside('Load deliveries', await tools('list_failures'), 1);
          return tools('rerun_run', { instanceID, from: 'failed' });
        },
        async check() {
          const { instances } = await workspace.gantry.call('listWorkflowInstances', { path: workspace.path });
          assert.equal(instances.filter(({ status }) => status === 'COMPLETED').length, 1);
        },
      };
    },
  },
  {
    name: 'run-with-inputs',
    prompt: 'Close the month 2026-10 with the workflow for it, and tell me its result.',
    async prepare(workspace) {
      const flow = chain({
        close: { type: 'javascript', code: "return 'closed ' + ctx.input.month;", outputVariable: 'it' },
        end: { type: 'end', outputParameters: [{ name: 'result', sourceVariable: '{{ctx.it}}' }] },
      });
      const workflowID = await addWorkflow(workspace, 'Close a month', flow, { inputs: { month: 'string' } });
      return {
        solve: async (tools) =>
          tools('run_workflow', {
            workflowID: await find(tools, 'workflow', 'Close a month'),
            args: { month: '2026-10' },
          }),
        async check(told) {
          assert.match(told, /closed 2026-10/);
          const query = { workflowID };
          const { instances } = await workspace.gantry.call('listWorkflowInstances', { path: workspace.path, query });
          assert.deepEqual(
            instances.map(({ status }) => status),
            ['COMPLETED'],
          );
        },
      };
    },
  },
  {
    name: 'stop-a-run',
    prompt: 'A run of "Nightly sync" hangs. Stop it. Leave the run of "Weekly sync" alone.',
    async prepare(workspace) {
      const waiting = chain({ wait: { type: 'delay', delayMinutes: 60 } });
      const [nightly = '', weekly = ''] = await Promise.all(
        ['Nightly sync', 'Weekly sync'].map(async (title) => {
          const workflowID = await addWorkflow(workspace, title, waiting);
          const { instanceID } = await workspace.gantry.call('executeWorkflow', {
            path: { ...workspace.path, workflowID },
            body: {},
          });
          return instanceID;
        }),
      );
      return {
        async solve(tools) {
          const workflowID = await find(tools, 'workflow', 'Nightly sync');
          const runs = await tools('list_runs', { workflowID });
          return tools('stop_workflow_instance', { instanceID: idBeside('Nightly sync', runs) });
        },
        async check() {
          assert.equal(await statusOf(workspace, nightly), 'CANCELLED');
          assert.notEqual(await statusOf(workspace, weekly), 'CANCELLED');
        },
      };
    },
  },
  {
    name: 'what-waits-for-a-person',
    prompt: 'Which process waits for a decision, and what is asked?',
    async prepare(workspace) {
      const flow = chain({ ask: { type: 'approval', title: 'Refund 4711?', description: 'The parcel was lost' } });
      const workflowID = await addWorkflow(workspace, 'Refunds', flow);
      await workspace.gantry.call('executeWorkflow', { path: { ...workspace.path, workflowID }, body: {} });
      const asked = () => workspace.gantry.call('listCollectionRequests', { path: workspace.path });
      while ((await asked()).requests.length === 0) await sleep(50);
      return {
        async solve(tools) {
          const found = await tools('find_tools', { query: 'questions of runs that wait for a person' });
          assert.match(found, /list_collection_requests/);
          return tools('call_tool', { name: 'list_collection_requests', arguments: {} });
        },
        async check(told) {
          assert.match(told, /Refund 4711\?/);
        },
      };
    },
  },
];
