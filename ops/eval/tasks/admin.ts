import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { find, idAfter, idBeside, type Task } from '../task.ts';
import { addWorkflow, chain } from '../workspace.ts';

const nothing = chain({ note: { type: 'set', assignments: [{ name: 'it', value: 1 }] } });

export const adminTasks: Task[] = [
  {
    name: 'run-on-weekdays',
    prompt: 'Run "Nightly import" on each weekday at seven in the morning, Berlin time.',
    async prepare(workspace) {
      const workflowID = await addWorkflow(workspace, 'Nightly import', nothing);
      return {
        async solve(tools) {
          const id = await find(tools, 'workflow', 'Nightly import');
          assert.match(await tools('find_tools', { query: 'create cron job schedule' }), /create_cron_job/);
          const body = {
            ...{ cronJobTitle: 'Nightly import', cronJobSchedule: '0 7 * * 1-5', timezone: 'Europe/Berlin' },
            ...{ cronJobType: 'workflow', cronJobConfig: { workflowID: id } },
          };
          return tools('call_tool', { name: 'create_cron_job', arguments: body });
        },
        async check() {
          const { cronJobs } = await workspace.gantry.call('listCronJobs', { path: workspace.path });
          const [job] = cronJobs;
          assert.equal(job?.timezone, 'Europe/Berlin');
          assert.match(job.cronJobSchedule, /^0 0?7 \* \* (1-5|MON-FRI|1,2,3,4,5)$/i);
          assert.match(JSON.stringify(job.cronJobConfig), new RegExp(workflowID));
        },
      };
    },
  },
  {
    name: 'take-webhooks',
    prompt: 'Start "Take an order" for each delivery of a webhook, and tell me the address to send to.',
    async prepare(workspace) {
      const workflowID = await addWorkflow(workspace, 'Take an order', nothing);
      return {
        async solve(tools) {
          const id = await find(tools, 'workflow', 'Take an order');
          await tools('get_form', { of: 'datasource', type: 'webhook' });
          const datasource = { datasourceTitle: 'Shop', datasourceType: 'webhook', datasourceOptions: {} };
          const made = await tools('call_tool', { name: 'create_datasource', arguments: datasource });
          const listener = {
            ...{ listenerTitle: 'Orders', listenerType: 'webhook', status: 'active' },
            datasourceID: idAfter('datasourceID', made),
            actions: [{ actionType: 'trigger_workflow', actionConfig: { workflowID: id } }],
          };
          return tools('call_tool', { name: 'create_listener', arguments: listener });
        },
        async check(told) {
          assert.match(told, /\/webhooks\/v1\/inbound\//);
          const { listeners } = await workspace.gantry.call('listListeners', { path: workspace.path });
          assert.equal(listeners[0]?.status, 'active');
          const path = { ...workspace.path, listenerID: listeners[0].id };
          assert.match(JSON.stringify(await workspace.gantry.call('getListener', { path })), new RegExp(workflowID));
        },
      };
    },
  },
  {
    name: 'switch-off',
    prompt: 'Nothing may start the workflow "Old mailer" any more. Do not delete it.',
    async prepare(workspace) {
      const workflowID = await addWorkflow(workspace, 'Old mailer', nothing);
      return {
        async solve(tools) {
          const id = await find(tools, 'workflow', 'Old mailer');
          await tools('find_tools', { query: 'update a workflow disable' });
          return tools('call_tool', { name: 'update_workflow', arguments: { workflowID: id, isDisabled: true } });
        },
        async check() {
          const { workflow } = await workspace.gantry.call('getWorkflow', { path: { ...workspace.path, workflowID } });
          assert.equal(workflow.isDisabled, true);
        },
      };
    },
  },
  {
    name: 'invite-a-viewer',
    prompt: 'Invite grace@example.com as a viewer.',
    async prepare(workspace) {
      return {
        async solve(tools) {
          assert.match(await tools('find_tools', { query: 'add a user to the tenant with roles' }), /add_tenant_user/);
          const roles = await tools('call_tool', { name: 'list_tenant_roles', arguments: {} });
          const body = { userEmail: 'grace@example.com', roleIDs: [idBeside('Viewer', roles)] };
          return tools('call_tool', { name: 'add_tenant_user', arguments: body });
        },
        async check() {
          const { users } = await workspace.gantry.call('listTenantUsers', { path: workspace.path });
          const grace = users.find(({ email }) => email === 'grace@example.com');
          assert.deepEqual(
            grace?.roles.map(({ roleName }) => roleName),
            ['Viewer'],
          );
        },
      };
    },
  },
  {
    name: 'set-a-variable',
    prompt: 'Set the variable "orderLimit" to 750.',
    async prepare(workspace) {
      const body = { name: 'orderLimit', value: 500, isSecret: false };
      await workspace.gantry.call('createVariable', { path: workspace.path, body: body as never });
      return {
        async solve(tools) {
          await tools('find_tools', { query: 'change a variable' });
          const variables = await tools('call_tool', { name: 'list_variables', arguments: {} });
          const variableID = idBeside('orderLimit', variables);
          return tools('call_tool', { name: 'update_variable', arguments: { variableID, value: 'json:750' } });
        },
        async check() {
          const { variables } = await workspace.gantry.call('listVariables', { path: workspace.path });
          assert.deepEqual(
            variables.map(({ value }) => value),
            [750],
          );
        },
      };
    },
  },
  {
    name: 'ask-the-documentation',
    prompt: 'How does Gantry check the signature of a webhook from GitHub?',
    async prepare() {
      return {
        async solve(tools) {
          return tools('search_docs', { query: 'webhook signature GitHub' });
        },
        async check(told) {
          assert.match(told, /x-hub-signature-256|HMAC/i);
        },
      };
    },
  },
  {
    name: 'redrive-a-dead-letter',
    prompt:
      'A delivery of the listener "Payments" has failed because its workflow was disabled. The workflow is enabled again: process the delivery now.',
    async prepare(workspace) {
      const { gantry, path } = workspace;
      const workflowID = await addWorkflow(workspace, 'Book a payment', nothing);
      const datasource = { datasourceTitle: 'Bank', datasourceType: 'webhook', datasourceOptions: {} };
      const made = await gantry.call('createDatasource', { path, body: datasource as never });
      const { listener } = await gantry.call('createListener', {
        path,
        body: {
          ...{ listenerTitle: 'Payments', listenerType: 'webhook', status: 'active', datasourceID: made.datasource.id },
          actions: [{ actionType: 'trigger_workflow', actionConfig: { workflowID } }],
        } as never,
      });
      const disable = (isDisabled: boolean) =>
        gantry.call('updateWorkflow', { path: { ...path, workflowID }, body: { isDisabled } });
      await disable(true);
      await gantry.call('receiveListenerWebhook', { path: { listenerID: listener.id }, body: { amount: 5 } as never });
      const states = async () => {
        const { events } = await gantry.call('listListenerEvents', { path: { ...path, listenerID: listener.id } });
        return events.map(({ state }) => state);
      };
      while (!(await states()).includes('dead')) await sleep(50);
      await disable(false);
      return {
        async solve(tools) {
          const listenerID = await find(tools, 'listener', 'Payments');
          assert.match(await tools('find_tools', { query: 'redrive a dead letter' }), /redrive_listener_event/);
          const events = await tools('call_tool', { name: 'list_listener_events', arguments: { listenerID } });
          const eventID = idAfter('eventID', events);
          return tools('call_tool', { name: 'redrive_listener_event', arguments: { listenerID, eventID } });
        },
        async check() {
          const ended = ['dead', 'done'];
          while (!(await states()).every((state) => ended.includes(state))) await sleep(50);
          assert.deepEqual(await states(), ['done']);
        },
      };
    },
  },
];
