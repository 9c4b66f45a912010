import { setTimeout as sleep } from 'node:timers/promises';
import { io } from 'socket.io-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ACCESS_CHANNEL, type AccessSignal } from '#api/auth/access-signals.ts';
import { MAX_BYTES } from '#api/realtime/gateway.ts';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { changeRules } from '#shared/access/policy/change.ts';
import { newID } from '#shared/core/ids.ts';
import { isTerminal } from '#shared/workflow/progress/status.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aMember, aTenant, aUser, aWorkflow, chain, type TestTenant } from '../../support/factories.ts';
import { code, noop } from '../../support/graphs.ts';
import { eventually } from '../../support/settle.ts';
import { openSocket, type SocketMessage, type TestSocket } from '../../support/socket.ts';

let cluster: Cluster;
let tenant: TestTenant;

beforeAll(async () => {
  cluster = await startCluster({ workers: true, apis: 2, settings: { CORS_ORIGINS: 'https://ui.test' } });
  tenant = await aTenant(cluster);
});

afterAll(() => cluster[Symbol.asyncDispose]());

test('rejects a socket without a valid token', async () => {
  for (const token of [undefined, '', 'api_key abcdefgh', 'a.b.c'])
    await expect(openSocket(cluster.baseURL, token)).rejects.toMatchObject({
      data: { code: 'USER_AUTH_TOKEN_NOT_FOUND' },
    });
});

test('rejects a socket from an origin that is neither listed nor its own', async () => {
  const auth = { token: await cluster.tokenFor(tenant.creator) };
  const connect = (origin: string) =>
    new Promise<boolean>((resolve) => {
      const options = {
        auth,
        transports: ['websocket'],
        reconnection: false,
        forceNew: true,
        extraHeaders: { origin },
      };
      const socket = io(cluster.baseURL, options);
      const finish = (isConnected: boolean) => {
        socket.disconnect();
        resolve(isConnected);
      };
      socket.once('connect', () => finish(true));
      socket.once('connect_error', () => finish(false));
    });

  expect(await connect('https://ui.test')).toBe(true);
  // A page of the API itself.
  const { host } = new URL(cluster.baseURL);
  expect(await connect(cluster.baseURL)).toBe(true);
  expect(await connect(`https://${host}`)).toBe(true);
  // Another service of the same host.
  expect(await connect('http://127.0.0.1:1')).toBe(false);
  expect(await connect('https://evil.test')).toBe(false);
  expect(await connect('null')).toBe(false);
});

test('sends the events of a run from first to last, each once and in order, on every process', async () => {
  const graph = chain(Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`n${n}`, noop])), { done: true });
  const workflow = await aWorkflow(cluster, { tenant, ...graph });
  const sockets = await Promise.all(
    cluster.apis.flatMap((api) => [0, 1].map(() => cluster.socket(tenant.creator, { baseURL: api.baseURL }))),
  );
  const { instanceID } = (await api().post(`T/workflows/${workflow.id}/execute`)).body;

  const answers = await Promise.all(sockets.map((socket) => socket.ask('workflow_run_join', { instanceID })));
  await eventually(() => expect(sockets.every((socket) => endOf(socket))).toBe(true));

  for (const answer of answers) expect(answer).toMatchObject({ success: true, instanceID, seq: expect.any(Number) });
  for (const socket of sockets) {
    const seqs = socket.messages.map(({ payload }) => payload.seq);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    expect(endOf(socket)?.payload).toMatchObject({ status: 'COMPLETED', output: { done: true }, error: null });
    expect(socket.messages[0]).toMatchObject({ event: 'workflow_node_update', payload: { nodeID: 'start' } });
  }
  for (const socket of sockets) await socket[Symbol.asyncDispose]();
});

test('a caller who may execute a workflow may read and join the runs they started, and no others', async () => {
  const workflow = await aWorkflow(cluster, { tenant, ...chain({ step: noop }) });
  const starter = await aMember(cluster, { tenant, rules: [{ object: `workflow:${workflow.id}`, action: 'execute' }] });
  const client = cluster.as(starter).in(tenant);
  const own = (await client.post(`T/workflows/${workflow.id}/execute`)).body.instanceID;
  const others = (await api().post(`T/workflows/${workflow.id}/execute`)).body.instanceID;
  await using socket = await cluster.socket(starter);

  expect(await client.get(`T/workflows/instances/${own}`)).toMatchObject({ status: 200, body: { instanceID: own } });
  expect(await socket.ask('workflow_run_join', { instanceID: own })).toMatchObject({ success: true, instanceID: own });
  expect((await client.get(`T/workflows/instances/${others}`)).status).toBe(403);
  expect((await client.get(`T/workflows/instances/${newID()}`)).status).toBe(403);
  expect(await socket.ask('workflow_run_join', { instanceID: others })).toMatchObject({ success: false });
  expect((await client.get(`T/workflows/${workflow.id}`)).status).toBe(403);

  const em = tenantEntityManager(cluster.context.orm.em, tenant.id);
  await changeRules(em, tenant.id, {
    remove: [{ subject: starter.id, object: `workflow:${workflow.id}`, action: 'execute' }],
  });
  expect((await client.get(`T/workflows/instances/${own}`)).status).toBe(403);
});

test('sends a client that reconnects only the events after lastSeq', async () => {
  const workflow = await aWorkflow(cluster, { tenant, ...chain({ step: noop }) });
  const { instanceID } = (await api().post(`T/workflows/${workflow.id}/execute?wait=20`)).body;
  await using socket = await cluster.socket(tenant.creator);

  const { seq, status } = await socket.ask('workflow_run_join', { instanceID, lastSeq: 3 });
  await eventually(() => expect(endOf(socket)).toBeDefined());

  expect(status).toBe('COMPLETED');
  expect(socket.messages.map(({ payload }) => payload.seq)).toEqual(Array.from({ length: seq - 3 }, (_, n) => n + 4));
});

test('accepts the former event name for a run, and messages without an acknowledgement', async () => {
  const workflow = await aWorkflow(cluster, { tenant });
  const { instanceID } = (await api().post(`T/workflows/${workflow.id}/execute`)).body;
  await using socket = await cluster.socket(tenant.creator);

  socket.raw.emit('workflow_run_join', { runId: instanceID });

  await eventually(() => expect(endOf(socket)).toBeDefined());
});

test('sends an ask of a run with the fields that are needed to answer it', async () => {
  const graph = chain(
    { ask: { type: 'dataCollection', title: 'Who?', fields: [{ key: 'name', required: true }] } },
    { who: '{{ctx.collectedData.name}}' },
  );
  const workflow = await aWorkflow(cluster, { tenant, ...graph });
  const { instanceID } = (await api().post(`T/workflows/${workflow.id}/execute`)).body;
  await using socket = await cluster.socket(tenant.creator);
  await socket.ask('workflow_run_join', { instanceID });

  const question = await eventuallyFind(socket, ({ event }) => event === 'workflow_data_collection_request');
  const path = `T/workflows/data-collection/${question.payload.collectionRequestID}/submit`;
  const submitted = await api().post(path, { submittedData: { name: 'Ada' } });
  await eventually(() => expect(endOf(socket)).toBeDefined());

  expect(question.payload).toMatchObject({
    nodeID: 'ask',
    collectionType: 'form',
    collectionConfig: { title: 'Who?' },
  });
  expect(submitted.status).toBe(200);
  expect(endOf(socket)?.payload.output).toEqual({ who: 'Ada' });
});

test('tells watchers that a run was stopped', async () => {
  const workflow = await aWorkflow(cluster, { tenant, ...chain({ wait: { type: 'delay', delayMinutes: 5 } }) });
  const { instanceID } = (await api().post(`T/workflows/${workflow.id}/execute`)).body;
  await using socket = await cluster.socket(tenant.creator);
  await socket.ask('workflow_run_join', { instanceID });

  await api().delete(`T/workflows/instances/${instanceID}/stop`);

  await eventually(() => expect(endOf(socket)?.payload.status).toBe('CANCELLED'));
});

test('leaves out an output that is too large for a message; it is read over HTTP', async () => {
  const graph = chain({ big: code('return "x".repeat(20_000);', { outputVariable: 'text' }) });
  const workflow = await aWorkflow(cluster, { tenant, ...graph });
  const { instanceID } = (await api().post(`T/workflows/${workflow.id}/execute?wait=20`)).body;
  await using socket = await cluster.socket(tenant.creator);
  await socket.ask('workflow_run_join', { instanceID });

  const update = await eventuallyFind(
    socket,
    ({ payload }) => payload.nodeID === 'big' && payload.status === 'SUCCESS',
  );
  const { body } = await api().get(`T/workflows/instances/${instanceID}`);
  const read = body.timeline.find(({ seq }: { seq: number }) => seq === update.payload.seq);

  expect(update.payload).toMatchObject({ output: null, outputOmitted: true });
  expect(read.output.text).toHaveLength(20_000);
});

test('an event that there is not is answered with those that there are', async () => {
  await using socket = await cluster.socket(tenant.creator);

  const answer = await socket.ask('workflow_run_joined'.padEnd(500, '.'), { instanceID: newID() });

  const shown = 'workflow_run_joined'.padEnd(50, '.');
  expect(answer).toMatchObject({ success: false, error: { code: 'VALIDATION_ERROR' } });
  expect(answer.error.message).toMatch(`There is no event "${shown}": expected one of workflow_run_join, join_room,`);
});

test('a client that sends a message above 64 KiB is disconnected, and one below is not', async () => {
  await using socket = await cluster.socket(tenant.creator);
  expect(await socket.ask('join_room', { room: 'x'.repeat(65_000) })).toMatchObject({ success: false });

  socket.raw.emit('join_room', { room: 'x'.repeat(MAX_BYTES) });

  await eventually(() => expect(socket.raw.connected).toBe(false));
});

test('refuses a run of another tenant, an unreadable one and an unknown one with the same answer', async () => {
  const [own, foreign] = [await aWorkflow(cluster, { tenant }), await aWorkflow(cluster)];
  const member = await aMember(cluster, { tenant, rules: [{ object: `workflow:${newID()}`, action: 'read' }] });
  const ownRun = (await api().post(`T/workflows/${own.id}/execute`)).body.instanceID;
  const foreignTenant = { id: foreign.tenantID };
  const insider = await aMember(cluster, { tenant: foreignTenant, can: ['workflow.execute'] });
  const foreignRun = (await cluster.as(insider).in(foreignTenant).post(`T/workflows/${foreign.id}/execute`)).body
    .instanceID;
  await using socket = await cluster.socket(member);

  const answers = [];
  for (const instanceID of [ownRun, foreignRun, newID()])
    answers.push(await socket.ask('workflow_run_join', { instanceID }));
  await sleep(100);

  for (const answer of answers)
    expect(answer).toEqual({ success: false, error: { code: 'PERMISSION_DENIED', message: expect.any(String) } });
  expect(new Set(answers.map(({ error }) => error.message)).size).toBe(1);
  expect(socket.messages).toEqual([]);
});

test('refuses a malformed payload, and names what was expected', async () => {
  await using socket = await cluster.socket(tenant.creator);

  for (const [event, payload, message] of [
    ['workflow_run_join', null, 'expected an object, received null'],
    ['workflow_run_join', 'text', 'expected an object, received "text"'],
    ['workflow_run_join', [1], 'expected an object, received a list of 1 item'],
    ['workflow_run_join', {}, 'instanceID: is required'],
    ['workflow_run_join', { instanceID: 'x' }, 'instanceID: expected an id (UUID), received "x"'],
    [
      'workflow_run_join',
      { instanceID: newID(), lastSeq: -1 },
      'lastSeq: expected a whole number of at least 0, received -1',
    ],
    ['join_room', 5, 'room: expected a text of 1 to 255 characters, received 5'],
  ] as const)
    expect(await socket.ask(event, payload)).toEqual({
      success: false,
      error: { code: 'VALIDATION_ERROR', message },
    });
});

test('admits members to the room of their tenant, and no client to other rooms', async () => {
  const stranger = await aUser(cluster);
  await using inside = await cluster.socket(tenant.creator);
  await using outside = await cluster.socket(stranger);
  const room = `tenant:${tenant.id}`;

  expect(await inside.ask('join_room', room)).toEqual({ success: true, room });
  expect(await inside.ask('leave_room', room)).toEqual({ success: true, room });
  for (const [socket, name] of [
    [outside, room],
    [outside, `tenant:${newID()}`],
    [inside, `listener:${newID()}`],
    [inside, `listener_test:${newID()}`],
    [inside, newID()],
    [inside, 'tenant:*'],
  ] as const)
    expect(await socket.ask('join_room', name)).toMatchObject({ success: false, error: { code: 'PERMISSION_DENIED' } });
});

test('disconnects a blocked user, and removes a user who left a tenant from the rooms of its runs', async () => {
  const workflow = await aWorkflow(cluster, { tenant, ...chain({ wait: { type: 'delay', delaySeconds: 30 } }) });
  const { instanceID } = (await api().post(`T/workflows/${workflow.id}/execute`)).body;
  const [leaver, blocked] = [await aMember(cluster, { tenant, can: ['workflow.read'] }), await aUser(cluster)];
  await using left = await cluster.socket(leaver);
  await using cut = await cluster.socket(blocked);
  expect(await left.ask('workflow_run_join', { instanceID })).toMatchObject({ success: true });
  await eventually(() => expect(left.messages.length).toBeGreaterThan(0));

  await cluster.pool.query('delete from membership where user_id = $1', [leaver.id]);
  await cluster.pool.query('update app_user set is_disabled = true where id = $1', [blocked.id]);
  await eventually(() => expect([cut.raw.connected, left.raw.connected]).toEqual([false, false]));
  await sleep(500);
  const heard = left.messages.length;
  await api().delete(`T/workflows/instances/${instanceID}/stop`);
  await sleep(1_500);

  expect(left.messages).toHaveLength(heard);
  await using again = await cluster.socket(leaver);
  expect(await again.ask('workflow_run_join', { instanceID })).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
  await expect(cluster.socket(blocked)).rejects.toThrow();
});

test('a change of roles takes an open socket out of a room, and out of no other', async () => {
  const graph = chain({ wait: { type: 'delay', delayMinutes: 5 } });
  const [shown, hidden] = [
    await aWorkflow(cluster, { tenant, ...graph }),
    await aWorkflow(cluster, { tenant, ...graph }),
  ];
  const reader = await aMember(cluster, { tenant, rules: [{ object: `workflow:${shown.id}`, action: 'read' }] });
  const role = `role:${newID()}`;
  const em = () => tenantEntityManager(cluster.context.orm.em, tenant.id);
  await changeRules(em(), tenant.id, {
    add: [
      { subject: reader.id, role },
      { subject: role, object: `workflow:${hidden.id}`, action: 'read' },
    ],
  });
  await using socket = await cluster.socket(reader);
  const runs: string[] = [];
  for (const { id } of [hidden, shown]) {
    const { instanceID } = (await api().post(`T/workflows/${id}/execute`)).body;
    expect(await socket.ask('workflow_run_join', { instanceID })).toMatchObject({ success: true });
    runs.push(instanceID);
  }

  expect(socket.news.filter(isOfPermissions)).toEqual([]);
  await changeRules(em(), tenant.id, { remove: [{ subject: reader.id, role }] });
  await eventually(() => expect(socket.news.filter(isOfPermissions)).not.toEqual([]));
  // Once: the rooms have the version of the rules by which they were checked.
  await sleep(1_200);
  expect(socket.news.filter(isOfPermissions)).toEqual([
    { event: 'permissions_changed', payload: { tenantID: tenant.id } },
  ]);
  for (const instanceID of runs) await api().delete(`T/workflows/instances/${instanceID}/stop`);
  await eventually(() => expect(endOf(socket)).toBeDefined());
  // A check for another reason notes the version of the rules, and must tell of them too.
  await changeRules(em(), tenant.id, { add: [{ subject: reader.id, role }] });
  await cluster.context.messaging.backplane.messages.publish(ACCESS_CHANNEL, {
    userID: reader.id,
  } satisfies AccessSignal);
  await eventually(() => expect(socket.news.filter(isOfPermissions).length).toBeGreaterThan(1));
  await sleep(100);
  expect(socket.news.filter(isOfPermissions)).toHaveLength(2);

  const ends = socket.messages.filter(isEnd);
  expect(ends.map(({ payload }) => payload.instanceID)).toEqual([runs[1]]);
});

const api = () => cluster.as(tenant.creator).in(tenant);

function endOf({ messages }: TestSocket): SocketMessage | undefined {
  return messages.find(isEnd);
}

function isOfPermissions({ event }: SocketMessage): boolean {
  return event === 'permissions_changed';
}

function isEnd({ event, payload }: SocketMessage): boolean {
  return event === 'workflow_status_update' && isTerminal(payload.status);
}

async function eventuallyFind(socket: TestSocket, wanted: (message: SocketMessage) => boolean): Promise<SocketMessage> {
  let found: SocketMessage | undefined;
  await eventually(() => {
    found = socket.messages.find(wanted);
    expect(found).toBeDefined();
  });
  return found as SocketMessage;
}
