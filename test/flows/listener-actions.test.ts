import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import {
  aDataQuery,
  aDatasource,
  aListener,
  aMember,
  aTenant,
  aWorkflow,
  type TestTenant,
} from '#test/support/factories.ts';
import { startHTTP } from '#test/support/http-server.ts';
import { eventually } from '#test/support/settle.ts';
import { deletionOf } from '#workers/maintenance/retention/tables.ts';
import { dispatchWaiting } from '#workers/triggers/listeners/dispatch-events.ts';
import { showDeadLetters } from '#workers/triggers/listeners/show-dead-letters.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster();
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

interface Action {
  actionType: string;
  actionConfig: JsonObject;
}

const transform = (script: string): Action => ({ actionType: 'transform', actionConfig: { script } });
const filter = (actionConfig: JsonObject): Action => ({ actionType: 'filter', actionConfig });
const save = (more: JsonObject = {}): Action => ({ actionType: 'save_to_buffer', actionConfig: more });
const start = (workflowID: string, inputValues?: JsonObject): Action => ({
  actionType: 'trigger_workflow',
  actionConfig: { workflowID, ...(inputValues && { inputValues }) },
});

async function deliver(listener: { id: string }, body: unknown): Promise<string> {
  const response = await fetch(`${cluster.baseURL}/webhooks/v1/inbound/${listener.id}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const answer = (await response.json()) as { eventID: string };
  return answer.eventID;
}

function api(as = tenant.creator) {
  return cluster.as(as).in(tenant);
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
async function eventOf(listener: { id: string }, eventID: string): Promise<any> {
  return (await api().get(`T/listeners/${listener.id}/events/${eventID}`)).body.event;
}

/** The dispatch of waiting events, which every worker does, though not as often. */
const dispatch = () => dispatchWaiting({ ...cluster.context, ...cluster.context.messaging });

/** Waits until the event is in the state. */
async function reaches(listener: { id: string }, eventID: string, state: string) {
  let event: Awaited<ReturnType<typeof eventOf>>;
  await eventually(async () => {
    await dispatch();
    event = await eventOf(listener, eventID);
    expect(event, JSON.stringify(event)).toMatchObject({ state });
  });
  return event;
}

async function bufferOf(listener: { id: string }, query = '') {
  const { body } = await api().get(`T/listeners/${listener.id}/buffer${query}`);
  return body.events as { eventData: JsonObject; eventID: string; seqNo: number }[];
}

/** The ids of a listener's actions, in their order. */
async function actionIDs(listener: { id: string }): Promise<string[]> {
  const { body } = await api().get(`T/listeners/${listener.id}`);
  return body.listener.actions.map(({ id }: { id: string }) => id);
}

const count = async (sql: string, values: unknown[]) =>
  (await cluster.context.pool.query<{ n: number }>(`select count(*)::int as n from ${sql}`, values)).rows[0]?.n;

test('actions go in their order, each with the event that those before have left', async () => {
  const workflow = await aWorkflow(cluster, { tenant });
  const query = await aDataQuery(cluster, {
    tenant,
    query: { query: 'select {{inputs.n}}::int as n', inputDefinitions: [{ key: 'n', type: 'number' }] },
  });
  const appPageID = newID();
  const listener = await aListener(cluster, {
    tenant,
    actions: [
      transform('return { ...event, body: { n: event.body.n + 1, who: event.method } };'),
      filter({ conditions: [{ leftValue: '{{event.body.n}}', operator: 'greater_than', rightValue: 5 }] }),
      start(workflow.id, { n: '{{event.body.n}}' }),
      { actionType: 'trigger_query', actionConfig: { dataQueryID: query.id, inputValues: { n: '{{event.body.n}}' } } },
      save({ bufferName: 'orders' }),
      { actionType: 'push_to_app_page', actionConfig: { appPageID, mode: 'append', maxArrayLength: 7 } },
      {
        actionType: 'send_event',
        actionConfig: { eventName: 'paid', eventKey: 'order-{{event.body.n}}', data: { n: '{{event.body.n}}' } },
      },
      transform('return { body: "last" };'),
    ],
  });
  const viewer = await aMember(cluster, { tenant, can: ['appPage.read'] });
  const stranger = await aMember(cluster, { tenant, can: ['listener.read'] });
  await using socket = await cluster.socket(viewer);
  await using other = await cluster.socket(stranger);
  expect(await socket.ask('join_room', `listener:app_page:${appPageID}`)).toMatchObject({ success: true });
  expect(await other.ask('join_room', `listener:app_page:${appPageID}`)).toMatchObject({ success: false });
  expect(await socket.ask('join_room', `listener:app_page:${newID()}`)).toMatchObject({ success: false });

  const eventID = await deliver(listener, { n: 6 });
  const event = await reaches(listener, eventID, 'done');
  const small = await deliver(listener, { n: 4 });
  await reaches(listener, small, 'filtered');

  const ids = await actionIDs(listener);
  expect(ids.map((id) => event.actions[id]?.state)).toEqual(ids.map(() => 'done'));
  expect(event).toMatchObject({ bodyText: '{"n":6}', method: 'POST', attempts: 0, error: null });
  expect(event.headers).toContainEqual(['content-type', 'application/json']);
  const { rows } = await cluster.context.pool.query('select id, input from workflow_instance where tenant_id = $1', [
    tenant.id,
  ]);
  expect(rows).toEqual([{ id: event.instanceID, input: { n: 7 } }]);
  expect(event.actions[ids[3] ?? '']).toMatchObject({ result: { rowCount: 1 } });
  expect(await bufferOf(listener, '?bufferName=orders')).toMatchObject([
    { eventID, eventData: { body: { n: 7, who: 'POST' } } },
  ]);
  expect(await bufferOf(listener)).toEqual([]);
  const sent = await cluster.context.pool.query('select name, key, data from workflow_event where tenant_id = $1', [
    tenant.id,
  ]);
  expect(sent.rows).toEqual([{ name: 'paid', key: 'order-7', data: { n: 7 } }]);
  await eventually(() =>
    expect(socket.messages).toMatchObject([
      {
        event: 'listener_event',
        payload: {
          channelName: `listener:${listener.id}`,
          eventID,
          mode: 'append',
          limit: 7,
          data: { body: { n: 7, who: 'POST' } },
        },
      },
    ]),
  );
  expect(other.messages).toEqual([]);
});

test('code and conditions filter events; what fails in them is stored, and ends the actions', async () => {
  const cases: [Action, unknown, string][] = [
    [transform('return null;'), {}, 'filtered'],
    [transform('event.a = 1;'), {}, 'filtered'],
    [transform('return [1];'), {}, 'dead'],
    [transform('return event.body.no.such;'), {}, 'dead'],
    [filter({ script: 'return event.body.a > 1;' }), { a: 1 }, 'filtered'],
    [filter({ script: 'return event.body.a > 1;' }), { a: 2 }, 'done'],
    [filter({ script: 'return event.body.no.such;' }), {}, 'dead'],
    [
      filter({ conditions: [{ leftValue: '{{event.body.a}}', operator: 'matches_regex', rightValue: '^x' }] }),
      { a: 'xy' },
      'done',
    ],
    [
      filter({ conditions: [{ leftValue: '{{event.body.a}}', operator: 'matches_regex', rightValue: '^x' }] }),
      { a: 'y' },
      'filtered',
    ],
    [
      filter({
        conditionLogic: 'OR',
        conditions: [
          { leftValue: '{{event.body.a}}', operator: 'equals', rightValue: 'z' },
          { leftValue: 'event.body.a === "y"', operator: 'expression' },
        ],
      }),
      { a: 'y' },
      'done',
    ],
  ];
  await Promise.all(
    cases.map(async ([action, body, state]) => {
      const listener = await aListener(cluster, { tenant, actions: [action, save()] });
      await reaches(listener, await deliver(listener, body), state);
      expect(await bufferOf(listener), JSON.stringify(action)).toHaveLength(state === 'done' ? 1 : 0);
    }),
  );
});

test('actions go on after the failure of another, and none that has succeeded is done again', async () => {
  const own = await aTenant(cluster);
  const { pool } = cluster.context;
  const workflow = await aWorkflow(cluster, { tenant: own });
  const missing = { actionType: 'trigger_workflow', actionConfig: { workflowID: newID() } };
  const sending = { actionType: 'send_event', actionConfig: { eventName: 'a', eventKey: 'k' } };
  const listener = await aListener(cluster, { tenant: own, actions: [save(), missing, start(workflow.id), sending] });
  await pool.query(`insert into quota (owner_id, name, max) values ($1, 'runs', 0)`, [own.id]);
  const read = async (eventID: string) =>
    (await cluster.as(own.creator).in(own).get(`T/listeners/${listener.id}/events/${eventID}`)).body.event;
  const states = (event: { actions: Record<string, { state: string }> }) =>
    Object.values(event.actions)
      .map(({ state }) => state)
      .sort();

  const eventID = await deliver(listener, {});
  const refused = { state: 'pending', error: { code: 'QUOTA_EXCEEDED' } };
  await eventually(async () => expect(await read(eventID)).toMatchObject(refused));
  expect(states(await read(eventID))).toEqual(['done', 'done', 'failed', 'waiting']);
  await pool.query(`delete from quota where owner_id = $1`, [own.id]);
  await pool.query('update listener_event set ready_at = now() where id = $1', [eventID]);
  await eventually(async () => {
    await dispatch();
    expect(await read(eventID)).toMatchObject({ state: 'dead' });
  });

  const event = await read(eventID);
  expect(states(event)).toEqual(['done', 'done', 'done', 'failed']);
  const tried = Object.values<{ attempts: number }>(event.actions).map(({ attempts }) => attempts);
  const [most = 0, ...others] = tried.sort((x, y) => y - x);
  expect(others).toEqual([1, 1, 1]);
  // More often if the quota was left only after the second attempt.
  expect(most).toBeGreaterThan(1);
  expect(event.error.message).toContain('no such workflow');
  expect(JSON.stringify(event)).not.toContain('.ts:');
  const counts = async () => [
    await count('listener_buffer where tenant_id = $1', [own.id]),
    await count('workflow_instance where tenant_id = $1', [own.id]),
    await count('workflow_event where tenant_id = $1', [own.id]),
  ];
  expect(await counts()).toEqual([1, 1, 1]);

  await pool.query(`update listener_action set action_config = $2 where listener_id = $1 and action_config = $3`, [
    listener.id,
    start(workflow.id).actionConfig,
    missing.actionConfig,
  ]);
  const redriven = await cluster
    .as(own.creator)
    .in(own)
    .post(`T/listeners/${listener.id}/events/${eventID}/redrive`, {});
  expect(redriven).toMatchObject({ status: 200, body: { eventID, replayOf: null } });
  await eventually(async () => {
    await dispatch();
    expect(await read(eventID)).toMatchObject({ state: 'done' });
  });
  expect(await counts()).toEqual([1, 2, 1]);
});

// The calls of a first try end during a second.
test('events of all tenants of one creator at a silent server leave places for those of others', {
  retry: 0,
}, async () => {
  await using server = await startHTTP(() => undefined);
  const { creator } = await aTenant(cluster);
  const silent = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const own = await aTenant(cluster, { creator });
      const options = { baseUrl: server.origin };
      const datasource = await aDatasource(cluster, { tenant: own, type: 'restapi', options });
      const query = await aDataQuery(cluster, { tenant: own, datasource, query: { apiEndpoint: '/' } });
      const asks = { actionType: 'trigger_query', actionConfig: { dataQueryID: query.id } };
      return aListener(cluster, { tenant: own, actions: [asks] });
    }),
  );
  // A creator has half of 160 places, and a tenant 40: this is what all of them took.
  for (const listener of silent) await Promise.all(Array.from({ length: 40 }, (_, n) => deliver(listener, { n })));
  await eventually(() => expect(server.seen.length).toBeGreaterThan(3));

  const listener = await aListener(cluster, { tenant, actions: [filter({ script: 'return true' })] });
  await reaches(listener, await deliver(listener, {}), 'done');
});

test('sockets in the test room get what a listener receives, with what its transform makes of it, and no other socket does', async () => {
  const listener = await aListener(cluster, {
    tenant,
    actions: [transform('return event.body.n > 1 ? { n: event.body.list.length } : null;'), save()],
  });
  const other = await aListener(cluster, { tenant, actions: [save()] });
  const [reader, stranger] = [
    await aMember(cluster, { tenant, can: ['listener.read'] }),
    await aMember(cluster, { tenant }),
  ];
  const foreigner = (await aTenant(cluster)).creator;
  const room = `listener_test:${listener.id}`;
  await using socket = await cluster.socket(reader);
  await using plain = await cluster.socket(reader);
  expect(await socket.ask('join_room', room)).toEqual({ success: true, room });
  for (const user of [stranger, foreigner]) {
    await using refused = await cluster.socket(user);
    expect(await refused.ask('join_room', room)).toMatchObject({ error: { code: 'PERMISSION_DENIED' } });
  }
  const got = async (number: number) => {
    await eventually(() => expect(socket.messages).toHaveLength(number));
    return socket.messages[number - 1];
  };

  const before = Date.now();
  await deliver(listener, { n: 2, list: [1] });
  const first = await got(1);
  expect(first).toEqual({
    event: 'listener_test_event',
    payload: {
      listenerID: listener.id,
      rawEvent: expect.objectContaining({ method: 'POST', body: { n: 2, list: [1] } }),
      transformedEvent: { n: 1 },
      transformError: null,
      timestamp: expect.any(Number),
    },
  });
  expect(first?.payload.timestamp).toBeGreaterThanOrEqual(before);
  await deliver(listener, { n: 1 });
  expect(await got(2)).toMatchObject({ payload: { transformedEvent: null, transformError: null } });
  await deliver(listener, { n: 2 });
  const failed = { transformedEvent: null, transformError: expect.stringContaining('TypeError') };
  expect(await got(3)).toMatchObject({ payload: { rawEvent: { body: { n: 2 } }, ...failed } });
  await deliver(listener, '{"a":');
  const unread = { rawEvent: { body: '{"a":' }, transformError: expect.stringContaining('not JSON') };
  expect(await got(4)).toMatchObject({ payload: unread });
  await deliver(listener, { n: 2, list: ['x'.repeat(70_000)] });
  expect(await got(5)).toMatchObject({ payload: { rawEvent: null, dataOmitted: true } });
  // The real actions were done, and other rooms are sent nothing.
  await reaches(other, await deliver(other, {}), 'done');
  expect(await bufferOf(listener)).toHaveLength(2);
  expect(await socket.ask('leave_room', room)).toMatchObject({ success: true });
  await reaches(listener, await deliver(listener, { n: 1 }), 'filtered');
  expect([socket.messages.length, plain.messages.length]).toEqual([5, 0]);
});

test('a buffer keeps as many events as its action says', async () => {
  const listener = await aListener(cluster, { tenant, actions: [save({ maxEvents: 3 })] });
  const ids: string[] = [];
  for (let n = 0; n < 8; n += 1) ids.push(await deliver(listener, { n }));

  await eventually(async () => {
    const stored = await bufferOf(listener);
    expect(stored.map(({ eventID }) => eventID).sort()).toEqual(ids.slice(-3).sort());
  });
  expect((await bufferOf(listener, '?limit=1')).length).toBe(1);
});

test('dead letters are listed, read, corrected, redriven at a rate, replayed and purged, and every event is counted', async () => {
  const workflow = await aWorkflow(cluster, { tenant });
  const listener = await aListener(cluster, {
    tenant,
    // An error that the code throws by itself is the event's fault as well, and no reason to try again or to open the breaker.
    actions: [
      transform('if (event.body.n % 3) throw new Error("no"); return event.body.ok.sure ? event : null;'),
      start(workflow.id),
    ],
  });
  const path = `T/listeners/${listener.id}/events`;
  const runs = () => count(`workflow_instance where tenant_id = $1 and workflow_id = $2`, [tenant.id, workflow.id]);
  const counted = async () => (await api().get(`${path}/counts`)).body;
  const ids = await Promise.all(Array.from({ length: 12 }, (_, n) => deliver(listener, { n })));
  const broken = await deliver(listener, '{"a":');
  await eventually(async () => expect(await counted()).toMatchObject({ total: 13, dead: 13 }));

  const listed = await api().get(`${path}?state=dead&limit=10`);
  const rest = await api().get(`${path}?state=dead&limit=10&cursor=${listed.body.nextCursor}`);
  expect([...listed.body.events, ...rest.body.events].map(({ eventID }) => eventID).sort()).toEqual(
    [...ids, broken].sort(),
  );
  expect(await eventOf(listener, broken)).toMatchObject({
    bodyText: '{"a":',
    error: { code: 'VALIDATION_ERROR' },
    attempts: 1,
  });

  const headers = [
    ['content-type', 'application/json'],
    ['x-corrected', 'yes'],
  ];
  const corrected = await api().post(`${path}/${broken}/redrive`, { bodyText: '{"ok":{"sure":1}}', headers });
  expect(corrected).toMatchObject({ status: 200, body: { replayOf: broken } });
  expect(await reaches(listener, corrected.body.eventID, 'done')).toMatchObject({ headers });
  expect(await eventOf(listener, broken)).toMatchObject({ state: 'replaced', bodyText: '{"a":' });
  expect((await api().post(`${path}/${broken}/redrive`, {})).status).toBe(409);

  await api().patch(`T/listeners/${listener.id}`, { transformScript: 'return event;' });
  const begun = new Date(Date.now() - 3_600_000).toISOString();
  for (const none of [{ receivedUntil: begun }, { errorCode: 'NOT_FOUND' }, { eventIDs: [newID()] }])
    expect((await api().post(`${path}/redrive`, { filter: none })).body, JSON.stringify(none)).toMatchObject({
      redriven: 0,
      lastAt: null,
    });
  expect((await api().post(`${path}/purge`, { filter: { receivedUntil: begun } })).body).toMatchObject({ purged: 0 });
  const some = await api().post(`${path}/redrive`, {
    filter: { eventIDs: ids.slice(0, 2), errorCode: 'NODE_FAILED', receivedFrom: begun },
  });
  expect(some.body).toMatchObject({ redriven: 2, hasMore: false });
  const slow = await api().post(`${path}/redrive`, { filter: { eventIDs: ids.slice(2, 11) }, perSecond: 4 });
  expect(slow.body).toMatchObject({ redriven: 9 });
  const times = await cluster.context.pool.query(
    `select extract(epoch from max(ready_at) - min(ready_at))::float8 as seconds, max(ready_at) as last
     from listener_event where id = any($1)`,
    [ids.slice(2, 11)],
  );
  expect(times.rows).toEqual([{ seconds: 2, last: new Date(slow.body.lastAt) }]);
  // Their times are reached, the first at once and the last after all others.
  await cluster.context.pool.query(
    `update listener_event set ready_at = ready_at - interval '2 seconds' where id = any($1) and dispatched_at is null`,
    [ids.slice(2, 11)],
  );
  await eventually(async () => {
    await dispatch();
    expect(await counted()).toMatchObject({ total: 14, done: 12, dead: 1, replaced: 1, pending: 0 });
  });
  expect(await runs()).toBe(12);

  const [first = ''] = ids;
  const replayed = await api().post(`${path}/${first}/replay`);
  expect(replayed).toMatchObject({ status: 201, body: { replayOf: first } });
  const again = await reaches(listener, replayed.body.eventID, 'done');
  expect(again).toMatchObject({ replayOf: first, bodyText: '{"n":0}' });
  expect(await runs()).toBe(13);
  expect((await api().post(`${path}/purge`, {})).body).toMatchObject({ purged: 1, hasMore: false });
  expect(await counted()).toMatchObject({ total: 14, done: 13, dead: 0 });

  const reader = await aMember(cluster, { tenant, can: ['listener.read'] });
  expect((await api(reader).get(path)).status).toBe(200);
  for (const write of ['redrive', 'purge', `${first}/replay`, `${first}/redrive`])
    expect((await api(reader).post(`${path}/${write}`, {})).status, write).toBe(403);
});

test('a dead letter whose sender has repeated the delivery with success becomes a duplicate', async () => {
  const workflow = await aWorkflow(cluster, { tenant });
  const { pool } = cluster.context;
  const listener = await aListener(cluster, {
    tenant,
    actions: [transform('throw new Error("no");'), start(workflow.id)],
  });
  const path = `T/listeners/${listener.id}/events`;
  const runs = () => count(`workflow_instance where tenant_id = $1 and workflow_id = $2`, [tenant.id, workflow.id]);
  const send = async (id: string) => {
    const response = await fetch(`${cluster.baseURL}/webhooks/v1/inbound/${listener.id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': id },
      body: '{}',
    });
    return ((await response.json()) as { eventID: string }).eventID;
  };
  const die = async (id: string) => {
    const eventID = await send(id);
    await reaches(listener, eventID, 'dead');
    return eventID;
  };
  const repeated = [await die('a'), await die('a'), await die('a'), await die('a')];
  const never = [await die('b'), await die('b')];
  const early = await die('c');
  const corrected = await die('d');
  // Outside of the window of what follows: the sender uses the id again for something else.
  await pool.query(`update listener_event set received_at = received_at - interval '2 days' where id = $1`, [early]);
  await api().patch(`T/listeners/${listener.id}`, { transformScript: 'return event;' });
  const [good = '', other = ''] = [await send('a'), await send('c')];
  await reaches(listener, good, 'done');
  await reaches(listener, other, 'done');
  // The claims have run out, and the retention of their rows has come by.
  await pool.query('update listener_dedup set expires_at = now() where listener_id = $1', [listener.id]);
  await pool.query(deletionOf('listener_dedup'), [0]);
  expect(await runs()).toBe(2);

  const [first = '', last = ''] = [repeated[0], repeated.at(-1)];
  const one = await api().post(`${path}/${first}/redrive`, {});
  expect(one).toMatchObject({ status: 200, body: { eventID: first, replayOf: null, duplicateOf: good } });
  const edited = await api().post(`${path}/${last}/redrive`, { bodyText: '{"n":1}' });
  expect(edited).toMatchObject({ status: 200, body: { eventID: last, replayOf: null, duplicateOf: good } });
  const copy = await api().post(`${path}/${corrected}/redrive`, { bodyText: '{"n":1}' });
  expect(copy.body).toMatchObject({ replayOf: corrected });
  expect(copy.body).not.toHaveProperty('duplicateOf');
  const all = await api().post(`${path}/redrive`, {});
  expect(all.body).toMatchObject({ redriven: 2, duplicates: 3, hasMore: false });

  await reaches(listener, never[0] ?? '', 'done');
  await reaches(listener, early, 'done');
  await reaches(listener, copy.body.eventID, 'done');
  for (const id of repeated)
    expect(await eventOf(listener, id)).toMatchObject({ state: 'duplicate', duplicateOf: good, error: null });
  expect(await eventOf(listener, never[1] ?? '')).toMatchObject({ state: 'duplicate', duplicateOf: never[0] });
  expect(await runs()).toBe(5);
  // A redriven event, and a corrected copy, hold their ids for what the sender repeats.
  await reaches(listener, await send('b'), 'duplicate');
  await reaches(listener, await send('d'), 'duplicate');
  expect(await runs()).toBe(5);
});

test('a thousand dead letters are redriven at fifty in a second, and every one is processed once', async () => {
  const own = await aTenant(cluster);
  const { pool } = cluster.context;
  const missing = { actionType: 'trigger_workflow', actionConfig: { workflowID: newID() } };
  const listener = await aListener(cluster, { tenant: own, actions: [missing] });
  const caller = cluster.as(own.creator).in(own);
  await pool.query(
    `insert into listener_event (id, tenant_id, listener_id, source) select unnest($3::uuid[]), $1, $2, 'webhook'`,
    [own.id, listener.id, Array.from({ length: 1_000 }, () => newID())],
  );
  const reach = (expected: object) =>
    eventually(async () => {
      await dispatch();
      expect((await caller.get(`T/listeners/${listener.id}/events/counts`)).body).toMatchObject(expected);
    });
  await reach({ total: 1_000, dead: 1_000, pending: 0 });

  await pool.query(
    `update listener_action set action_type = 'save_to_buffer', action_config = '{"maxEvents": 1000}' where listener_id = $1`,
    [listener.id],
  );
  const filter = { errorCode: 'NOT_FOUND' };
  const { body } = await caller.post(`T/listeners/${listener.id}/events/redrive`, { filter, perSecond: 50 });
  expect(body).toMatchObject({ redriven: 1_000, hasMore: false });
  // The times in the rows decide; those of the first seconds may be reached already.
  const { rows } = await pool.query<{ n: number }>(
    `select count(*)::int as n from listener_event where listener_id = $1
     group by floor(extract(epoch from ready_at - (select min(ready_at) from listener_event where listener_id = $1)))`,
    [listener.id],
  );
  expect(rows.map(({ n }) => n)).toEqual(Array.from({ length: 20 }, () => 50));

  await pool.query('update listener_event set ready_at = now() where listener_id = $1 and dispatched_at is null', [
    listener.id,
  ]);
  await reach({ total: 1_000, done: 1_000, dead: 0, pending: 0 });
  expect(await count('listener_buffer where listener_id = $1', [listener.id])).toBe(1_000);
  const accounting = await caller.get('T/accounting');
  expect(accounting.body.events.total).toMatchObject({ received: 1_000, done: 1_000, difference: 0 });
});

test('dead letters are shown on the board with reason and stack, also after the queue is lost, until they are none', async () => {
  const listener = await aListener(cluster, { tenant, actions: [transform('return event.body.no.such;')] });
  const {
    pool,
    messaging: { backplane },
  } = cluster.context;
  const queue = backplane.queue('listener.events.dlq');
  const shown = async () => {
    await showDeadLetters({ pool, backplane });
    const jobs = await queue.getJobs(['waiting']);
    return jobs.map(({ data }) => data).filter(({ listenerID }) => listenerID === listener.id);
  };

  const eventID = await deliver(listener, {});
  await reaches(listener, eventID, 'dead');
  const [job, ...others] = await shown();
  expect(others).toEqual([]);
  expect(job).toMatchObject({
    eventID,
    tenantID: tenant.id,
    reason: expect.stringContaining('NODE_FAILED: TypeError'),
  });
  expect(job.stack.join('\n')).toContain('.ts:');
  await queue.drain();
  expect(await shown()).toMatchObject([{ eventID }]);
  await api().post(`T/listeners/${listener.id}/events/purge`, {});
  expect(await shown()).toEqual([]);
});
