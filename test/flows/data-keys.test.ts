import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { aListener, aTenant, aWorkflow, chain, type TestTenant } from '../support/factories.ts';
import { code } from '../support/graphs.ts';
import { eventually } from '../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
let workflowID: string;

beforeAll(async () => {
  cluster = await startCluster({ workers: true });
  tenant = await aTenant(cluster);
  const graph = chain(
    { text: code('return JSON.stringify(ctx.input)', { outputVariable: 'text' }) },
    { text: '{{ctx.text}}' },
  );
  workflowID = (await aWorkflow(cluster, { tenant, ...graph })).id;
});
afterAll(() => cluster[Symbol.asyncDispose]());

const api = () => cluster.as(tenant.creator).in(tenant);

/** As others may send it: `JSON.parse` makes an own field of each key. */
const keys = '{"__proto__":{"a":1},"constructor":2,"deep":[{"__proto__":3}]}';
const value = JSON.parse(keys) as object;

test('a run gets the key __proto__ of its arguments as data', async () => {
  const { body } = await api().post(`T/workflows/${workflowID}/execute?wait=30`, `{"args":${keys}}`);

  expect(body).toMatchObject({ status: 'COMPLETED' });
  expect(JSON.parse(body.output.text)).toEqual(value);
  const { body: run } = await api().get(`T/workflows/instances/${body.instanceID}`);
  expect(Object.entries(run.input).toSorted()).toEqual(Object.entries(value).toSorted());
});

test.each([
  ['a variable', 'variables', 'variable', `{"name":"keys","value":${keys}}`, 'value'],
  [
    'a widget',
    'widgets',
    'widget',
    `{"widgetTitle":"W","widgetType":"table","widgetConfig":{"more":${keys}}}`,
    'widgetConfig.more',
  ],
  [
    'a cron job',
    'cronjobs',
    'cronJob',
    `{"cronJobTitle":"C","cronJobType":"workflow","cronJobSchedule":"0 0 1 1 *","cronJobConfig":{"workflowID":"$workflow","inputValues":${keys}}}`,
    'cronJobConfig.inputValues',
  ],
])('%s keeps the key __proto__ of its data', async (_what, path, name, text, field) => {
  const created = await api().post(`T/${path}`, text.replace('$workflow', workflowID));
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  const { body } = await api().get(`T/${path}/${created.body[name].id}`);

  const stored = field.split('.').reduce((part, key) => part[key], body[name]);
  // A comparison of objects reads the prototype, and not the key.
  expect(Object.entries(stored).toSorted()).toEqual(Object.entries(value).toSorted());
});

const own = '"__proto__":{"a":1}';
test.each([
  [
    'a workflow',
    'workflows',
    'workflow',
    `{"title":"W","workflowNodes":[{"id":"start","type":"start","data":{},${own}},{"id":"end","type":"end","data":{}}],"workflowEdges":[{"id":"e","source":"start","target":"end",${own}}]}`,
    ['workflowNodes.0', 'workflowEdges.0'],
  ],
  [
    'a dashboard',
    'dashboards',
    'dashboard',
    `{"dashboardTitle":"D","dashboardConfig":{"layouts":{"lg":[{"i":"w","x":0,"y":0,"w":1,"h":1,${own}}],${own}},${own}}}`,
    ['dashboardConfig', 'dashboardConfig.layouts', 'dashboardConfig.layouts.lg.0'],
  ],
  [
    'a page',
    'app-pages',
    'appPage',
    `{"appPageTitle":"P","appPageConfig":{"variables":[{"key":"v",${own}}],${own}}}`,
    ['appPageConfig', 'appPageConfig.variables.0'],
  ],
])('%s keeps the key __proto__ beside the fields that it knows', async (_what, path, name, text, paths) => {
  const created = await api().post(`T/${path}`, text);
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  const { body } = await api().get(`T/${path}/${created.body[name].id}`);

  for (const at of paths) {
    const stored = at.split('.').reduce((part, key) => part[key], body[name]);
    expect({ at, own: Object.hasOwn(stored, '__proto__') }).toEqual({ at, own: true });
  }
});

test('a webhook hands the key __proto__ to its run', async () => {
  await aListener(cluster, {
    tenant,
    options: { authType: 'none' },
    endpointPath: 'keys',
    actions: [
      { actionType: 'trigger_workflow', actionConfig: { workflowID, inputValues: { body: '{{event.body}}' } } },
    ],
  });
  const sent = await fetch(`${cluster.baseURL}/webhooks/v1/inbound/${tenant.id}/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: keys,
  });
  expect(sent.status).toBeLessThan(300);

  await eventually(async () => {
    const { body } = await api().get(`T/workflows/instances?workflowID=${workflowID}`);
    const ids = body.instances.map((run: { instanceID: string }) => run.instanceID);
    const runs = await Promise.all(ids.map((id: string) => api().get(`T/workflows/instances/${id}`)));
    // Postgres writes shorter keys first.
    expect(JSON.stringify(runs)).toContain('"input":{"body":{"deep":[{"__proto__":3}],"__proto__":{"a":1}');
  });
});
