import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import {
  aDataQuery,
  aDatasource,
  aListener,
  aMember,
  aTenant,
  aWorkflow,
  type TestTenant,
  type TestUser,
} from '#test/support/factories.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({ workers: false });
});
afterAll(() => cluster[Symbol.asyncDispose]());

function clientOf(tenant: TestTenant, user: TestUser = tenant.creator) {
  return cluster.as(user).in(tenant);
}

async function aSource(tenant: TestTenant): Promise<string> {
  return (await aDatasource(cluster, { tenant, type: 'webhook', options: {} })).id;
}

/** Raised by every change that intake and processing must see. */
async function versionOf(tenant: TestTenant): Promise<number> {
  const { rows } = await cluster.context.pool.query<{ v: number }>(
    'select listeners_version as v from tenant where id = $1',
    [tenant.id],
  );
  return rows[0]?.v ?? -1;
}

test('a listener is created with its actions, read, listed, changed by both methods and deleted', async () => {
  const tenant = await aTenant(cluster);
  const api = clientOf(tenant);
  const workflow = await aWorkflow(cluster, { tenant });
  const datasourceID = await aSource(tenant);

  const created = await api.post('T/listeners', {
    listenerTitle: ' Orders ',
    datasourceID,
    endpointPath: '/orders/:orderID/',
    transformScript: 'return event.body;',
    actions: [{ actionType: 'trigger_workflow', actionConfig: { workflowID: workflow.id } }],
  });

  expect(created.status).toBe(201);
  const { listener } = created.body;
  expect(listener).toMatchObject({
    listenerTitle: 'Orders',
    listenerType: 'webhook',
    status: 'inactive',
    endpointPath: 'orders/:orderID',
    webhookPaths: [`/webhooks/v1/inbound/${tenant.id}/orders/:orderID`, `/webhooks/v1/inbound/${listener.id}`],
    transformScript: 'return event.body;',
    listenerConfig: { answerMode: 'ack', responseStatusCode: 200 },
    datasource: { datasourceID, datasourceType: 'webhook' },
    eventCount: 0,
    lastEventAt: null,
  });
  expect(listener.actions.map(({ actionType }: { actionType: string }) => actionType)).toEqual([
    'transform',
    'trigger_workflow',
  ]);
  expect((await api.get(`T/listeners/${listener.id}`)).body.listener).toEqual(listener);
  expect((await api.get('T/listeners?search=ORD&status=inactive&listenerType=webhook')).body.listeners).toEqual([
    listener,
  ]);
  expect((await api.get('T/listeners?status=active')).body.listeners).toEqual([]);

  const patched = await api.patch(`T/listeners/${listener.id}`, { listenerTitle: 'Other', transformScript: null });
  expect(patched.body.listener).toMatchObject({
    listenerTitle: 'Other',
    transformScript: null,
    endpointPath: 'orders/:orderID',
  });
  expect(patched.body.listener.actions).toHaveLength(1);
  const put = await api.put(`T/listeners/${listener.id}`, { endpointPath: null, listenerConfig: { dedupBy: 'body' } });
  expect(put.body.listener).toMatchObject({
    listenerTitle: 'Other',
    endpointPath: null,
    listenerConfig: { dedupBy: 'body' },
    webhookPaths: [`/webhooks/v1/inbound/${listener.id}`],
  });

  expect((await api.delete(`T/listeners/${listener.id}`)).status).toBe(200);
  expect(await api.get(`T/listeners/${listener.id}`)).toMatchObject({
    status: 404,
    body: { error: { code: 'NOT_FOUND' } },
  });
  const { rows } = await cluster.context.pool.query('select from listener_action where tenant_id = $1', [tenant.id]);
  expect(rows).toEqual([]);
});

test('a path belongs to one listener of a tenant, under either name and by its shape', async () => {
  const [tenant, other] = [await aTenant(cluster), await aTenant(cluster)];
  const api = clientOf(tenant);
  const datasourceID = await aSource(tenant);
  const body = { listenerTitle: 'A', datasourceID, listenerConfig: { pathSuffix: 'orders/:id' } };

  const first = await api.post('T/listeners', body);
  expect(first.body.listener.endpointPath).toBe('orders/:id');
  expect(first.body.listener.listenerConfig).not.toHaveProperty('pathSuffix');
  const second = await api.post('T/listeners', { ...body, listenerConfig: { pathSuffix: 'orders/:other' } });
  expect(second).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
  expect(second.body.error.message).toContain('listenerConfig.pathSuffix: another listener');
  const free = await api.post('T/listeners', { ...body, listenerConfig: {}, endpointPath: 'orders/new' });
  expect(free.status).toBe(201);
  const taken = await api.patch(`T/listeners/${free.body.listener.id}`, { endpointPath: 'orders/:x' });
  expect(taken).toMatchObject({ status: 409, body: { error: { details: { issues: [{ path: ['endpointPath'] }] } } } });
  const mine = await api.patch(`T/listeners/${first.body.listener.id}`, { endpointPath: 'orders/:x' });
  expect(mine.status).toBe(200);

  const elsewhere = { ...body, datasourceID: await aSource(other) };
  expect((await clientOf(other).post('T/listeners', elsewhere)).status).toBe(201);
  const many = await Promise.all(
    Array.from({ length: 6 }, () => api.post('T/listeners', { ...body, listenerConfig: {}, endpointPath: 'at/once' })),
  );
  expect(many.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
});

test('clone copies the actions, not the path, and activate and deactivate set the status', async () => {
  const tenant = await aTenant(cluster);
  const api = clientOf(tenant);
  const actions = [{ actionType: 'filter', actionConfig: { script: 'return event.body.paid;' } }];
  const { id } = await aListener(cluster, { tenant, title: 'A'.repeat(255), endpointPath: 'a', actions });

  const copy = await api.post(`T/listeners/${id}/clone`);
  expect(copy).toMatchObject({ status: 200, body: { listener: { status: 'inactive', endpointPath: null } } });
  expect(copy.body.listener.listenerTitle).toBe(`${'A'.repeat(248)} (Copy)`);
  expect(copy.body.listener.actions).toMatchObject([actions[0]]);
  const activated = await api.post(`T/listeners/${copy.body.listener.id}/activate`);
  expect(activated.body.listener.status).toBe('active');
  expect((await api.post(`T/listeners/${copy.body.listener.id}/deactivate`)).body.listener.status).toBe('inactive');
  const { body } = await api.get('T/listeners/status/connections');
  expect(body.status).toMatchObject({ [id]: { state: 'running' }, [copy.body.listener.id]: { state: 'stopped' } });
});

test('actions are added, changed, ordered and deleted, each by its listener', async () => {
  const tenant = await aTenant(cluster);
  const api = clientOf(tenant);
  const [{ id }, other] = [await aListener(cluster, { tenant }), await aListener(cluster, { tenant })];
  const query = await aDataQuery(cluster, { tenant });
  const add = (actionType: string, actionConfig: object, more = {}) =>
    api.post(`T/listeners/${id}/actions`, { actionType, actionConfig, ...more });

  const first = await add('trigger_query', { dataQueryID: query.id.toUpperCase() });
  expect(first).toMatchObject({
    status: 201,
    body: { action: { actionConfig: { dataQueryID: query.id }, orderIndex: 0 } },
  });
  await add('send_event', { eventName: 'paid', eventKey: '{{event.body.id}}' });
  await add('transform', { script: 'return event;' }, { orderIndex: 0, isEnabled: false });
  const order = async () => (await api.get(`T/listeners/${id}`)).body.listener.actions;
  expect((await order()).map(({ actionType }: { actionType: string }) => actionType)).toEqual([
    'trigger_query',
    'transform',
    'send_event',
  ]);

  const { actionID } = first.body.action;
  const moved = await api.put(`T/listeners/${id}/actions/${actionID}`, { orderIndex: 9 });
  expect(moved.body.action).toMatchObject({ orderIndex: 9, actionConfig: { dataQueryID: query.id } });
  expect((await order()).at(-1).actionID).toBe(actionID);
  expect((await api.put(`T/listeners/${other.id}/actions/${actionID}`, { orderIndex: 1 })).status).toBe(404);
  expect((await api.delete(`T/listeners/${other.id}/actions/${actionID}`)).status).toBe(404);
  expect((await api.delete(`T/listeners/${id}/actions/${actionID}`)).status).toBe(200);
  expect(await order()).toHaveLength(2);
});

test('says what is wrong with a listener and with an action', async () => {
  const tenant = await aTenant(cluster);
  const api = clientOf(tenant);
  const datasourceID = await aSource(tenant);
  const mail = await aDatasource(cluster, { tenant, type: 'smtp', options: { host: 'mail.test' } });
  const { id } = await aListener(cluster, { tenant });
  const errorOf = async (path: string, body: object) => {
    const { status, body: answer } = await api.post(path, body);
    return [status, answer.error?.message];
  };
  const create = (more: object) => errorOf('T/listeners', { listenerTitle: 'A', datasourceID, ...more });
  const add = (actionType: string, actionConfig: object) =>
    errorOf(`T/listeners/${id}/actions`, { actionType, actionConfig });

  expect(await create({ datasourceID: newID() })).toEqual([400, 'datasourceID: there is no such datasource']);
  expect(await create({ datasourceID: mail.id })).toEqual([400, expect.stringContaining('cannot be listened to')]);
  expect(await create({ listenerType: 'kafka' })).toEqual([400, expect.stringContaining('listenerType: expected')]);
  expect(await create({ listenerConfig: { orderBy: '{{events.body.id}}' } })).toEqual([
    400,
    expect.stringContaining('listenerConfig.orderBy: '),
  ]);
  expect(await create({ endpointPath: 'a b' })).toEqual([
    400,
    expect.stringContaining('endpointPath: expected parts of'),
  ]);
  expect(await create({ listenerConfig: { responseStatusCode: 500 } })).toEqual([
    400,
    expect.stringContaining('listenerConfig.responseStatusCode: expected'),
  ]);
  expect(await create({ listenerConfig: { responseCode: 200 } })).toEqual([
    400,
    expect.stringContaining('responseCode'),
  ]);
  expect(
    await create({ actions: [{ actionType: 'trigger_workflow', actionConfig: { workflowID: newID() } }] }),
  ).toEqual([400, 'actions.0.actionConfig.workflowID: there is no such workflow']);
  expect(await add('notify', {})).toEqual([400, expect.stringContaining('actionType: expected')]);
  expect(await add('transform', {})).toEqual([400, expect.stringContaining('actionConfig.script: ')]);
  expect(await add('transform', { script: 'const a = 1;\nreturn ;}' })).toEqual([
    400,
    expect.stringContaining('actionConfig.script: line 2'),
  ]);
  expect(await add('filter', { script: 'let event = 1; return true;' })).toEqual([
    400,
    expect.stringContaining("actionConfig.script: line 1, column 5: Identifier 'event' has already been declared"),
  ]);
  const broken = [{ operator: 'expression', leftValue: 'event.body.a ===' }];
  expect(await add('filter', { conditions: broken })).toEqual([
    400,
    expect.stringContaining('actionConfig.conditions.0.leftValue: line 1'),
  ]);
  expect(await create({ transformScript: 'return (' })).toEqual([
    400,
    expect.stringContaining('transformScript: line 1'),
  ]);
  const changed = await api.patch(`T/listeners/${id}`, { transformScript: 'return (' });
  expect(changed.body.error?.message).toContain('transformScript: line 1');
  expect(await add('filter', {})).toEqual([
    400,
    expect.stringContaining('actionConfig.conditions: expected conditions, or'),
  ]);
  expect(await add('send_event', { eventName: 'a', eventKey: '{{ctx.input}}' })).toEqual([
    400,
    'actionConfig.eventKey: {{ctx.input}} must begin with event',
  ]);
  expect(await add('trigger_query', { dataQueryID: newID() })).toEqual([
    400,
    'actionConfig.dataQueryID: there is no such data query',
  ]);
  const queries = await api.post('T/queries', { dataQueryTitle: 'A', datasourceID, dataQueryOptions: {} });
  expect(queries.body.error.message).toContain('has no queries');
});

test('writing needs the permission to read the datasource and to use what actions name', async () => {
  const tenant = await aTenant(cluster);
  const workflow = await aWorkflow(cluster, { tenant });
  const datasourceID = await aSource(tenant);
  const actions = [{ actionType: 'trigger_workflow', actionConfig: { workflowID: workflow.id } }];
  const { id } = await aListener(cluster, { tenant, actions });
  const own = ['listener.create', 'listener.read', 'listener.update'] as const;
  const bare = clientOf(tenant, await aMember(cluster, { tenant, can: own }));
  const reads = clientOf(tenant, await aMember(cluster, { tenant, can: [...own, 'datasource.read'] }));
  const all = clientOf(
    tenant,
    await aMember(cluster, { tenant, can: [...own, 'datasource.read', 'workflow.execute'] }),
  );
  const body = { listenerTitle: 'A', datasourceID };

  const statuses = async (path: string, given: object | undefined, method = 'post') =>
    Promise.all([bare, reads, all].map(async (client) => (await client.request(method, path, given)).status));
  expect(await statuses('T/listeners', body)).toEqual([403, 201, 201]);
  expect(await statuses('T/listeners', { ...body, actions })).toEqual([403, 403, 201]);
  expect(await statuses(`T/listeners/${id}`, { datasourceID }, 'patch')).toEqual([403, 200, 200]);
  expect(await statuses(`T/listeners/${id}/clone`, undefined)).toEqual([403, 403, 200]);
  expect(await statuses(`T/listeners/${id}/actions`, actions[0])).toEqual([403, 403, 201]);
  const { rows } = await cluster.context.pool.query<{ id: string }>(
    'select id from listener_action where listener_id = $1 limit 1',
    [id],
  );
  expect(await statuses(`T/listeners/${id}/actions/${rows[0]?.id}`, { isEnabled: true }, 'put')).toEqual([
    403, 403, 200,
  ]);
});

test('the state of listeners shows only those of the tenant that the caller may read', async () => {
  const [tenant, other] = [await aTenant(cluster), await aTenant(cluster)];
  const [one, two] = [await aListener(cluster, { tenant }), await aListener(cluster, { tenant })];
  await aListener(cluster, { tenant: other });
  const member = await aMember(cluster, { tenant, rules: [{ object: `listener:${one.id}`, action: 'read' }] });

  const shown = async (user?: TestUser) =>
    Object.keys((await clientOf(tenant, user).get('T/listeners/status/connections')).body.status).sort();
  expect(await shown()).toEqual([one.id, two.id].sort());
  expect(await shown(member)).toEqual([one.id]);
});

test('every change that deliveries must see raises the version of the listeners, and counts do not', async () => {
  const tenant = await aTenant(cluster);
  const api = clientOf(tenant);
  const datasource = await aDatasource(cluster, { tenant, type: 'webhook', options: {} });
  const { id } = await aListener(cluster, { tenant, datasource });
  const { pool } = cluster.context;
  const changes: [string, () => Promise<unknown>, boolean][] = [
    ['path', () => api.patch(`T/listeners/${id}`, { endpointPath: 'a' }), true],
    ['config', () => api.patch(`T/listeners/${id}`, { listenerConfig: { dedupBy: 'none' } }), true],
    ['status', () => api.post(`T/listeners/${id}/deactivate`), true],
    [
      'action',
      () => api.post(`T/listeners/${id}/actions`, { actionType: 'transform', actionConfig: { script: 'return 1;' } }),
      true,
    ],
    [
      'options',
      () =>
        api.patch(`T/datasources/${datasource.id}`, {
          datasourceOptions: { authType: 'bearer', bearerToken: 'token' },
        }),
      true,
    ],
    ['title of the datasource', () => api.patch(`T/datasources/${datasource.id}`, { datasourceTitle: 'Other' }), false],
    ['title', () => api.patch(`T/listeners/${id}`, { listenerTitle: 'Other' }), false],
    [
      'counts',
      () => pool.query('update listener set event_count = 5, last_event_at = now() where id = $1', [id]),
      false,
    ],
    ['another datasource', async () => aDatasource(cluster, { tenant, type: 'webhook', options: {} }), false],
    ['deletion', () => api.delete(`T/datasources/${datasource.id}`), true],
  ];
  for (const [what, change, raises] of changes) {
    const before = await versionOf(tenant);
    await change();
    const after = await versionOf(tenant);
    if (raises) expect(after, what).toBeGreaterThan(before);
    else expect(after, what).toBe(before);
  }
  expect((await api.get('T/listeners')).body.listeners).toEqual([]);
});

test('configs of listeners and of their actions have a limit of their size, wherever they are written', async () => {
  const tenant = await aTenant(cluster);
  const api = clientOf(tenant);
  const workflow = await aWorkflow(cluster, { tenant });
  const action = (size: number) => ({
    actionType: 'trigger_workflow',
    actionConfig: { workflowID: workflow.id, inputValues: { text: 'x'.repeat(size) } },
  });
  const listener = { listenerTitle: 'Large', datasourceID: await aSource(tenant) };
  const { body } = await api.post('T/listeners', { ...listener, actions: [action(200_000)] });
  const path = `T/listeners/${body.listener.id}/actions`;

  const refused = [
    await api.post('T/listeners', { ...listener, actions: [action(1), action(300_000)] }),
    await api.post(path, action(300_000)),
    await api.put(`${path}/${body.listener.actions[0].id}`, action(300_000)),
  ];
  expect(
    refused.map(({ status, body: { error } }) => [status, error.message.replace(/received \d+/, 'received n')]),
  ).toEqual([
    [400, 'actions.1.actionConfig: expected at most 262144 bytes of JSON, received n'],
    [400, 'actionConfig: expected at most 262144 bytes of JSON, received n'],
    [400, 'actionConfig: expected at most 262144 bytes of JSON, received n'],
  ]);
});

test('the types of listeners and the kinds of actions are told with their forms', async () => {
  const api = clientOf(await aTenant(cluster));
  const { schemas, actions } = (await api.get('T/listeners/schemas')).body;
  const types = [
    'graphql',
    'imap',
    'mqtt',
    'nats',
    'postgresql',
    'rabbitmq',
    'redis',
    'sse',
    'syslog',
    'webhook',
    'websocket',
  ];
  expect(Object.keys(schemas).sort()).toEqual(types);
  const kinds = [
    'filter',
    'push_to_app_page',
    'save_to_buffer',
    'send_event',
    'transform',
    'trigger_query',
    'trigger_workflow',
  ];
  expect(Object.keys(actions).sort()).toEqual(kinds);
  expect(schemas.webhook).toMatchObject({
    datasourceType: 'webhook',
    schema: { properties: { answerMode: { enum: ['ack', 'result'], default: 'ack' } } },
    uischema: expect.anything(),
  });
  const one = await api.get('T/listeners/schemas?datasourceType=redis');
  expect(one.body.schemas).toEqual({ redis: schemas.redis });
  expect(await api.get('T/listeners/schemas?datasourceType=kafka')).toMatchObject({
    status: 404,
    body: { error: { code: 'SCHEMA_NOT_FOUND' } },
  });
});
