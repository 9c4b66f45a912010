/** Answers to senders of webhooks: handshakes, results of workflows, and refusals. */
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findParked } from '#api/runs/run-outcomes.ts';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { aListener, aTenant, aWorkflow, chain, type TestTenant } from '#test/support/factories.ts';
import { graph } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: ['listener.events', 'workflow.runs'] });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

async function deliver(path: string, { method = 'POST', headers = {}, body }: Sent = {}) {
  const response = await fetch(`${cluster.baseURL}/webhooks/v1/inbound/${path}`, {
    method,
    redirect: 'manual',
    headers: { 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body }),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const text = bytes.toString('utf8');
  const isJSON = response.headers.get('content-type')?.includes('json') && text !== '';
  return { status: response.status, headers: response.headers, bytes, text, body: isJSON ? JSON.parse(text) : text };
}

const eventsOf = async ({ id }: { id: string }) =>
  (
    await cluster.context.pool.query<{ id: string; state: string; method: string }>(
      'select id, state, method from listener_event where listener_id = $1 order by id',
      [id],
    )
  ).rows;

const NAMES = ['status', 'headers', 'body'];
const outputs = Object.fromEntries(NAMES.map((name) => [name, `{{ctx.input.${name}}}`]));

/** A listener whose answer is the outputs of a workflow: what the body of the delivery says. */
async function anEcho(definition: ReturnType<typeof graph> = chain({}, outputs)) {
  const workflow = await aWorkflow(cluster, { tenant, ...definition });
  const inputValues = Object.fromEntries(NAMES.map((name) => [name, `{{event.body.${name}}}`]));
  const config = { answerMode: 'result', resultTimeoutSeconds: 60 };
  const actions = [{ actionType: 'trigger_workflow', actionConfig: { workflowID: workflow.id, inputValues } }];
  return { workflow, listener: await aListener(cluster, { tenant, config, actions }) };
}

test('bytes, statuses, headers and empty bodies of an answer are sent as the workflow gives them', async () => {
  const { listener } = await anEcho();
  const ask = (answer: object) => deliver(listener.id, { body: JSON.stringify(answer) });
  const bytes = Buffer.from([0, 255, 137, 80]);
  const base64 = bytes.toString('base64');

  for (const [wanted, type] of [
    [{ body: { base64, contentType: 'image/png' } }, 'image/png'],
    [{ body: { base64 }, headers: { 'Content-Type': 'image/gif' } }, 'image/gif'],
    [{ body: { base64 } }, 'application/octet-stream'],
  ] as const) {
    const answer = await ask(wanted);
    expect([answer.status, answer.headers.get('content-type'), answer.bytes.toString('hex')]).toEqual([
      200,
      type,
      bytes.toString('hex'),
    ]);
  }
  expect(await ask({ body: { base64, of: 'a file' } })).toMatchObject({ status: 200, body: { base64, of: 'a file' } });

  for (const status of ['abc', 99, 600, 100, 200.5, true, '2e2', -1])
    expect(await ask({ status, body: 'x' }), String(status)).toMatchObject({
      status: 500,
      body: { success: false, error: { code: 'INVALID_ANSWER', message: expect.stringContaining(String(status)) } },
    });
  expect(await ask({ status: '404', body: 'x' })).toMatchObject({ status: 404, body: 'x' });
  expect(await ask({ body: { base64: 'ä' } })).toMatchObject({
    status: 500,
    body: { error: { code: 'INVALID_ANSWER' } },
  });

  const moved = await ask({
    status: 302,
    headers: { Location: 'https://a.example/ä b?c=%20\r\nx: y', Vary: ['A', 'B'] },
  });
  expect([moved.status, moved.headers.get('location'), moved.headers.get('vary'), moved.headers.get('x')]).toEqual([
    302,
    'https://a.example/%C3%A4 b?c=%20%0D%0Ax: y',
    'A, B',
    null,
  ]);
  const file = await ask({ headers: { 'content-disposition': 'attachment; filename="grün.pdf"', 'X-Own': ['1', 2] } });
  expect([file.headers.get('content-disposition'), file.headers.get('x-own')]).toEqual([
    `attachment; filename="gr_n.pdf"; filename*=UTF-8''gr%C3%BCn.pdf`,
    '1, 2',
  ]);
  for (const headers of [{ location: ['a', 'b'] }, { 'x-own': { a: 1 } }])
    expect(await ask({ headers }), JSON.stringify(headers)).toMatchObject({ status: 500 });

  const empty = await ask({ status: 201, body: null });
  expect([empty.status, empty.text, empty.headers.get('content-type'), empty.headers.get('content-length')]).toEqual([
    201,
    '',
    null,
    '0',
  ]);
  const none = await ask({ status: 204, body: { a: 1 }, headers: { 'content-type': 'text/csv' } });
  expect([none.status, none.text, none.headers.get('content-type'), none.headers.get('content-length')]).toEqual([
    204,
    '',
    null,
    null,
  ]);
});

test('a sender does not wait for a run that is parked, nor for one whose sub-workflow is', async () => {
  const ends = { start: { type: 'start' }, end: { type: 'end' } };
  const direct = await anEcho(
    graph({ ...ends, ask: { type: 'approval', title: 'Sure?' } }, ['start>ask', 'ask:approved>end']),
  );
  const parked = await deliver(direct.listener.id, { body: '{}' });
  expect(parked).toMatchObject({ status: 202, body: { success: true, instanceID: expect.any(String) } });
  const { rows } = await cluster.context.pool.query('select status from workflow_instance where id = $1', [
    parked.body.instanceID,
  ]);
  expect(rows).toEqual([{ status: 'WAITING' }]);
  const { instanceID: id } = parked.body;
  expect(await findParked(cluster.pool, [{ id, ms: 60_000 }])).toEqual([id]);
  // Its question expires in an hour: who waits for two still gets the result.
  expect(await findParked(cluster.pool, [{ id, ms: 7_200_000 }])).toEqual([]);

  const outer = await anEcho(
    graph({ ...ends, sub: { type: 'subWorkflow', childWorkflowID: direct.workflow.id } }, [
      'start>sub',
      'sub:success>end',
    ]),
  );
  expect(await deliver(outer.listener.id, { body: '{}' })).toMatchObject({
    status: 202,
    body: { instanceID: expect.any(String) },
  });
  // A delay that ends in time is waited for.
  const short = await anEcho(chain({ wait: { type: 'delay', delaySeconds: 1 } }, outputs));
  expect(await deliver(short.listener.id, { body: '{"body":"done"}' })).toMatchObject({ status: 200, body: 'done' });
});

test('a sender whose event starts no run is told why, without the id of a run', async () => {
  const { listener, workflow } = await anEcho();
  const broken = await deliver(listener.id, { body: '{"a":' });
  expect(broken).toMatchObject({
    status: 400,
    body: { success: false, error: { code: 'VALIDATION_ERROR', message: expect.stringContaining('not JSON') } },
  });
  expect(broken.body).not.toHaveProperty('instanceID');

  await cluster.as(tenant.creator).in(tenant).patch(`T/workflows/${workflow.id}`, { isDisabled: true });
  const failed = await deliver(listener.id, { body: '{}' });
  expect(failed).toMatchObject({ status: 500, body: { error: { code: 'EVENT_FAILED' } } });
  expect(failed.body).not.toHaveProperty('instanceID');
  expect(failed.body.error.message).not.toContain(workflow.id);

  const filtered = await aListener(cluster, {
    tenant,
    config: { answerMode: 'result', resultTimeoutSeconds: 60, responseStatusCode: 203 },
    actions: [
      { actionType: 'filter', actionConfig: { script: 'return false;' } },
      { actionType: 'trigger_workflow', actionConfig: { workflowID: workflow.id } },
    ],
  });
  const once = { body: '{}', headers: { 'idempotency-key': 'one' } };
  for (const _ of [1, 2]) {
    const answer = await deliver(filtered.id, once);
    expect(answer).toMatchObject({ status: 203, body: { success: true, eventID: expect.any(String) } });
    expect(answer.body).not.toHaveProperty('instanceID');
  }
});

test('a handshake is answered beside a signature, with any method, and is no event', async () => {
  const options = {
    authType: 'github',
    authSecret: 's',
    handshake: 'meta',
    verifyToken: 'the token',
    allowedMethods: 'POST',
  };
  const listener = await aListener(cluster, { tenant, options, endpointPath: 'meta/:page' });
  const path = `${tenant.id}/meta/1?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=`;

  const right = await deliver(`${path}the+token`, { method: 'GET' });
  expect([right.status, right.text, right.headers.get('content-type')]).toEqual([
    200,
    '1158201444',
    'text/plain; charset=utf-8',
  ]);
  expect((await deliver(`${path}wrong`, { method: 'GET' })).status).toBe(403);
  expect((await deliver(`${tenant.id}/meta/1`, { method: 'GET' })).status).toBe(405);
  expect((await deliver(`${path}the+token`, { body: '{}' })).status).toBe(401);
  const signature = `sha256=${createHmac('sha256', 's').update('{}').digest('hex')}`;
  const headers = { 'x-hub-signature-256': signature };
  expect((await deliver(`${tenant.id}/meta/1`, { body: '{}', headers })).status).toBe(200);
  expect(await eventsOf(listener)).toHaveLength(1);
  const shown = await cluster.as(tenant.creator).in(tenant).get('T/datasources');
  expect(JSON.stringify(shown.body)).not.toContain('the token');
});

test('a handshake in a body is answered, and the signature that it gives is that of no delivery', async () => {
  const hmac = (text: string) => createHmac('sha256', 's').update(text).digest('hex');
  const options = { authType: 'hmac', authSecret: 's' };
  const zoom = await aListener(cluster, { tenant, options: { ...options, handshake: 'zoom' } });
  const validation = JSON.stringify({ event: 'endpoint.url_validation', payload: { plainToken: 'true' } });

  const answered = await deliver(zoom.id, { body: validation });
  const replayed = await deliver(zoom.id, { body: 'true', headers: { 'x-signature': hmac('true') } });

  expect(answered).toMatchObject({ status: 200, body: { plainToken: 'true', encryptedToken: hmac('true') } });
  expect([replayed.status, replayed.text]).toEqual([401, expect.stringContaining('that of a handshake')]);
  expect(await eventsOf(zoom)).toEqual([]);

  const twitch = await aListener(cluster, { tenant, options: { ...options, handshake: 'twitch' } });
  const body = '{"challenge":"c"}';
  const headers = { 'twitch-eventsub-message-type': 'webhook_callback_verification' };
  expect((await deliver(twitch.id, { body, headers })).status).toBe(401);
  const signed = await deliver(twitch.id, { body, headers: { ...headers, 'x-signature': hmac(body) } });
  expect([signed.status, signed.text]).toEqual([200, 'c']);
  expect(await eventsOf(twitch)).toEqual([]);
});

test('listeners with different methods share a path, and HEAD makes no event', async () => {
  const api = cluster.as(tenant.creator).in(tenant);
  const source = async (allowedMethods: string) =>
    (
      await api.post('T/datasources', {
        datasourceTitle: newID(),
        datasourceType: 'webhook',
        datasourceOptions: { allowedMethods },
      })
    ).body.datasource.id as string;
  const [posts, gets, any] = [await source('POST'), await source('GET'), await source('ANY')];
  const create = (datasourceID: string, endpointPath: string) =>
    api.post('T/listeners', { listenerTitle: newID(), datasourceID, endpointPath, status: 'active' });
  const post = await create(posts, 'shared/:a');
  const get = await create(gets, 'shared/:b');
  expect([post.status, get.status]).toEqual([201, 201]);
  for (const datasourceID of [posts, gets, any]) expect((await create(datasourceID, 'shared/:c')).status).toBe(409);
  const other = await create(any, 'other/:a');
  expect((await api.patch(`T/listeners/${other.body.listener.id}`, { endpointPath: 'shared/:x' })).status).toBe(409);
  expect((await api.patch(`T/listeners/${get.body.listener.id}`, { datasourceID: posts })).status).toBe(409);
  const widened = await api.patch(`T/datasources/${gets}`, { datasourceOptions: { allowedMethods: 'ANY' } });
  expect(widened).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });

  for (const [method, expected] of [
    ['POST', 200],
    ['GET', 200],
    ['HEAD', 200],
    ['PUT', 405],
    ['PROPFIND', 405],
  ] as const)
    expect((await deliver(`${tenant.id}/shared/1`, { method })).status, method).toBe(expected);
  expect((await deliver(`${tenant.id}/other/1`, { method: 'PROPFIND' })).status).toBe(405);
  expect((await deliver(`${tenant.id}/other/1`, { method: 'HEAD' })).status).toBe(200);
  const methods = async (of: { body: { listener: { id: string } } }) =>
    (await eventsOf(of.body.listener)).map(({ method }) => method);
  expect([await methods(post), await methods(get), await methods(other)]).toEqual([['POST'], ['GET'], []]);
});

test('parameters of strangers are neither refused nor listed', async () => {
  const listener = await aListener(cluster, { tenant, options: { authType: 'bearer', bearerToken: 'b' } });
  const headers = { prefer: 'handling=strict' };
  for (const [path, status, authorization] of [
    [`${newID()}?secret=1&utm=2`, 404, ''],
    [`${listener.id}?secret=1&utm=2`, 401, ''],
    [`${listener.id}?secret=1&utm=2`, 200, 'Bearer b'],
  ] as const) {
    const answer = await deliver(path, {
      body: '{}',
      headers: { ...headers, ...(authorization && { authorization }) },
    });
    expect([answer.status, answer.text.includes('secret'), answer.headers.get('preference-applied')], path).toEqual([
      status,
      false,
      null,
    ]);
  }
  await eventually(async () => expect(await eventsOf(listener)).toMatchObject([{ state: 'done' }]));
});
