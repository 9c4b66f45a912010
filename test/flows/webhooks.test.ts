import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { changeRules } from '#shared/access/policy/change.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { WAITING } from '#shared/triggers/listeners/deferred-events.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { publicURL } from '#test/support/environment.ts';
import { aListener, aMember, aTenant, aWorkflow, chain, type TestTenant } from '#test/support/factories.ts';
import { eventually } from '#test/support/settle.ts';
import { dispatchWaiting } from '#workers/triggers/listeners/dispatch-events.ts';
import { releaseDeferred, tendBreakers } from '#workers/triggers/listeners/release-deferred.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster[Symbol.asyncDispose]());

interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

async function deliver(path: string, { method = 'POST', headers = {}, body }: Sent = {}) {
  const response = await fetch(`${cluster.baseURL}/webhooks/v1/inbound/${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : new Uint8Array(body) }),
  });
  const text = await response.text();
  const isJSON = response.headers.get('content-type')?.includes('json') && text !== '';
  return { status: response.status, headers: response.headers, body: isJSON ? JSON.parse(text) : text };
}

interface EventRow {
  id: string;
  state: string;
  body: Buffer | null;
  headers: [string, string][];
  params: JsonObject;
  query: string;
  duplicate_of: string | null;
  instance_id: string | null;
  error: JsonObject | null;
  attempts: number;
}

async function eventsOf(listener: { id: string }): Promise<EventRow[]> {
  const { rows } = await cluster.context.pool.query<EventRow>(
    'select * from listener_event where listener_id = $1 order by id',
    [listener.id],
  );
  return rows;
}

async function runsOf(tenant: TestTenant) {
  const { rows } = await cluster.context.pool.query<{
    id: string;
    input: JsonObject;
    caller: JsonObject;
    class: string;
  }>('select id, input, caller, class from workflow_instance where tenant_id = $1 order by created_at', [tenant.id]);
  return rows;
}

/** Waits until no event of the listener is left to process. */
async function settled(listener: { id: string }): Promise<EventRow[]> {
  let events: EventRow[] = [];
  await eventually(async () => {
    events = await eventsOf(listener);
    expect(events.filter(({ state }) => state === 'pending')).toEqual([]);
  });
  return events;
}

/** A listener that starts a workflow. */
async function aBoundListener(more: Partial<Parameters<typeof aListener>[1]> & { inputValues?: JsonObject } = {}) {
  const tenant = more.tenant ?? (await aTenant(cluster));
  const workflow = await aWorkflow(cluster, {
    tenant,
    ...chain({}, { status: '{{ctx.input.status}}', headers: '{{ctx.input.headers}}', body: '{{ctx.input.body}}' }),
  });
  const { inputValues, ...settings } = more;
  const actionConfig = { workflowID: workflow.id, ...(inputValues && { inputValues }) };
  const actions = [{ actionType: 'trigger_workflow', actionConfig }];
  const listener = await aListener(cluster, { actions, ...settings, tenant });
  return { tenant, workflow, listener };
}

test('a delivery is stored as it was sent, answered, and starts its workflow as the creator of the listener', async () => {
  const tenant = await aTenant(cluster);
  const creator = await aMember(cluster, { tenant, can: ['workflow.execute'] });
  const { listener } = await aBoundListener({
    tenant,
    creator,
    endpointPath: 'orders/:orderID',
    inputValues: {
      order: '{{event.params.orderID}}',
      amount: '{{event.body.amount}}',
      how: 'by {{event.method}}',
      q: '{{event.query.q}}',
    },
  });
  const body = ' {"amount": 12.50}\n';

  const answer = await deliver(`${tenant.id}/orders/o%20-7?q=1`, {
    body,
    headers: { authorization: 'Bearer of another', 'x-own': 'a' },
  });

  expect(answer).toMatchObject({
    status: 200,
    body: { success: true, listenerID: listener.id, eventID: expect.any(String) },
  });
  expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  expect(answer.headers.get('content-security-policy')).toContain('sandbox');
  const [event] = await settled(listener);
  expect(event).toMatchObject({
    id: answer.body.eventID,
    state: 'done',
    params: { orderID: 'o -7' },
    query: 'q=1',
    attempts: 0,
  });
  expect(event?.body?.toString()).toBe(body);
  const headers = Object.fromEntries(event?.headers ?? []);
  expect(headers).toMatchObject({ 'x-own': 'a', 'content-type': 'application/json' });
  expect(headers.authorization).not.toContain('another');
  const [run, ...others] = await runsOf(tenant);
  expect(others).toEqual([]);
  expect(run).toMatchObject({
    id: event?.instance_id,
    input: { order: 'o -7', amount: 12.5, how: 'by POST', q: '1' },
    caller: { type: 'user', id: creator.id, origin: 'listener', originID: listener.id },
    class: 'webhook',
  });
});

test('without inputs the workflow gets the event, and bodies of any kind are kept', async () => {
  const { tenant, listener } = await aBoundListener({ options: { allowedMethods: 'ANY' } });
  const sent: [Sent, unknown][] = [
    [{ body: '{"a":1,"id":12345678901234567890}' }, { a: 1, id: '12345678901234567890' }],
    [{ body: '{"p":1.10,"sum":12345678901234567890.5}' }, { p: 1.1, sum: '12345678901234567890.5' }],
    [
      { body: 'a=1&a=2&b=', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      { a: ['1', '2'], b: '' },
    ],
    [{ body: 'text', headers: { 'content-type': 'text/plain' } }, 'text'],
    [{ body: Buffer.from([0, 255]), headers: { 'content-type': 'image/png' } }, { base64: 'AP8=' }],
    [{ method: 'PUT' }, null],
    [{ method: 'GET' }, null],
  ];
  for (const [delivery] of sent) expect(await deliver(listener.id, delivery)).toMatchObject({ status: 200 });

  await settled(listener);
  const runs = await runsOf(tenant);
  expect(
    runs
      .map(({ input }) => (input.event as JsonObject).body)
      .map((one) => JSON.stringify(one))
      .sort(),
  ).toEqual(sent.map(([, body]) => JSON.stringify(body)).sort());
  const large = Buffer.alloc(300_000, 'x');
  expect((await deliver(listener.id, { body: large, headers: { 'content-type': 'text/plain' } })).status).toBe(200);
  await settled(listener);
  const last = (await runsOf(tenant)).at(-1)?.input.event as JsonObject;
  expect(String(last.body)).toHaveLength(300_000);
});

test('wrong, inactive, deleted and unknown addresses are one answer, and a change counts from the next delivery on', async () => {
  const { tenant, listener } = await aBoundListener({ endpointPath: 'a/:b' });
  const other = await aTenant(cluster);
  const api = cluster.as(tenant.creator).in(tenant);
  const path = `${tenant.id}/a/1`;
  const notFound = {
    status: 404,
    body: { success: false, error: { code: 'NOT_FOUND', message: 'Webhook listener not found or inactive' } },
  };

  for (const wrong of [
    `${tenant.id}/a`,
    `${tenant.id}/a/1/2`,
    `${other.id}/a/1`,
    newID(),
    'x',
    `${tenant.id}/%ff/1`,
    `${tenant.id}/`,
  ])
    expect(await deliver(wrong, { body: '{}' }), wrong).toMatchObject(notFound);
  for (let round = 0; round < 3; round += 1) {
    await api.post(`T/listeners/${listener.id}/deactivate`);
    expect(await deliver(path)).toMatchObject(notFound);
    expect(await deliver(listener.id)).toMatchObject(notFound);
    await api.post(`T/listeners/${listener.id}/activate`);
    expect((await deliver(path)).status).toBe(200);
  }
  await api.patch(`T/listeners/${listener.id}`, {
    endpointPath: 'c',
    listenerConfig: { responseStatusCode: 202, responseBody: '{"ok":true}' },
  });
  expect(await deliver(path)).toMatchObject(notFound);
  expect(await deliver(`${tenant.id}/c`)).toMatchObject({ status: 202, body: { ok: true } });
  await api.delete(`T/listeners/${listener.id}`);
  expect(await deliver(`${tenant.id}/c`)).toMatchObject(notFound);
});

test('senders that prove nothing, other methods and large bodies are refused, and nothing is stored', async () => {
  const options = { authType: 'github', authSecret: 'the secret', allowedMethods: 'POST' };
  const { listener } = await aBoundListener({ options, config: { maxBodyBytes: 100 } });
  const signed = (body: string) => ({
    body,
    headers: { 'x-hub-signature-256': `sha256=${createHmac('sha256', 'the secret').update(body).digest('hex')}` },
  });

  expect(await deliver(listener.id, { body: '{}' })).toMatchObject({
    status: 401,
    body: { error: { code: 'INVALID_REQUEST' } },
  });
  expect((await deliver(listener.id, { ...signed('{"a":1}'), body: '{"a":2}' })).status).toBe(401);
  const put = await deliver(listener.id, { method: 'PUT', ...signed('{}') });
  expect([put.status, put.headers.get('allow')]).toEqual([405, 'POST']);
  expect((await deliver(listener.id, signed('x'.repeat(101)))).status).toBe(413);
  expect((await deliver(listener.id, { body: 'x', headers: { 'content-encoding': 'compress' } })).status).toBe(415);
  expect(await eventsOf(listener)).toEqual([]);
  expect((await deliver(listener.id, signed('{"a":1}'))).status).toBe(200);
  expect(await settled(listener)).toMatchObject([{ state: 'done' }]);
});

test('a hundred deliveries with one id at once have one effect, and stay visible', async () => {
  const { tenant, listener } = await aBoundListener();
  const once = { body: '{"a":1}', headers: { 'idempotency-key': 'one' } };

  const answers = await Promise.all(Array.from({ length: 100 }, () => deliver(listener.id, once)));
  const other = await deliver(listener.id, { ...once, body: '{"a":2}' });

  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 100 }, () => 200));
  const events = await settled(listener);
  const [first] = events.filter(({ state }) => state === 'done');
  const duplicates = events.filter(({ state }) => state === 'duplicate');
  expect(duplicates).toHaveLength(100);
  expect(new Set(duplicates.map(({ duplicate_of }) => duplicate_of))).toEqual(new Set([first?.id]));
  // A duplicate with another body keeps it.
  expect(duplicates.filter(({ body }) => body !== null).map(({ id }) => id)).toEqual([other.body.eventID]);
  expect(other.body.duplicateOf).toBe(first?.id);
  expect(await runsOf(tenant)).toHaveLength(1);

  await cluster.context.pool.query('update listener_dedup set expires_at = now() where listener_id = $1', [
    listener.id,
  ]);
  expect((await deliver(listener.id, once)).body).not.toHaveProperty('duplicateOf');
  await settled(listener);
  expect(await runsOf(tenant)).toHaveLength(2);
});

test('what makes two deliveries one is up to the listener', async () => {
  const tenant = await aTenant(cluster);
  const cases: [JsonObject, (n: number) => Sent & { path?: string }, boolean][] = [
    [{ dedupBy: 'body' }, () => ({ body: '{"same":1}' }), true],
    [{ dedupBy: 'body' }, (n) => ({ body: `{"n":${n}}` }), false],
    [{ dedupBy: 'header', dedupField: 'X-Event' }, () => ({ headers: { 'x-event': 'e'.repeat(300) } }), true],
    [{ dedupBy: 'query', dedupField: 'id' }, () => ({ path: '?id=1' }), true],
    [{ dedupBy: 'none' }, () => ({ headers: { 'idempotency-key': 'k' } }), false],
    [{}, () => ({ body: '{"same":1}' }), false],
  ];
  for (const [config, make, areOne] of cases) {
    const listener = await aListener(cluster, { tenant, config });
    for (const n of [1, 2]) {
      const { path = '', ...sent } = make(n);
      await deliver(listener.id + path, sent);
    }
    const states = (await settled(listener)).map(({ state }) => state);
    expect(states.sort(), JSON.stringify(config)).toEqual(areOne ? ['done', 'duplicate'] : ['done', 'done']);
  }
});

test('a captured signature holds for no other address and no invented id', async () => {
  const publicUrl = `https://hooks.example/gantry/webhooks/v1/inbound/x/tw/1`;
  const { tenant, listener } = await aBoundListener({
    options: { authType: 'twilio', authSecret: '12345', publicUrl },
    endpointPath: 'tw/:order',
    inputValues: { order: '{{event.params.order}}', amount: '{{event.query.amount}}' },
  });
  const path = `${tenant.id}/tw/1?amount=5`;
  const url = `https://hooks.example/gantry/webhooks/v1/inbound/${path}`;
  const signature = createHmac('sha1', '12345').update(`${url}A1A2`).digest('base64');
  const form = { 'content-type': 'application/x-www-form-urlencoded', 'x-twilio-signature': signature };
  const sent = (token: string) => ({ body: 'A=2&A=1', headers: { ...form, 'i-twilio-idempotency-token': token } });

  expect((await deliver(path, sent('one'))).status).toBe(200);
  for (const other of [`${tenant.id}/tw/999?amount=5`, `${tenant.id}/tw/1?amount=999`, `${tenant.id}/tw/1`])
    expect((await deliver(other, sent('one'))).status, other).toBe(401);
  expect((await deliver(path, sent('invented'))).body).toHaveProperty('duplicateOf');
  expect((await settled(listener)).map(({ state }) => state)).toEqual(['done', 'duplicate']);
  expect((await runsOf(tenant)).map(({ input }) => input)).toEqual([{ order: '1', amount: '5' }]);

  // Without an address of its own, the listener has that of the deployment.
  const { listener: plain } = await aBoundListener({ options: { authType: 'twilio', authSecret: '12345' } });
  const called = createHmac('sha1', '12345').update(`${publicURL}/webhooks/v1/inbound/${plain.id}A1A2`);
  const headers = { ...form, 'x-twilio-signature': called.digest('base64') };
  expect((await deliver(plain.id, { body: 'A=2&A=1', headers })).status).toBe(200);

  const github = await aBoundListener({ options: { authType: 'github', authSecret: 's' } });
  const body = '{"ref":"main"}';
  const of = createHmac('sha256', 's').update(body).digest('hex');
  for (const id of ['real', 'invented', undefined])
    await deliver(github.listener.id, {
      body,
      headers: { 'x-hub-signature-256': `sha256=${of}`, ...(id && { 'x-github-delivery': id, 'idempotency-key': id }) },
    });
  expect((await settled(github.listener)).map(({ state }) => state)).toEqual(['done', 'duplicate', 'duplicate']);
});

test('equal deliveries of a signing sender without ids are several, until one with an id was there', async () => {
  const { listener } = await aBoundListener({ options: { authType: 'hmac', authSecret: 's' }, inputValues: {} });
  const body = '{"deploy":true}';
  const signature = { 'x-signature': createHmac('sha256', 's').update(body).digest('hex') };
  const send = (more: Record<string, string> = {}) =>
    deliver(listener.id, { body, headers: { ...signature, ...more } });

  await Promise.all([send(), send(), send()]);
  await send({ 'idempotency-key': 'one' });
  await send({ 'idempotency-key': 'invented' });
  await send();
  const states = (await settled(listener)).map(({ state }) => state);
  expect(states.sort()).toEqual(['done', 'done', 'done', 'done', 'duplicate', 'duplicate']);
});

test('an answer may be the result of the workflow', async () => {
  const inputValues = {
    status: 201,
    headers: { 'X-Own': 'a', 'Set-Cookie': 'b', 'Content-Type': 'text/csv' },
    body: '{{event.body.text}}',
  };
  const { tenant, workflow, listener } = await aBoundListener({ config: { answerMode: 'result' }, inputValues });
  const key = { 'idempotency-key': 'k' };

  const answer = await deliver(listener.id, { body: '{"text":"a,b"}', headers: key });
  expect(answer).toMatchObject({ status: 201, body: 'a,b' });
  expect(['x-own', 'content-type', 'set-cookie'].map((name) => answer.headers.get(name))).toEqual([
    'a',
    'text/csv',
    null,
  ]);
  expect(await deliver(listener.id, { body: '{"text":"a,b"}', headers: key })).toMatchObject({
    status: 201,
    body: 'a,b',
  });
  expect(await runsOf(tenant)).toHaveLength(1);

  await cluster.as(tenant.creator).in(tenant).patch(`T/workflows/${workflow.id}`, { isDisabled: true });
  const failed = await deliver(listener.id, { body: '{"text":"a"}' });
  expect(failed).toMatchObject({ status: 500, body: { success: false, error: { code: 'EVENT_FAILED' } } });
});

test('a sender that waits for a result is told that it takes longer, or that the event was filtered out', async () => {
  const tenant = await aTenant(cluster);
  const { id: workflowID } = await aWorkflow(cluster, {
    tenant,
    ...chain({ wait: { type: 'delay', delayMinutes: 60 } }),
  });
  const actions: { actionType: string; actionConfig: JsonObject }[] = [
    { actionType: 'filter', actionConfig: { script: 'return event.body.paid;' } },
    { actionType: 'trigger_workflow', actionConfig: { workflowID } },
  ];
  // The answer comes when the run is parked, not after this time.
  const config = { answerMode: 'result', resultTimeoutSeconds: 30, responseStatusCode: 203 };
  const listener = await aListener(cluster, { tenant, actions, config });

  const late = await deliver(listener.id, { body: '{"paid":true}' });
  const ids = { success: true, listenerID: listener.id };
  expect(late).toMatchObject({ status: 202, body: { ...ids, instanceID: expect.any(String) } });
  await eventually(async () => expect(await runsOf(tenant)).toMatchObject([{ id: late.body.instanceID }]));
  const filtered = await deliver(listener.id, { body: '{"paid":false}' });
  expect(filtered).toMatchObject({ status: 203, body: { ...ids, eventID: expect.any(String) } });
  expect((await settled(listener)).map(({ state }) => state)).toEqual(['done', 'filtered']);
});

test('no delivery is answered before it is stored, nor with success if that is unknown', async () => {
  const { pool } = cluster.context;
  const { listener } = await aBoundListener();
  const locker = await pool.connect();
  const waiting = `from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database() and query like '%body_at int%'`;
  /** Sends a delivery whose record waits, and does something meanwhile. */
  const deferred = async (meanwhile: () => Promise<unknown>) => {
    await locker.query('begin; lock table listener_event in exclusive mode');
    let isAnswered = false;
    const answer = deliver(listener.id, { body: '{}' }).finally(() => {
      isAnswered = true;
    });
    await eventually(async () => expect((await pool.query(`select ${waiting}`)).rowCount).toBe(1));
    expect(isAnswered).toBe(false);
    await meanwhile();
    await locker.query('rollback');
    return answer;
  };
  try {
    const stored = await deferred(async () => undefined);
    expect(stored.status).toBe(200);
    expect((await eventsOf(listener)).map(({ id }) => id)).toEqual([stored.body.eventID]);
    const broken = await deferred(() => pool.query(`select pg_terminate_backend(pid) ${waiting}`));
    expect(broken).toMatchObject({ status: 503, body: { success: false, error: { code: 'UNAVAILABLE' } } });
  } finally {
    locker.release();
  }
});

test('an event that cannot be processed is stored with its reason, and a later delivery with its id counts', async () => {
  const tenant = await aTenant(cluster);
  const { listener } = await aBoundListener({ tenant });
  const headers = { 'idempotency-key': 'k' };

  expect((await deliver(listener.id, { body: '{"a":', headers })).status).toBe(200);

  expect(await settled(listener)).toMatchObject([
    {
      state: 'dead',
      error: { code: 'VALIDATION_ERROR', message: expect.stringContaining('not JSON') },
      attempts: 1,
      instance_id: null,
    },
  ]);
  expect((await deliver(listener.id, { body: '{}', headers })).body).not.toHaveProperty('duplicateOf');
});

test('a listener whose creator may no longer stops, keeps what comes, and goes on when it is activated', async () => {
  const tenant = await aTenant(cluster);
  const creator = await aMember(cluster, { tenant, can: ['listener.create'] });
  const { pool, orm } = cluster.context;
  const { listener, workflow } = await aBoundListener({ tenant, creator });
  const plain = await aListener(cluster, {
    tenant,
    creator,
    endpointPath: 'plain',
    actions: [{ actionType: 'save_to_buffer', actionConfig: {} }],
  });
  const api = cluster.as(tenant.creator).in(tenant);
  const shown = async ({ id }: { id: string }) => (await api.get(`T/listeners/${id}`)).body.listener;
  const stored = async (of: { id: string }) => (await api.get(`T/listeners/${of.id}/events`)).body.events;
  const deferred = { state: 'pending', heldBy: 'listener', nextAttemptAt: null, attempts: 0, error: null };

  await deliver(listener.id, { body: '{"n":1}' });
  await eventually(async () => expect(await stored(listener)).toMatchObject([deferred]));
  expect(await shown(listener)).toMatchObject({
    status: 'error',
    lastError: `The creator of the listener may not execute the workflow ${workflow.id}`,
  });
  expect((await deliver(listener.id, { body: '{"n":2}' })).status).toBe(200);
  await eventually(async () => expect(await stored(listener)).toMatchObject([deferred, deferred]));
  await releaseDeferred({ pool });
  expect(await stored(listener)).toMatchObject([deferred, deferred]);
  // Nothing has changed, so it stops again.
  await api.post(`T/listeners/${listener.id}/activate`);
  await releaseDeferred({ pool });
  await eventually(async () => expect(await shown(listener)).toMatchObject({ status: 'error' }));

  const rule = { subject: creator.id, object: 'workflow:*', action: 'execute' };
  await changeRules(tenantEntityManager(orm.em, tenant.id), tenant.id, { add: [rule] });
  await api.post(`T/listeners/${listener.id}/activate`);
  expect(await shown(listener)).toMatchObject({ status: 'active', lastError: null });
  await eventually(async () => {
    await releaseDeferred({ pool });
    expect(await stored(listener)).toMatchObject([
      { state: 'done', heldBy: null },
      { state: 'done', heldBy: null },
    ]);
  });
  expect(await runsOf(tenant)).toHaveLength(2);

  // Also one that needs no permission, and whose deliveries come by its path.
  await pool.query('delete from membership where user_id = $1', [creator.id]);
  for (const n of [1, 2]) expect((await deliver(`${tenant.id}/plain`, { body: `${n}` })).status).toBe(200);
  await eventually(async () => expect(await stored(plain)).toMatchObject([deferred, deferred]));
  expect(await shown(plain)).toMatchObject({
    status: 'error',
    lastError: 'The creator of the listener may not act in the tenant any more',
  });
});

test('a listener whose target keeps failing holds its events until one that is tried succeeds', async () => {
  const {
    pool,
    messaging: { producer },
  } = cluster.context;
  const tenant = await aTenant(cluster);
  const { listener } = await aBoundListener({ tenant });
  const other = await aListener(cluster, { tenant, actions: [{ actionType: 'save_to_buffer', actionConfig: {} }] });
  const api = cluster.as(tenant.creator).in(tenant);
  const breaker = async () => (await api.get(`T/listeners/${listener.id}`)).body.listener.breaker;
  const connection = async () => (await api.get('T/listeners/status/connections')).body.status[listener.id];
  const count = async (condition: string) => {
    const sql = `select count(*)::int as n from listener_event where listener_id = $1 and ${condition}`;
    return (await pool.query<{ n: number }>(sql, [listener.id])).rows[0]?.n;
  };
  /** One pass of the work that workers do from time to time. */
  const pass = async () => {
    await pool.query(
      `update listener_event set ready_at = now() where listener_id = $1 and ${WAITING} and held_by is null`,
      [listener.id],
    );
    await dispatchWaiting({ pool, producer });
  };
  const probe = async () => {
    await pool.query('update listener_breaker set probe_at = now() where listener_id = $1', [listener.id]);
    expect(await tendBreakers({ pool })).toBeGreaterThan(0);
    expect(await breaker()).toMatchObject({ state: 'halfOpen', nextProbeAt: null });
  };
  await pool.query(`insert into quota (owner_id, name, max) values ($1, 'runs', 0)`, [tenant.id]);
  expect([await breaker(), await connection()]).toMatchObject([null, { state: 'running', retryCount: 0 }]);

  for (let n = 0; n < 12; n += 1) await deliver(listener.id, { body: `${n}` });
  await eventually(async () => {
    await pass();
    expect(await count(`held_by = 'target'`)).toBe(12);
  });
  const attempts = await count('attempts > 0');
  expect(await breaker()).toMatchObject({ state: 'open', error: { code: 'QUOTA_EXCEEDED' } });
  expect((await breaker()).failures).toBeGreaterThanOrEqual(10);
  expect(await connection()).toMatchObject({ state: 'reconnecting', retryCount: 1 });
  await releaseDeferred({ pool });
  expect(await count(`held_by = 'target'`)).toBe(12);
  await deliver(other.id, { body: '{}' });
  expect(await settled(other)).toMatchObject([{ state: 'done' }]);

  await probe();
  await eventually(async () => {
    await pass();
    expect(await connection()).toMatchObject({ state: 'reconnecting', retryCount: 2 });
  });
  // One was tried, and the next waits twice as long.
  expect(await count('attempts > 0')).toBeLessThanOrEqual((attempts ?? 0) + 1);
  const seconds = (new Date((await breaker()).nextProbeAt).getTime() - Date.now()) / 1_000;
  expect(seconds).toBeGreaterThan(10);
  expect(seconds).toBeLessThanOrEqual(20);

  await pool.query('delete from quota where owner_id = $1', [tenant.id]);
  await eventually(async () => {
    await pass();
    expect(await count(`held_by = 'target'`)).toBe(12);
  });
  // The quota is counted again after a moment: until then a probe may still fail.
  await eventually(async () => {
    await pool.query('update listener_breaker set probe_at = now() where listener_id = $1', [listener.id]);
    await tendBreakers({ pool });
    await pass();
    await releaseDeferred({ pool });
    expect(await count(`state = 'done'`)).toBe(12);
  });
  expect([await breaker(), await connection()]).toMatchObject([null, { state: 'running', retryCount: 0 }]);
  expect(await runsOf(tenant)).toHaveLength(12);
});

test('a tenant at its quota is refused with a time to come back, and another is not', async () => {
  const [full, other] = [await aBoundListener(), await aBoundListener()];
  const { pool } = cluster.context;
  await pool.query(`insert into quota (owner_id, name, max) values ($1, 'listenerEvents', 0)`, [full.tenant.id]);

  const refused = await deliver(full.listener.id, { body: '{}' });
  expect(refused).toMatchObject({
    status: 429,
    body: { error: { code: 'QUOTA_EXCEEDED', details: { quota: 'listenerEvents' } } },
  });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await deliver(other.listener.id, { body: '{}' })).status).toBe(200);
  expect(await eventsOf(full.listener)).toEqual([]);
});

test('large events that wait for the database leave connections for others', async () => {
  const [large, other] = [await aBoundListener({ inputValues: {} }), await aBoundListener({ inputValues: {} })];
  const { pool } = cluster;
  await pool.query(`
create function wait_for_test() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(1, 2); return new; end $$;
create trigger wait_for_test before update on listener_event for each row
when (new.finished_at is not null and new.tenant_id = '${large.tenant.id}') execute function wait_for_test()`);
  const owner = await pool.connect();
  await owner.query('select pg_advisory_lock(1, 2)');
  const body = JSON.stringify('x'.repeat(70_000));
  for (let n = 0; n < 8; n += 1) await deliver(large.listener.id, { body });
  await eventually(async () => {
    const { rows } = await pool.query(
      `select from pg_locks where locktype = 'advisory' and classid = 1 and not granted`,
    );
    expect(rows.length).toBeGreaterThan(1);
  });

  await deliver(other.listener.id, { body: '{}' });
  const ended = await settled(other.listener).finally(() => owner.release(true));
  expect(ended).toMatchObject([{ state: 'done' }]);
  expect((await settled(large.listener)).map(({ state }) => state)).toEqual(Array(8).fill('done'));
  await pool.query('drop function wait_for_test cascade');
});

test('Slack is answered with its challenge, which is no event', async () => {
  const { listener } = await aBoundListener({ options: { authType: 'slack', authSecret: 'the secret' } });
  const body = JSON.stringify({ type: 'url_verification', challenge: 'abc' });
  const at = String(Math.floor(Date.now() / 1000));
  const signature = `v0=${createHmac('sha256', 'the secret').update(`v0:${at}:${body}`).digest('hex')}`;
  const headers = { 'x-slack-request-timestamp': at, 'x-slack-signature': signature };

  expect(await deliver(listener.id, { body, headers })).toMatchObject({ status: 200, body: 'abc' });
  expect((await deliver(listener.id, { body, headers: { ...headers, 'x-slack-signature': 'v0=00' } })).status).toBe(
    401,
  );
  expect(await eventsOf(listener)).toEqual([]);
});

test('a secret is in no answer, event or log of a refusal', async () => {
  const options = { authType: 'query_param', authSecret: 'a very secret text' };
  const { tenant, listener } = await aBoundListener({ options });

  expect((await deliver(`${listener.id}?api_key=a+very+secret+text&b=1`)).status).toBe(200);
  const [event] = await settled(listener);
  expect(JSON.stringify(event)).not.toMatch(/very.secret/);
  expect(event?.query).toContain('b=1');
  const shown = await cluster.as(tenant.creator).in(tenant).get(`T/listeners/${listener.id}`);
  expect(JSON.stringify(shown.body)).not.toContain('very secret');
});

test('the health of intake needs no sign-in', async () => {
  const response = await fetch(`${cluster.baseURL}/webhooks/health`);
  expect([response.status, await response.json()]).toMatchObject([200, { status: 'ok', service: 'webhook-receiver' }]);
});
