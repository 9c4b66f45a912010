import { afterAll, beforeAll, expect, test } from 'vitest';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { changeRules } from '#shared/access/policy/change.ts';
import { newID } from '#shared/core/ids.ts';
import { clientAnswers } from '#shared/messaging/realtime/client-events.ts';
import { events } from '#shared/messaging/realtime/events.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aMember, aTenant, aWidget, aWorkflow, chain, type TestTenant } from '../../../support/factories.ts';
import { code, noop } from '../../../support/graphs.ts';
import { eventually } from '../../../support/settle.ts';
import type { SocketMessage, TestSocket } from '../../../support/socket.ts';

let cluster: Cluster;
let tenant: TestTenant;
let widget: { id: string };

beforeAll(async () => {
  // Entries that are only noted are not stored during the test.
  cluster = await startCluster({ workers: true, apis: 2, settings: { AUDIT_BUFFER_SECONDS: '60' } });
  tenant = await aTenant(cluster);
  widget = await aWidget(cluster, { tenant });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const api = () => cluster.as(tenant.creator).in(tenant);
const sum = () => chain({ add: code('return ctx.input.a + 1;', { outputVariable: 'sum' }) }, { sum: '{{ctx.sum}}' });
const listening = () =>
  chain({ hear: { type: 'waitForEvent', eventName: 'widget_input' } }, { heard: '{{ctx.event.data.word}}' });

const named = (socket: TestSocket, event: string) => socket.messages.filter((message) => message.event === event);
const statusOf = (socket: TestSocket, instanceID: string) =>
  named(socket, 'widget_workflow_status').findLast(({ payload }) => payload.instanceID === instanceID)?.payload;
const ended = (socket: TestSocket, instanceID: string, status = 'COMPLETED') =>
  eventually(() => expect(statusOf(socket, instanceID)?.status).toBe(status));
const connect = (socket: TestSocket, payload: object) =>
  socket.ask('widget_workflow_connect', { widgetID: widget.id, ...payload });

/** Every message has the form of its contract. */
function requireContracts({ messages }: TestSocket): void {
  for (const { event, payload } of messages)
    expect(() => events.server[event as keyof typeof events.server].strict().parse(payload), event).not.toThrow();
}

test('executes a workflow for a widget, and tells it of every node, its context and the result', async () => {
  const workflow = await aWorkflow(cluster, { tenant, ...sum() });
  await using socket = await cluster.socket(tenant.creator);

  const answer = await connect(socket, { workflowID: workflow.id, inputParams: { a: 2 }, tenantID: tenant.id });
  await ended(socket, answer.instanceID);

  expect(() => clientAnswers.widget_workflow_connect.strict().parse(answer)).not.toThrow();
  const of = { widgetID: widget.id, instanceID: answer.instanceID };
  expect(socket.messages[0]).toEqual({
    event: 'widget_workflow_connected',
    payload: {
      ...{ ...of, workflowID: workflow.id, mode: 'execute', seq: 0 },
      ...{ initialContext: { input: { a: 2 } }, workflowMeta: null },
    },
  });
  const added = named(socket, 'widget_context_update').find(({ payload }) => payload.update.nodeID === 'add');
  expect(added?.payload).toMatchObject({
    ...of,
    update: {
      ...{ type: 'NODE_COMPLETE', nodeType: 'javascript', outputVariable: 'sum', value: 3, status: 'SUCCESS' },
      contextSnapshot: { input: { a: 2 }, sum: 3 },
    },
  });
  expect(statusOf(socket, answer.instanceID)).toMatchObject({
    ...of,
    ...{ finalContext: { input: { a: 2 }, sum: 3 }, output: { sum: 3 }, error: null },
  });
  // The messages of the run come too, each once, and the last of each change alone lacks `more`.
  const numbered = socket.messages.filter(({ payload }) => payload.seq > 0 && 'instanceID' in payload);
  const done = numbered.filter(({ payload }) => !payload.more).map(({ payload }) => payload.seq);
  expect(done).toEqual(done.map((_, at) => at + 1));
  expect(new Set(numbered.map((message) => JSON.stringify(message))).size).toBe(numbered.length);
  requireContracts(socket);
});

test('a running workflow reads the input of a widget, before and after it waits, each once', async () => {
  const workflow = await aWorkflow(cluster, { tenant, ...listening() });
  await using socket = await cluster.socket(tenant.creator);
  await using other = await cluster.socket(tenant.creator, { baseURL: cluster.apis[1]?.baseURL ?? '' });
  const [one, two] = [
    await connect(socket, { workflowID: workflow.id }),
    await connect(other, { workflowID: workflow.id }),
  ];
  expect(one.instanceID).not.toBe(two.instanceID);

  const input = { widgetID: widget.id, inputType: 'form_submit', data: { word: 'one' }, idempotencyKey: newID() };
  const [sent, repeated] = [await socket.ask('widget_send_input', input), await socket.ask('widget_send_input', input)];
  await ended(socket, one.instanceID);

  expect(sent).toMatchObject({ success: true, instanceID: one.instanceID, inputType: 'form_submit' });
  expect(repeated.eventID).toBe(sent.eventID);
  expect(statusOf(socket, one.instanceID).output).toEqual({ heard: 'one' });
  expect(named(socket, 'widget_input_received')[0]?.payload).toEqual({
    ...{ widgetID: widget.id, instanceID: one.instanceID, inputType: 'form_submit', success: true },
  });
  // It was for the first run alone, although both show the same widget.
  expect((await api().get(`T/workflows/instances/${two.instanceID}`)).body.status).not.toBe('COMPLETED');
  await eventually(() => expect(statusOf(other, two.instanceID)?.status).toBe('WAITING'));
  const late = await other.ask('widget_send_input', { ...input, data: { word: 'two' }, idempotencyKey: newID() });
  await ended(other, two.instanceID);
  expect([late.reached, statusOf(other, two.instanceID).output]).toEqual([1, { heard: 'two' }]);
  // TypeScript's declarations lack the method.
  const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };
  const lossy = { sums: [rawJSON('12345678901234567890.5')] };
  expect(await other.ask('widget_send_input', { ...input, data: lossy })).toMatchObject({
    error: { code: 'VALIDATION_ERROR', message: expect.stringContaining('0: 12345678901234567890.5 is more than') },
  });
  const refused = await other.ask('widget_send_input', { widgetID: widget.id, inputType: 'action' });
  expect(refused).toMatchObject({ success: false, error: { code: 'CONFLICT' } });
  requireContracts(socket);
  requireContracts(other);
});

test('another process goes on from the sequence: nothing is lost, and nothing is told twice', async () => {
  const workflow = await aWorkflow(cluster, {
    tenant,
    ...chain({ a: noop, hear: { type: 'waitForEvent', eventName: 'widget_input' }, b: noop, c: noop }, { done: true }),
  });
  const key = newID();
  const first = await cluster.socket(tenant.creator);
  const { instanceID } = await connect(first, { workflowID: workflow.id, idempotencyKey: key });
  await eventually(() => expect(statusOf(first, instanceID)?.status).toBe('WAITING'));
  await first[Symbol.asyncDispose]();
  const before = whole(first.messages);
  const lastSeq = before.at(-1)?.payload.seq;

  await using second = await cluster.socket(tenant.creator, { baseURL: cluster.apis[1]?.baseURL ?? '' });
  // As a client that has not heard the answer repeats it: the same run.
  const again = await connect(second, { workflowID: workflow.id, idempotencyKey: key, lastSeq });
  await second.ask('widget_send_input', { widgetID: widget.id, inputType: 'action' });
  await ended(second, instanceID);
  await using third = await cluster.socket(tenant.creator);
  const { seq } = await connect(third, { mode: 'subscribe', instanceID, lastSeq: 0 });
  await ended(third, instanceID);

  expect(again.instanceID).toBe(instanceID);
  expect([...before, ...whole(second.messages)]).toEqual(whole(third.messages));
  expect(whole(third.messages).at(-1)?.payload.seq).toBe(seq);
  expect(named(second, 'widget_workflow_connected')[0]?.payload).toMatchObject({ seq: lastSeq, mode: 'execute' });
});

/** The numbered messages, of which some may tell of one change. */
function whole(messages: readonly SocketMessage[]): SocketMessage[] {
  return messages.filter(({ event, payload }) => payload.seq > 0 && event !== 'widget_workflow_connected');
}

test('several widgets on one socket show one run, and what a client has joined stays when they leave', async () => {
  const workflow = await aWorkflow(cluster, { tenant, ...listening() });
  const keys = [1, 2].map((n) => `widget_${widget.id}_${n}`);
  await using socket = await cluster.socket(tenant.creator);
  const { instanceID } = await connect(socket, { widgetID: keys[0], workflowID: workflow.id });
  await eventually(() => expect(statusOf(socket, instanceID)?.status).toBe('WAITING'));
  await connect(socket, { widgetID: keys[1], mode: 'subscribe', instanceID, lastSeq: 0 });
  await eventually(() =>
    expect(new Set(named(socket, 'widget_workflow_status').map(({ payload }) => payload.widgetID)).size).toBe(2),
  );
  expect(await socket.ask('widget_workflow_disconnect', { widgetID: keys[0] })).toEqual({
    ...{ success: true, widgetID: keys[0] },
  });
  const heard = socket.messages.length;
  await socket.ask('widget_send_input', { widgetID: keys[1], inputType: 'action', data: { word: 'x' } });
  await ended(socket, instanceID);

  const later = socket.messages.slice(heard).filter(({ event }) => event.startsWith('widget_workflow_status'));
  expect(new Set(later.map(({ payload }) => payload.widgetID))).toEqual(new Set([keys[1]]));
  const raw = named(socket, 'workflow_node_update').map(({ payload }) => JSON.stringify([payload.seq, payload.nodeID]));
  expect(new Set(raw).size).toBe(raw.length);
  expect(named(socket, 'widget_workflow_disconnected')).toHaveLength(1);
  requireContracts(socket);
});

test('refreshes a widget with its inputs or new ones, and replays a run once', async () => {
  const workflow = await aWorkflow(cluster, { tenant, ...sum() });
  await using socket = await cluster.socket(tenant.creator);
  const { instanceID } = await connect(socket, { workflowID: workflow.id, inputParams: { a: 1 } });
  const same = await socket.ask('widget_refresh', { widgetID: widget.id, tenantID: tenant.id });
  const more = await socket.ask('widget_refresh', { widgetID: widget.id, inputParams: { a: 5 } });
  await ended(socket, more.instanceID);

  const read = async (id: string) => (await api().get(`T/workflows/instances/${id}`)).body;
  await eventually(async () => expect((await read(same.instanceID)).output).toEqual({ sum: 2 }));
  expect((await read(more.instanceID)).output).toEqual({ sum: 6 });

  await using replaying = await cluster.socket(tenant.creator);
  await connect(replaying, { mode: 'replay', instanceID: more.instanceID });
  expect(replaying.messages).toEqual([
    {
      event: 'widget_workflow_connected',
      payload: {
        ...{ widgetID: widget.id, instanceID: more.instanceID, workflowID: workflow.id, mode: 'replay' },
        ...{ initialContext: { input: { a: 5 }, sum: 6 }, workflowMeta: null, workflowStatus: 'COMPLETED' },
        seq: expect.any(Number),
      },
    },
  ]);
  expect(await replaying.ask('widget_refresh', { widgetID: widget.id })).toMatchObject({ error: { code: 'CONFLICT' } });
  expect(new Set([instanceID, same.instanceID, more.instanceID]).size).toBe(3);
});

test('needs the right to the widget and to the workflow, and loses it with them', async () => {
  const workflow = await aWorkflow(cluster, { tenant, ...listening() });
  const foreign = await aWorkflow(cluster);
  const rules = {
    widget: { object: `widget:${widget.id}`, action: 'execute' },
    workflow: { object: `workflow:${workflow.id}`, action: 'execute' },
  };
  const execute = { workflowID: workflow.id };
  const own = await connect(await cluster.socket(tenant.creator), execute);
  for (const rule of [rules.widget, rules.workflow]) {
    await using socket = await cluster.socket(await aMember(cluster, { tenant, rules: [rule] }));
    for (const payload of [
      execute,
      { workflowID: foreign.id },
      { workflowID: newID() },
      { mode: 'subscribe', instanceID: own.instanceID },
      { mode: 'replay', instanceID: own.instanceID },
    ])
      expect(await connect(socket, payload)).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
    const input = { widgetID: widget.id, instanceID: own.instanceID, inputType: 'action' };
    expect(await socket.ask('widget_send_input', input)).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
    expect(new Set(socket.messages.map(({ event }) => event))).toEqual(new Set(['widget_workflow_error']));
    requireContracts(socket);
  }

  const member = await aMember(cluster, { tenant, rules: [rules.widget, rules.workflow] });
  await using socket = await cluster.socket(member);
  const { instanceID } = await connect(socket, execute);
  await eventually(() => expect(statusOf(socket, instanceID)?.status).toBe('WAITING'));
  const remove = [{ subject: member.id, ...rules.widget }];
  await changeRules(tenantEntityManager(cluster.context.orm.em, tenant.id), tenant.id, { remove });
  const input = { widgetID: widget.id, instanceID, inputType: 'action' };
  expect(await socket.ask('widget_send_input', input)).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
  // Re-checked within two seconds.
  await eventually(async () =>
    expect(await socket.ask('widget_refresh', { widgetID: widget.id })).toMatchObject({ error: { code: 'CONFLICT' } }),
  );
  expect(named(socket, 'widget_workflow_error').map(({ payload }) => payload)).toContainEqual({
    widgetID: widget.id,
    error: { code: 'CONNECTION_FAILED', message: expect.any(String), reason: 'PERMISSION_DENIED', recoverable: false },
    timestamp: expect.any(String),
  });
});

test('a viewer of a page executes what it binds, and hears its result alone', async () => {
  const workflow = await aWorkflow(cluster, { tenant, ...listening() });
  const sources = [{ alias: 'w', type: 'workflow', workflowID: workflow.id }];
  const config = { appPageTitle: 'A page', appPageConfig: { dataSources: sources } };
  const { appPage } = (await api().post('T/app-pages', config)).body;
  const viewer = await aMember(cluster, { tenant, can: ['appPage.read'] });
  const stranger = await aMember(cluster, { tenant, can: ['appPage.read', 'widget.execute'] });
  const through = { appPageID: appPage.appPageID ?? appPage.id, workflowAlias: 'w' };
  await using socket = await cluster.socket(viewer);
  const first = await connect(socket, through);
  expect(first).toMatchObject({ success: true });
  const { instanceID } = await socket.ask('widget_refresh', { widgetID: widget.id });
  await using other = await cluster.socket(stranger);
  expect(await connect(other, { mode: 'subscribe', instanceID })).toMatchObject({
    error: { code: 'PERMISSION_DENIED' },
  });

  await socket.ask('widget_send_input', { widgetID: widget.id, inputType: 'action', data: { word: 'page' } });
  await ended(socket, instanceID);

  expect(statusOf(socket, instanceID)).toMatchObject({ output: { heard: 'page' }, finalContext: null });
  expect(new Set(socket.messages.map(({ event }) => event))).toEqual(
    new Set(['widget_workflow_connected', 'widget_workflow_status', 'widget_input_received']),
  );
  requireContracts(socket);
});

test('the entry of a run and of an input is stored with it', async () => {
  const workflow = await aWorkflow(cluster, { tenant, ...listening() });
  const sources = [{ alias: 'w', type: 'workflow', workflowID: workflow.id }];
  const { body } = await api().post('T/app-pages', { appPageTitle: 'P', appPageConfig: { dataSources: sources } });
  const appPageID: string = body.appPage.appPageID ?? body.appPage.id;
  await using socket = await cluster.socket(tenant.creator);
  const entries = async (key: string, value: string) => {
    const { rows } = await cluster.pool.query(
      `select action, user_id, asset_type, asset_id, status from audit_record
       where tenant_id = $1 and type = 'SOCKET_ACTION' and details ->> $2 = $3`,
      [tenant.id, key, value],
    );
    return rows;
  };
  const entry = { action: 'execute', user_id: tenant.creator.id, asset_type: 'workflow', asset_id: workflow.id };

  const idempotencyKey = newID();
  const { instanceID } = await connect(socket, { workflowID: workflow.id, idempotencyKey });
  expect(await entries('instanceID', instanceID)).toEqual([{ ...entry, status: 200 }]);
  await connect(socket, { workflowID: workflow.id, idempotencyKey });
  expect(await entries('instanceID', instanceID)).toHaveLength(1);
  const input = { widgetID: widget.id, inputType: 'action', data: { word: 'x' }, idempotencyKey: newID() };
  for (let n = 0; n < 2; n += 1) await socket.ask('widget_send_input', input);
  expect(await entries('room', instanceID)).toEqual([{ ...entry, action: 'input', status: 200 }]);
  const refreshed = await socket.ask('widget_refresh', { widgetID: widget.id });
  expect(await entries('instanceID', refreshed.instanceID)).toHaveLength(1);
  const ofPage = await connect(socket, { appPageID, workflowAlias: 'w' });
  expect(await entries('instanceID', ofPage.instanceID)).toEqual([
    { ...entry, asset_type: 'appPage', asset_id: appPageID, status: 200 },
  ]);
});

test('refuses what is malformed, and says what was expected', async () => {
  await using socket = await cluster.socket(tenant.creator);
  const ask = async (event: string, payload: unknown) => (await socket.ask(event, payload)).error;

  for (const [event, payload, message] of [
    ['widget_workflow_connect', null, 'expected an object, received null'],
    ['widget_workflow_connect', { widgetID: widget.id }, 'workflowID: is required to execute'],
    ['widget_workflow_connect', { widgetID: widget.id, mode: 'replay' }, 'instanceID: is required to replay'],
    [
      'widget_send_input',
      { widgetID: 'x', inputType: 'a' },
      'widgetID: expected the id of a widget, or widget_<id>_<suffix>',
    ],
    [
      'widget_send_input',
      { widgetID: widget.id, inputType: 'a', data: '\0' },
      'data: must not contain the character NUL or half of a surrogate pair',
    ],
  ] as const)
    expect(await ask(event, payload)).toEqual({ code: 'VALIDATION_ERROR', message });
  const failed = named(socket, 'widget_workflow_error').map(({ payload }) => [payload.widgetID, payload.error.code]);
  expect(failed).toEqual([
    [null, 'CONNECTION_FAILED'],
    [widget.id, 'CONNECTION_FAILED'],
    [widget.id, 'CONNECTION_FAILED'],
    ['x', 'INPUT_FAILED'],
    [widget.id, 'INPUT_FAILED'],
  ]);
});

test('a socket connects 50 widgets, and a context that is too large is named', async () => {
  const graph = chain({ big: code('return "x".repeat(17_000);', { outputVariable: 'text' }) });
  const workflow = await aWorkflow(cluster, { tenant, ...graph });
  const { instanceID } = (await api().post(`T/workflows/${workflow.id}/execute?wait=20`)).body;
  await using socket = await cluster.socket(tenant.creator);
  const of = (n: number) => ({ widgetID: `widget_${widget.id}_${n}`, mode: 'subscribe', instanceID });
  const answers = await Promise.all(Array.from({ length: 51 }, (_, n) => connect(socket, of(n))));

  expect(answers.filter(({ success }) => success)).toHaveLength(50);
  expect(answers.find(({ success }) => !success)).toMatchObject({ error: { code: 'QUOTA_EXCEEDED' } });
  const connected = named(socket, 'widget_workflow_connected')[0]?.payload;
  expect(connected).toMatchObject({ initialContext: { input: {} }, contextOmitted: ['text'] });
});
