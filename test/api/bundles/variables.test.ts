import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { MASK } from '#shared/core/schema/secret.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import type { Client } from '../../support/client.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aMember, aTenant, type TestTenant } from '../../support/factories.ts';
import { code, graph } from '../../support/graphs.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
});
afterAll(() => cluster[Symbol.asyncDispose]());

async function aTarget(): Promise<{ tenant: TestTenant; who: Client }> {
  const tenant = await aTenant(cluster);
  return { tenant, who: cluster.as(tenant.creator).in(tenant) };
}

const keys = { region: newID(), token: newID() };
const region = (value: unknown = 'EU') => ({
  ...{ type: 'variable', id: keys.region },
  payload: { name: 'region', value, isSecret: false, description: null },
});
const token = (payload: object = {}) => ({
  ...{ type: 'variable', id: keys.token },
  payload: { name: 'shopToken', value: MASK, isSecret: true, ...payload },
});
const bundleOf = (...items: object[]) => ({ bundleVersion: 1, items });
const secrets = [{ id: keys.token, path: ['value'], value: 'a-secret-of-the-request' }];
const variableGraph = graph(
  {
    start: { type: 'start' },
    ask: {
      type: 'http',
      method: 'GET',
      url: 'https://a.test/{{vars.region}}',
      headers: [{ key: 'x-key', value: '{{vars.shopToken}}' }],
    },
    make: code('return [vars.year, vars?.["month"], other.vars.no];'),
    end: { type: 'end' },
  },
  ['start>ask', 'ask>make', 'make>end'],
);

async function run(who: Client, bundle: object, more: JsonObject = {}) {
  const { status, body } = await who.post('T/import/execute', { bundle, ...more });
  expect(status, JSON.stringify(body)).toBe(201);
  return body;
}

async function variablesOf(who: Client): Promise<Record<string, unknown>> {
  const { variables } = (await who.get('T/variables')).body;
  return Object.fromEntries(variables.map(({ name, value }: JsonObject) => [name, value]));
}

test('a workflow is exported with the variables that its templates and code name, secrets masked', async () => {
  const { who } = await aTarget();
  const names = ['region', 'year', 'month', 'unused'];
  for (const name of names) await who.post('T/variables', { name, value: 2026 });
  await who.post('T/variables', { name: 'shopToken', value: 'never shown', isSecret: true });
  const body = { title: 'Asking', workflowNodes: variableGraph.nodes, workflowEdges: variableGraph.edges };
  const { workflow } = (await who.post('T/workflows', body)).body;

  const { bundle } = (await who.get(`T/workflows/${workflow.id}/export`)).body;

  const variables = bundle.items.filter(({ type }: JsonObject) => type === 'variable');
  expect(variables.map(({ payload }: { payload: JsonObject }) => payload.name).sort()).toEqual([
    'month',
    'region',
    'shopToken',
    'year',
  ]);
  const ofToken = variables.find(({ payload }: { payload: JsonObject }) => payload.isSecret);
  expect(ofToken.payload).toEqual({ name: 'shopToken', value: MASK, isSecret: true, description: null });
  expect(bundle.items.at(-1)).toMatchObject({ type: 'workflow', id: workflow.id });
  expect(bundle.items.at(-1).dependencies).toHaveLength(4);
  expect(JSON.stringify(bundle)).not.toContain('never shown');
  const { bundle: all } = (await who.post('T/export', { types: ['variable'] })).body;
  expect(all.items).toHaveLength(5);
});

test('a secret comes with the request and stays; without it the variable is skipped, and its users are warned of', async () => {
  const { tenant, who } = await aTarget();
  const workflow = { title: 'Asking', workflowNodes: variableGraph.nodes, workflowEdges: variableGraph.edges };
  // A secret that a person has written into a bundle is none.
  const bundle = bundleOf(region(), token({ value: 'in-the-bundle' }), {
    type: 'workflow',
    id: newID(),
    payload: workflow,
  });

  const preview = (await who.post('T/import/preview', { bundle })).body;
  const without = await run(who, bundle);
  const left = await variablesOf(who);
  const done = await run(who, bundle, { secrets });
  const again = await run(who, bundle);

  const ofToken = preview.items.find(({ id }: JsonObject) => id === keys.token);
  expect(ofToken).toMatchObject({ action: 'skip', missingSecrets: [['value']] });
  const ofWorkflow = preview.items.find(({ type }: JsonObject) => type === 'workflow');
  expect(ofWorkflow.warnings).toEqual(
    ['shopToken', 'year', 'month'].map((name) => `The variable ${name} that the workflow "Asking" names is not here`),
  );
  expect(without.skipped).toMatchObject([
    { originalID: keys.token, reason: expect.stringContaining('secret is missing') },
  ]);
  expect(left).toEqual({ region: 'EU' });
  expect(done.results.find(({ originalID }: JsonObject) => originalID === keys.token)?.action).toBe('create');
  expect(await variablesOf(who)).toEqual({ region: 'EU', shopToken: MASK });
  expect(again.results.map(({ action }: JsonObject) => action)).toEqual(['unchanged', 'unchanged', 'unchanged']);
  const { rows } = await cluster.pool.query('select secret from tenant_variable where tenant_id = $1 and name = $2', [
    tenant.id,
    'shopToken',
  ]);
  const { id } = (await who.get('T/variables?search=shopToken')).body.variables[0];
  expect(cluster.context.secrets.open(rows[0].secret, sealedColumns.variableSecret.context(id))).toBe(
    'a-secret-of-the-request',
  );
  const audited = await cluster.pool.query(
    "select from audit_record where details::text ~ 'in-the-bundle|of-the-request'",
  );
  expect(audited.rows).toEqual([]);
});

test('a variable of the tenant with the same name stays as it is, unless the import overwrites it', async () => {
  const { who } = await aTarget();
  await who.post('T/variables', { name: 'region', value: 'US' });

  const unchanged = await run(who, bundleOf(region()));
  const values = await variablesOf(who);
  const equal = (await who.post('T/import/preview', { bundle: bundleOf(region('US')) })).body;
  await run(who, bundleOf(region()), { onConflict: 'overwrite' });
  const { importID } = await run(who, bundleOf(region('APAC')));
  const changed = await variablesOf(who);
  await who.post(`T/import/${importID}/rollback`);

  expect(unchanged.skipped).toMatchObject([
    { originalID: keys.region, reason: expect.stringContaining('another value') },
  ]);
  expect(values).toEqual({ region: 'US' });
  expect(equal.items[0].action).toBe('unchanged');
  expect(changed).toEqual({ region: 'APAC' });
  expect(await variablesOf(who)).toEqual({ region: 'EU' });
});

test('a secret does not become readable, nor a value a secret', async () => {
  const { who } = await aTarget();
  await run(who, bundleOf(region(), token()), { secrets });

  for (const item of [
    token({ value: 'shown', isSecret: false }),
    { ...region(), payload: { ...region().payload, isSecret: true } },
  ])
    expect(await who.post('T/import/execute', { bundle: bundleOf(item), onConflict: 'overwrite' })).toMatchObject({
      status: 400,
      body: { error: { details: { issues: [{ path: ['bundle', 'items', 0, 'payload', 'isSecret'] }] } } },
    });
  expect(await variablesOf(who)).toEqual({ region: 'EU', shopToken: MASK });
});

test('needs the permissions of creating, changing and reading variables', async () => {
  const { tenant, who } = await aTarget();
  const can = ['bundle.execute', 'bundle.export'] as const;
  const member = cluster.as(await aMember(cluster, { tenant, can })).in(tenant);

  expect((await member.post('T/import/execute', { bundle: bundleOf(region()) })).status).toBe(403);
  await run(who, bundleOf(region()));
  expect((await member.post('T/import/execute', { bundle: bundleOf(region('US')) })).status).toBe(403);
  expect((await member.post('T/export', { types: ['variable'] })).status).toBe(404);
  expect(await variablesOf(who)).toEqual({ region: 'EU' });
});

const nodesCalling = (childWorkflowID: string) => ({
  start: { type: 'start' },
  call: { type: 'subWorkflow', childWorkflowID },
  end: { type: 'end' },
});

async function saveCalling(who: Client, title: string, childWorkflowID: string): Promise<string> {
  const { nodes, edges } = graph(nodesCalling(childWorkflowID), ['start>call', 'call>end']);
  const { status, body } = await who.post('T/workflows', { title, workflowNodes: nodes, workflowEdges: edges });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.workflow.id;
}

async function saveChild(who: Client, title: string): Promise<string> {
  const { nodes, edges } = graph({ start: { type: 'start' }, end: { type: 'end' } }, ['start>end']);
  const { body } = await who.post('T/workflows', { title, workflowNodes: nodes, workflowEdges: edges });
  return body.workflow.id;
}

type Item = { type: string; id: string; payload: JsonObject; dependencies: JsonObject[] };

test('a workflow that a variable names is exported, and the value of the variable names the imported one', async () => {
  const [source, target] = [(await aTarget()).who, (await aTarget()).who];
  const [child, other] = [await saveChild(source, 'Child'), await saveChild(source, 'Other')];
  await source.post('T/variables', { name: 'child', value: child });
  await source.post('T/variables', { name: 'shops', value: { north: { workflow: other, name: 'North' } } });
  const caller = await saveCalling(source, 'Caller', '{{vars.child}}');
  await saveCalling(source, 'Nested', '{{ vars.shops.north["workflow"] }}');

  const { bundle, unfollowed } = (await source.get(`T/workflows/${caller}/export`)).body;
  const whole = (await source.post('T/export', {})).body;

  expect(unfollowed).toEqual([]);
  const types = bundle.items.map(({ type, payload }: Item) => `${type} ${payload.title ?? payload.name}`);
  expect(types.sort()).toEqual(['variable child', 'workflow Caller', 'workflow Child']);
  const ofVariable = bundle.items.find(({ type }: Item) => type === 'variable');
  expect(ofVariable.dependencies).toEqual([{ type: 'workflow', id: child, name: 'Child', bundled: true }]);

  // The variable alone, without the workflow that reads it, is remapped too.
  const parts = whole.bundle.items.map((item: Item) => bundleOf(item));
  for (const part of [...parts, ...parts]) await run(target, part, { onConflict: 'overwrite' });
  const { workflows } = (await target.get('T/workflows?pageSize=100')).body;
  const idOf = (wanted: string) => workflows.find(({ title }: JsonObject) => title === wanted).id;
  expect(idOf('Child')).not.toBe(child);
  expect(await variablesOf(target)).toEqual({
    child: idOf('Child'),
    shops: { north: { workflow: idOf('Other'), name: 'North' } },
  });
  const { body: preview } = await target.post('T/import/preview', { bundle: whole.bundle });
  expect(preview.items.map(({ action }: JsonObject) => action)).toEqual(preview.items.map(() => 'unchanged'));

  // A variable that a person has made, with the id of the imported workflow, has the value that the bundle would give it.
  const { who: third } = await aTarget();
  await run(third, bundleOf(bundle.items.find(({ payload }: Item) => payload.title === 'Child')));
  const [imported] = (await third.get('T/workflows')).body.workflows;
  await third.post('T/variables', { name: 'child', value: imported.id });
  const { items } = (await third.post('T/import/preview', { bundle: bundleOf(ofVariable) })).body;
  expect(items[0].action).toBe('unchanged');
});

test('what a variable names and the bundle lacks is missing, and is remapped by the request', async () => {
  const { who } = await aTarget();
  const missing = newID();
  const own = await saveChild(who, 'Own');
  const { nodes, edges } = graph(nodesCalling('{{vars.child}}'), ['start>call', 'call>end']);
  const workflow = { title: 'Caller', workflowNodes: nodes, workflowEdges: edges };
  const variable = { type: 'variable', id: newID(), payload: { name: 'child', value: missing, isSecret: false } };
  const bundle = bundleOf(variable, { type: 'workflow', id: newID(), payload: workflow });

  const { items } = (await who.post('T/import/preview', { bundle })).body;
  await run(who, bundle, { ids: { [missing]: own } });

  const ofVariable = items.find(({ type }: Item) => type === 'variable');
  expect(ofVariable).toMatchObject({ missingDependencies: [{ type: 'workflow', id: missing }] });
  expect(ofVariable.warnings).toEqual([`The workflow ${missing} that the variable "child" names is not here`]);
  expect(await variablesOf(who)).toEqual({ child: own });
});

test('a template that cannot be followed is named by the export and the preview', async () => {
  const { who } = await aTarget();
  await who.post('T/variables', { name: 'hidden', value: newID(), isSecret: true });
  await who.post('T/variables', { name: 'words', value: 'none' });
  const templates = ['{{ctx.input.id}}', '{{vars.words}}', '{{vars.absent}}'];
  for (const template of templates) await saveCalling(who, template, template);

  const { bundle, unfollowed } = (await who.post('T/export', { types: ['workflow'] })).body;
  const { who: other } = await aTarget();
  const { items } = (await other.post('T/import/preview', { bundle })).body;

  const path = ['workflowNodes', 1, 'data', 'childWorkflowID'];
  const variables = [null, 'words', 'absent'];
  const expected = templates.map((template, at) => ({ type: 'workflow', path, template, variable: variables[at] }));
  expect(unfollowed.map(({ id: _, ...one }: JsonObject) => one)).toEqual(expect.arrayContaining(expected));
  expect(unfollowed).toHaveLength(3);
  const workflows = items.filter(({ type }: Item) => type === 'workflow');
  expect(workflows.flatMap((item: JsonObject) => item.unfollowed)).toEqual(expect.arrayContaining(expected));
  for (const { title, warnings } of workflows)
    expect(warnings.join()).toContain(
      `The workflow "${title}" names a workflow by a template that no import can follow`,
    );
});

test('the tables of the tenant database that a query uses are named', async () => {
  const { who } = await aTarget();
  const query = 'select * from orders join shop.items using (id)';
  const body = { dataQueryTitle: 'Orders', datasourceType: 'tenantdb', dataQueryOptions: { query } };
  const { status, body: saved } = await who.post('T/queries', body);
  expect(status, JSON.stringify(saved)).toBe(201);

  const { bundle } = (await who.get(`T/queries/${saved.dataQuery.id}/export`)).body;
  const { items } = (await (await aTarget()).who.post('T/import/preview', { bundle })).body;

  expect(bundle.items[0].dependencies).toEqual([
    { type: 'table', id: 'orders', bundled: false },
    { type: 'table', id: 'shop.items', bundled: false },
  ]);
  expect(items[0]).toMatchObject({ tables: ['orders', 'shop.items'], missingDependencies: [] });
  expect(items[0].warnings.join()).toContain('which no bundle has: orders, shop.items');
});
