import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { testServers } from '#test/support/environment.ts';
import { aDataQuery, aListener, aMember, aTenant, aWorkflow, type TestTenant } from '#test/support/factories.ts';
import { code, graph } from '#test/support/graphs.ts';
import { eventually } from '#test/support/settle.ts';

const table = `orders_${newID().replaceAll('-', '').slice(-12)}`;
let cluster: Cluster;
let tenant: TestTenant;
let server: pg.Client;
beforeAll(async () => {
  cluster = await startCluster();
  tenant = await aTenant(cluster);
  server = new pg.Client({ connectionString: testServers.datasourceURL });
  await server.connect();
  await server.query(`create table ${table} (total float8)`);
});
afterAll(async () => {
  await server.query(`drop table ${table}`);
  await server.end();
  await cluster[Symbol.asyncDispose]();
});

const api = (as = tenant.creator) => cluster.as(as).in(tenant);

interface Version {
  total: string;
  /** A node between `total` and `save` that only this version has. */
  more: string;
}

/** An order is computed and saved; each version has one node of its own. */
const orders = (dataQueryID: string, { total, more }: Version) =>
  graph(
    {
      start: { type: 'start' },
      keep: code('return { id: ctx.input.event.body.id };', { outputVariable: 'keep' }),
      total: code(total, { outputVariable: 'total' }),
      [more]: code('return 1;', { outputVariable: more }),
      save: { type: 'dataQuery', dataQueryID, inputValues: { total: '{{ctx.total.net}}' }, outputVariable: 'saved' },
      end: { type: 'end', outputParameters: [{ name: 'net', sourceVariable: '{{ctx.total.net}}' }] },
    },
    ['start>keep', 'keep>total', `total>${more}`, `${more}>save`, 'save:success>end'],
  );

async function deliver(listener: { id: string }, body: unknown): Promise<string> {
  const response = await fetch(`${cluster.baseURL}/webhooks/v1/inbound/${listener.id}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return ((await response.json()) as { eventID: string }).eventID;
}

const savedOrders = async () => (await server.query(`select total from ${table} order by total`)).rows;

test('a list of events has the beginnings of their bodies on request', async () => {
  const listener = await aListener(cluster, { tenant, config: { dedupBy: 'header', dedupField: 'x-delivery' } });
  const send = async (body: string | Buffer, delivery: string) => {
    const headers = { 'content-type': 'text/plain', 'x-delivery': delivery };
    const url = `${cluster.baseURL}/webhooks/v1/inbound/${listener.id}`;
    expect((await fetch(url, { method: 'POST', headers, body })).status).toBeLessThan(300);
  };
  await send(`${'a'.repeat(799)}ö`, 'one');
  await send(Buffer.from([0xff, 0xfe]), 'two');
  await send(`${'a'.repeat(799)}ö`, 'one');
  await send('short', 'three');

  const path = `T/listeners/${listener.id}/events`;
  const shown = (await api().get(`${path}?preview=true`)).body.events;
  const previews = shown.map(({ bodyPreview }: { bodyPreview: string | null }) => bodyPreview);
  expect(previews).toEqual(['short', 'a'.repeat(200), null, 'a'.repeat(200)]);
  expect((await api().get(path)).body.events[0]).not.toHaveProperty('bodyPreview');
});

test('a past event is run by a draft without its writes, and what differs is told node by node', async () => {
  await server.query(`delete from ${table}`);
  const query = await aDataQuery(cluster, {
    tenant,
    query: {
      query: `insert into ${table} (total) values ({{inputs.total}}::float8)`,
      inputDefinitions: [{ key: 'total', type: 'number' }],
    },
  });
  const published = orders(query.id, { total: 'return { net: 100, items: [1, 2] };', more: 'old' });
  const workflow = await aWorkflow(cluster, { tenant, ...published });
  const listener = await aListener(cluster, {
    tenant,
    actions: [{ actionType: 'trigger_workflow', actionConfig: { workflowID: workflow.id } }],
  });
  const eventID = await deliver(listener, { id: 7 });
  const path = `T/listeners/${listener.id}/events/${eventID}/shadow-replay`;
  await eventually(async () => expect(await savedOrders()).toEqual([{ total: 100 }]));

  const same = await api().post(path, {});
  expect(same.body).toMatchObject({ eventID, original: { status: 'COMPLETED', versionID: workflow.versionID } });
  await eventually(async () => {
    const { body } = await api().get(`${path}/${same.body.shadow.instanceID}`);
    const states = body.diff.nodes.map(({ nodeID, state }: { nodeID: string; state: string }) => [nodeID, state]);
    expect(states).toEqual([
      ...['start', 'keep', 'total', 'old'].map((id) => [id, 'same']),
      ['save', 'refused'],
      ['end', 'same'],
    ]);
  });

  const next = orders(query.id, { total: 'return { net: 84, items: [1, 2, 3] };', more: 'new' });
  const draft = await api().patch(`T/workflows/${workflow.id}`, { ...next, draft: true });
  expect(draft.status).toBe(200);
  const { status, body } = await api().post(path, {});

  expect([status, body.shadow.status, body.shadow.error]).toEqual([200, 'COMPLETED', null]);
  expect(body.shadow.versionID).not.toBe(workflow.versionID);
  const byNode = new Map(body.diff.nodes.map((node: { nodeID: string }) => [node.nodeID, node]));
  expect(byNode.get('keep')).toMatchObject({ state: 'same', changes: [] });
  expect(byNode.get('total')).toMatchObject({
    state: 'changed',
    before: { status: 'SUCCESS' },
    changes: expect.arrayContaining([
      { path: ['total', 'net'], from: 100, to: 84 },
      { path: ['total', 'items'], from: [1, 2], to: [1, 2, 3] },
    ]),
  });
  expect(byNode.get('save')).toMatchObject({
    state: 'refused',
    before: { status: 'SUCCESS' },
    after: { status: 'SKIPPED' },
    refusedWrite: expect.stringContaining('insert into'),
  });
  expect([byNode.get('old'), byNode.get('new')]).toMatchObject([
    { state: 'onlyBefore', before: { status: 'SUCCESS' }, after: null },
    { state: 'onlyAfter', before: null, after: { status: 'SUCCESS' } },
  ]);
  expect(body.diff).toMatchObject({ isCut: false, output: [{ path: ['net'], from: 100, to: 84 }] });
  // Neither the event nor its write happens again.
  expect(await savedOrders()).toEqual([{ total: 100 }]);
  const events = await cluster.context.pool.query('select from listener_event where listener_id = $1', [listener.id]);
  expect(events.rowCount).toBe(1);

  expect((await api().post(path, { version: 1 })).body.shadow.versionID).toBe(workflow.versionID);
  expect((await api().post(path, { version: 99 })).status).toBe(404);
  expect((await api().post(path, { actionID: newID() })).status).toBe(409);
  const replayer = await aMember(cluster, { tenant, can: ['listener.execute', 'listener.read', 'workflow.read'] });
  expect((await api(replayer).post(path, {})).status).toBe(403);
  expect((await api(replayer).get(`${path}/${body.shadow.instanceID}`)).status).toBe(200);
  expect((await api(replayer).get(`${path}/${body.original.instanceID}`)).status).toBe(404);
});
