import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApi } from '#api/app/listen.ts';
import { newID } from '#shared/core/ids.ts';
import { readConfig } from '#shared/process/config.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { testLogger } from '../../support/environment.ts';
import { aMember, anApiKey, aTenant, aWorkflow, chain, type TestTenant } from '../../support/factories.ts';
import { code } from '../../support/graphs.ts';
import { eventually } from '../../support/settle.ts';

let cluster: Cluster;
let tenant: TestTenant;

beforeAll(async () => {
  cluster = await startCluster({ workers: ['workflow.runs'] });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const api = () => cluster.as(tenant.creator).in(tenant);
const tokenOf = async (user: { email: string }) => ({ authorization: `Bearer ${await cluster.tokenFor(user)}` });

interface Sent {
  id: number | null;
  event: string;
  payload: {
    seq: number;
    nodeID?: string;
    status: string;
    exit?: string | null;
    at?: string;
    collectionRequestID?: string;
  };
}

function statusesOf(sent: readonly Sent[]): string[] {
  return sent.flatMap(({ event, payload }) => (event === 'workflow_status_update' ? [payload.status] : []));
}

/** Opens a stream. `rest` reads it to its end. */
async function open(
  instanceID: string,
  headers: Record<string, string>,
  query = '',
  { baseURL = cluster.baseURL, of = tenant } = {},
) {
  const path = `/api/v1/tenants/${of.id}/workflows/instances/${instanceID}/stream${query}`;
  const response = await fetch(baseURL + path, { headers });
  const sent: Sent[] = [];
  let text = '';
  const read = async () => {
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      sent.push(...blocks.filter((block) => block.startsWith('event')).map(parse));
    }
  };
  const rest = read();
  return { response, sent, rest };
}

function parse(block: string): Sent {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
  const id = field('id');
  return {
    id: id === undefined ? null : Number(id),
    event: field('event') ?? '',
    payload: JSON.parse(field('data') ?? ''),
  };
}

const steps = { wait: { type: 'delay', delayMs: 900 }, one: code('return 1;') };

test('a stream has every event of a run in order, live ones too, and ends with the run', async () => {
  const { id } = await aWorkflow(cluster, { tenant, ...chain(steps) });
  const { instanceID } = (await api().post(`T/workflows/${id}/execute`)).body;

  const { response, sent, rest } = await open(instanceID, await tokenOf(tenant.creator));
  await rest;

  expect(response.headers.get('content-type')).toContain('text/event-stream');
  const run = (await api().get(`T/workflows/instances/${instanceID}`)).body;
  expect(run.status).toBe('COMPLETED');
  expect(sent.map(({ payload }) => payload.seq)).toEqual(Array.from({ length: run.seq }, (_, n) => n + 1));
  expect(sent.map(({ id: seq }) => seq)).toEqual(sent.map(({ payload }) => payload.seq));
  expect(sent.at(-1)).toMatchObject({ event: 'workflow_status_update', payload: { status: 'COMPLETED' } });
});

test('a client goes on behind the last id that it had, with an API key too, and is told when nothing is left', async () => {
  const { id } = await aWorkflow(cluster, { tenant, ...chain() });
  const { instanceID } = (await api().post(`T/workflows/${id}/execute?wait=30`)).body;
  const { key } = await anApiKey(cluster, { tenant, can: ['workflow.read'] });
  const { seq } = (await api().get(`T/workflows/instances/${instanceID}`)).body;

  const later = await open(instanceID, { 'x-api-key': key, 'last-event-id': '2' });
  await later.rest;
  const named = await open(instanceID, { 'x-api-key': key }, `?lastSeq=${seq - 1}`);
  await named.rest;
  const none = await open(instanceID, { 'x-api-key': key, 'last-event-id': String(seq) });

  expect(later.sent.map(({ id: at }) => at)).toEqual(Array.from({ length: seq - 2 }, (_, n) => n + 3));
  expect(named.sent).toHaveLength(1);
  expect(none.response.status).toBe(204);
  for (const header of ['-1', 'x', '1.5'])
    expect((await open(instanceID, { 'x-api-key': key, 'last-event-id': header })).response.status).toBe(400);
});

test('messages with one number share an id, so that none is lost between them', async () => {
  const ask = { type: 'dataCollection', fields: [{ key: 'a', label: 'A', fieldType: 'text' }] };
  const { id } = await aWorkflow(cluster, { tenant, ...chain({ ask }) });
  const { instanceID } = (await api().post(`T/workflows/${id}/execute`)).body;

  const { sent, rest } = await open(instanceID, await tokenOf(tenant.creator));
  await eventually(() => expect(statusesOf(sent)).toEqual(['WAITING']));
  await api().delete(`T/workflows/instances/${instanceID}/stop`);
  await rest;

  const at = sent.findIndex(({ event }) => event === 'workflow_data_collection_request');
  const { seq } = sent[at]?.payload ?? {};
  expect(sent.slice(at - 1, at + 2)).toMatchObject([
    { id: null, event: 'workflow_node_update', payload: { seq, more: true } },
    { id: null, payload: { seq, more: true } },
    { id: seq, event: 'workflow_status_update', payload: { seq } },
  ]);
  expect(sent.at(-1)).toMatchObject({ payload: { status: 'CANCELLED' } });
});

test('a run says that it waits, for what, and that it goes on; a later reader is told the same', async () => {
  const ask = { type: 'dataCollection', fields: [{ key: 'a', label: 'A', fieldType: 'text' }], expiryMinutes: 60 };
  const { id } = await aWorkflow(cluster, { tenant, ...chain({ ask, one: code('return 1;') }) });
  const { instanceID } = (await api().post(`T/workflows/${id}/execute`)).body;
  const live = await open(instanceID, await tokenOf(tenant.creator));
  await eventually(() => expect(statusesOf(live.sent)).toEqual(['WAITING']));
  const asked = live.sent.find(({ event }) => event === 'workflow_data_collection_request')?.payload;

  const { status } = await api().post(`T/workflows/data-collection/${asked?.collectionRequestID}/submit`, {
    submittedData: { a: 'x' },
  });
  await live.rest;
  const later = await open(instanceID, await tokenOf(tenant.creator));
  await later.rest;

  expect(status).toBe(200);
  expect(statusesOf(live.sent)).toEqual(['WAITING', 'RUNNING', 'COMPLETED']);
  const waits = live.sent.findIndex(({ payload }) => payload.status === 'WAITING');
  expect(live.sent[waits]).toMatchObject({
    id: asked?.seq,
    payload: {
      seq: asked?.seq,
      waiting: { reason: 'input', collectionRequestID: asked?.collectionRequestID, until: expect.any(String) },
    },
  });
  expect(live.sent.slice(waits + 1, waits + 3)).toMatchObject([
    { id: null, payload: { status: 'RUNNING' } },
    { payload: { nodeID: 'ask', status: 'SUCCESS', exit: 'output', attempt: 1, at: expect.any(String) } },
  ]);
  expect(later.sent).toEqual(live.sent);
  const { timeline } = (await api().get(`T/workflows/instances/${instanceID}`)).body;
  const named = live.sent.filter(({ event }) => event === 'workflow_node_update');
  expect(named.map(({ payload: { seq, exit, at } }) => ({ seq, exit, at }))).toEqual(
    timeline.map(({ seq, exit, at }: Sent['payload']) => ({ seq, exit, at })),
  );
});

test('a stream ends when its caller may not read the run any more', async () => {
  const { id } = await aWorkflow(cluster, { tenant, ...chain({ wait: { type: 'delay', delayMinutes: 60 } }) });
  const { instanceID } = (await api().post(`T/workflows/${id}/execute`)).body;
  const member = await aMember(cluster, { tenant, can: ['workflow.read'] });
  const elsewhere = await aTenant(cluster);

  const { sent, rest } = await open(instanceID, await tokenOf(member));
  await eventually(() => expect(sent).not.toEqual([]));
  const { userID } = { userID: member.id };
  await cluster.pool.query('delete from membership where tenant_id = $1 and user_id = $2', [tenant.id, userID]);
  await cluster.pool.query('update tenant set policy_version = policy_version + 1 where id = $1', [tenant.id]);
  await rest;

  expect((await open(instanceID, await tokenOf(member))).response.status).toBe(403);
  expect((await open(instanceID, await tokenOf(elsewhere.creator))).response.status).toBe(403);
  expect((await open(newID(), await tokenOf(tenant.creator))).response.status).toBe(404);
  const short = await open(instanceID, await tokenOf(tenant.creator), '?seconds=0');
  await short.rest;
  expect(short.response.status).toBe(200);
});

test('a caller has a limited number of streams', async () => {
  const { id } = await aWorkflow(cluster, { tenant, ...chain({ wait: { type: 'delay', delayMinutes: 60 } }) });
  const { instanceID } = (await api().post(`T/workflows/${id}/execute`)).body;
  const { key } = await anApiKey(cluster, { tenant, can: ['workflow.read'] });

  const opened = await Promise.all(Array.from({ length: 51 }, () => open(instanceID, { 'x-api-key': key })));

  expect(opened.filter(({ response }) => response.status === 429)).toHaveLength(1);
  expect(opened.filter(({ response }) => response.status === 200)).toHaveLength(50);
  await api().delete(`T/workflows/instances/${instanceID}/stop`);
  await Promise.all(opened.map(({ rest }) => rest));
});

test('the stream of a key ends when the key is deleted', async () => {
  const { id } = await aWorkflow(cluster, { tenant, ...chain({ wait: { type: 'delay', delayMinutes: 60 } }) });
  const { instanceID } = (await api().post(`T/workflows/${id}/execute`)).body;
  const { id: apiKeyID, key } = await anApiKey(cluster, { tenant, can: ['workflow.read'] });
  const { sent, rest } = await open(instanceID, { 'x-api-key': key });
  await eventually(() => expect(sent).not.toEqual([]));

  expect((await api().delete(`T/apikeys/${apiKeyID}?permanently=true`)).status).toBe(200);
  await rest;

  expect((await open(instanceID, { 'x-api-key': key })).response.status).toBe(401);
  await api().delete(`T/workflows/instances/${instanceID}/stop`);
});

test('a client whose API stops goes on at another one behind its last id, without a gap or a double', async () => {
  const delays = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, { type: 'delay', delayMs: 400 }]));
  const { id } = await aWorkflow(cluster, { tenant, ...chain({ ...delays, one: code('return 1;') }) });
  const other = await startApi({ config: readConfig(cluster.env), logger: testLogger });
  const { instanceID } = (await api().post(`T/workflows/${id}/execute`)).body;
  const headers = await tokenOf(tenant.creator);
  const before = await open(instanceID, headers, '', { baseURL: `http://127.0.0.1:${other.port}` });
  await eventually(() => expect(before.sent.length).toBeGreaterThan(1));

  await other[Symbol.asyncDispose]();
  await before.rest;
  const last = before.sent.findLast(({ id: seq }) => seq !== null)?.id;
  const after = await open(instanceID, { ...headers, 'last-event-id': String(last) });
  await after.rest;

  const ids = [...before.sent, ...after.sent].flatMap(({ id: seq }) => seq ?? []);
  const { seq } = (await api().get(`T/workflows/instances/${instanceID}`)).body;
  expect(after.sent.length).toBeGreaterThan(1);
  expect(ids).toEqual(Array.from({ length: seq }, (_, at) => at + 1));
});

test('a tenant has a limited number of streams, and takes none from another', async () => {
  const shape = chain({ wait: { type: 'delay', delayMinutes: 60 } });
  const { id } = await aWorkflow(cluster, { tenant, ...shape });
  const { instanceID } = (await api().post(`T/workflows/${id}/execute`)).body;
  const keys = await Promise.all(
    Array.from({ length: 5 }, () => anApiKey(cluster, { tenant, can: ['workflow.read'] })),
  );
  const elsewhere = await aTenant(cluster);
  const steps = await aWorkflow(cluster, { tenant: elsewhere, ...chain({ one: code('return 1;') }) });
  const stranger = cluster.as(elsewhere.creator).in(elsewhere);

  const opened = await Promise.all(
    keys.flatMap(({ key }) => Array.from({ length: 45 }, () => open(instanceID, { 'x-api-key': key }))),
  );

  const refused = opened.filter(({ response }) => response.status !== 200);
  expect(refused.map(({ response }) => response.status)).toEqual(Array.from({ length: 25 }, () => 429));
  const { key = '' } = keys[0] ?? {};
  const again = await cluster.withKey({ key }).in(tenant).get(`T/workflows/instances/${instanceID}/stream`);
  expect(again.body.error).toMatchObject({
    code: 'RATE_LIMITED',
    message: 'The users and keys of this tenant have 200 streams open, and may have 200',
  });
  const run = (await stranger.post(`T/workflows/${steps.id}/execute`)).body;
  const own = await open(run.instanceID, await tokenOf(elsewhere.creator), '', { of: elsewhere });
  await own.rest;
  expect(statusesOf(own.sent).at(-1)).toBe('COMPLETED');
  await api().delete(`T/workflows/instances/${instanceID}/stop`);
  await Promise.all(opened.map(({ rest }) => rest));
});
