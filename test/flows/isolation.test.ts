import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import type { Answer, Client } from '../support/client.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import {
  aDataQuery,
  aDatasource,
  aMember,
  anApiKey,
  aRole,
  aTenant,
  aWorkflow,
  chain,
  type TestTenant,
} from '../support/factories.ts';
import { settle } from '../support/settle.ts';

/** An admin of one tenant sends ids of another in every part of a request. Each answer must equal the answer for an unknown id. */
let cluster: Cluster;
let mine: TestTenant;
let theirs: TestTenant;
let me: Client;
beforeAll(async () => {
  cluster = await startCluster();
  [mine, theirs] = [await aTenant(cluster), await aTenant(cluster)];
  me = cluster.as(mine.creator).in(mine);
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** Expects the same answers for an id of the other tenant and for an unknown id, apart from the id itself. */
async function expectSame(ask: (id: string) => Promise<Answer>, theirID: string, status: number): Promise<void> {
  const nothing = newID();
  const [real, unreal] = [await ask(theirID), await ask(nothing)];
  const shown = ({ status, body }: Answer, id: string) => ({ status, body: JSON.stringify(body).replaceAll(id, 'ID') });
  expect(shown(real, theirID)).toEqual(shown(unreal, nothing));
  expect(real.status).toBe(status);
}

async function theirRun(): Promise<{ workflowID: string; instanceID: string }> {
  const workflow = await aWorkflow(cluster, { tenant: theirs, title: 'Their secret' });
  const api = cluster.as(theirs.creator).in(theirs);
  const { body } = await api.post(`T/workflows/${workflow.id}/execute?wait=20`, { args: { secret: 'theirs' } });
  return { workflowID: workflow.id, instanceID: body.instanceID };
}

describe('an id of another tenant', () => {
  test("in a body: a graph cannot call the other tenant's workflow, saved or tested", async () => {
    const { workflowID } = await theirRun();
    const calling = (id: string) => chain({ call: { type: 'subWorkflow', childWorkflowID: id } });

    await expectSame((id) => me.post('T/workflows', { title: 'Mine', ...calling(id) }), workflowID, 400);
    await expectSame((id) => me.post('T/workflows/test', calling(id)), workflowID, 400);
    const own = await aWorkflow(cluster, { tenant: mine });
    await expectSame((id) => me.patch(`T/workflows/${own.id}`, calling(id)), workflowID, 400);
  });

  test("in the config of a node: a graph cannot name the other tenant's data query", async () => {
    const { id } = await aDataQuery(cluster, { tenant: theirs });
    const queryGraph = (dataQueryID: string) => chain({ ask: { type: 'dataQuery', dataQueryID } });
    const own = await aWorkflow(cluster, { tenant: mine });

    await expectSame((query) => me.post('T/workflows', { title: 'Mine', ...queryGraph(query) }), id, 400);
    await expectSame((query) => me.post('T/workflows/test', queryGraph(query)), id, 400);
    await expectSame((query) => me.patch(`T/workflows/${own.id}`, queryGraph(query)), id, 400);
  });

  test("in a graph stored without the check: the other tenant's data query is not executed", async () => {
    const { id } = await aDataQuery(cluster, { tenant: theirs, query: "select 'theirs' as secret" });
    const outcomes = [];
    for (const dataQueryID of [id, newID()]) {
      const graph = chain({ ask: { type: 'dataQuery', dataQueryID } });
      const planted = await aWorkflow(cluster, { tenant: mine, ...graph });
      const { body } = await me.post(`T/workflows/${planted.id}/execute?wait=20`, {});
      outcomes.push({ status: body.status, code: body.error?.code, message: body.error?.message });
    }
    expect(outcomes[0]).toMatchObject({ status: 'FAILED', code: 'NOT_FOUND' });
    expect(outcomes[0]).toEqual(outcomes[1]);
    expect((await cluster.pool.query('select 1 from query_run where data_query_id = $1', [id])).rows).toEqual([]);
  });

  test("in a body: the other tenant's datasource can neither be queried nor tested, nor lend its secret", async () => {
    const { id } = await aDatasource(cluster, { tenant: theirs });
    const own = await aDataQuery(cluster, { tenant: mine });
    const queryGraph = (datasourceID: string) => ({ datasourceID, dataQueryOptions: { query: 'select 1' } });
    const masked = { connectionOption: 'connectionString', connectionString: '\u2022'.repeat(8) };

    await expectSame((of) => me.post('T/queries', { dataQueryTitle: 'Mine', ...queryGraph(of) }), id, 400);
    await expectSame((of) => me.post('T/queries/bulk', [{ dataQueryTitle: 'Mine', ...queryGraph(of) }]), id, 400);
    await expectSame((of) => me.patch('T/queries/queryTest', { dataQuery: queryGraph(of) }), id, 400);
    await expectSame((of) => me.patch(`T/queries/${own.id}`, { datasourceID: of }), id, 400);
    const test = { datasourceType: 'postgresql', datasourceOptions: masked };
    await expectSame((of) => me.post('T/datasources/test', { ...test, datasourceID: of }), id, 400);
    for (const path of ['metadata', 'usage']) await expectSame((of) => me.get(`T/datasources/${of}/${path}`), id, 404);
    expect((await me.get(`T/queries?datasourceID=${id}`)).body.dataQueries).toEqual([]);
  });

  test('in a field that only a run reads: a graph stored without the check fails in the run', async () => {
    const { workflowID } = await theirRun();
    for (const id of [workflowID, newID()]) {
      const graph = chain({ call: { type: 'subWorkflow', childWorkflowID: id } });
      const planted = await aWorkflow(cluster, { tenant: mine, ...graph });
      const { body } = await me.post(`T/workflows/${planted.id}/execute?wait=20`, {});
      expect(body).toMatchObject({ status: 'FAILED', error: { code: 'NODE_FAILED', nodeID: 'call' } });
      expect(body.error.message).toBe('There is no such workflow, or the caller of this run may not execute it');
    }
    const { rows } = await cluster.pool.query(
      'select 1 from workflow_instance where workflow_id = $1 and tenant_id = $2',
      [workflowID, mine.id],
    );
    expect(rows).toEqual([]);
  });

  test('in a query string: lists filtered by it are empty', async () => {
    const { workflowID } = await theirRun();
    for (const path of [`T/workflows/instances?workflowID=${workflowID}`, `T/workflows?folderID=${workflowID}`]) {
      const { status, body } = await me.get(path);
      expect(status).toBe(200);
      expect(JSON.stringify(body)).not.toContain('secret');
      expect(Object.values(body).find(Array.isArray)).toEqual([]);
    }
    expect((await me.get('T/workflows?search=secret')).body.workflows).toEqual([]);
  });

  test("in a cursor: a page that begins at it holds only rows of the caller's tenant", async () => {
    for (let n = 0; n < 3; n += 1) {
      await aWorkflow(cluster, { tenant: theirs });
      await aWorkflow(cluster, { tenant: mine });
    }
    const page = await cluster.as(theirs.creator).in(theirs).get('T/workflows?limit=1');

    const { status, body } = await me.get(`T/workflows?limit=100&cursor=${page.body.nextCursor}`);

    expect(status).toBe(200);
    expect(new Set(body.workflows.map(({ tenantID }: { tenantID: string }) => tenantID))).toEqual(new Set([mine.id]));
  });

  test('in a list of roles: users and keys cannot get a role of another tenant', async () => {
    const { id: roleID } = await aRole(cluster, { tenant: theirs, can: ['workflow.read'] });
    const member = await aMember(cluster, { tenant: mine });
    const key = await anApiKey(cluster, { tenant: mine });

    await expectSame((id) => me.patch(`T/users/${member.id}/roles`, { roleIDs: [id] }), roleID, 400);
    await expectSame((id) => me.post('T/users', { userEmail: 'someone@example.test', roleIDs: [id] }), roleID, 400);
    await expectSame((id) => me.post('T/apikeys', { apiKeyName: 'k', roleIDs: [id] }), roleID, 400);
    await expectSame((id) => me.patch(`T/apikeys/${key.id}`, { roleIDs: [id] }), roleID, 400);
  });

  test('in the path of a role, a key or a user: it is not found, and does not change', async () => {
    const role = await aRole(cluster, { tenant: theirs });
    const key = await anApiKey(cluster, { tenant: theirs, can: ['workflow.list'] });
    const person = await aMember(cluster, { tenant: theirs, can: ['workflow.list'] });

    for (const [path, id] of [
      ['roles', role.id],
      ['apikeys', key.id],
      ['users', person.id],
    ] as const) {
      await expectSame((one) => me.get(`T/${path}/${one}`), id, 404);
      await expectSame((one) => me.delete(`T/${path}/${one}`), id, 404);
    }
    await expectSame((id) => me.patch(`T/roles/${id}`, { roleName: 'Mine' }), role.id, 404);
    await expectSame((id) => me.patch(`T/apikeys/${id}`, { isDisabled: true }), key.id, 404);
    await expectSame((id) => me.post(`T/apikeys/${id}/clone`), key.id, 404);
    await expectSame((id) => me.patch(`T/users/${id}/roles`, { roleIDs: [] }), person.id, 404);
    expect((await cluster.withKey(key).in(theirs).get('T/workflows')).status).toBe(200);
    expect((await cluster.as(person).in(theirs).get('T/workflows')).status).toBe(200);
  });

  test.each(['roles', 'apikeys', 'users'] as const)(
    'in a cursor or a folder of %s: only mine are listed',
    async (kind) => {
      const make = (tenant: TestTenant) =>
        ({
          roles: () => aRole(cluster, { tenant }),
          apikeys: () => anApiKey(cluster, { tenant }),
          users: () => aMember(cluster, { tenant }),
        })[kind]();
      const all: Record<'mine' | 'theirs', string[]> = { mine: [], theirs: [] };
      for (let n = 0; n < 3; n += 1) {
        all.theirs.push((await make(theirs)).id);
        all.mine.push((await make(mine)).id);
      }
      const page = await cluster.as(theirs.creator).in(theirs).get(`T/${kind}?limit=1`);

      const { status, body } = await me.get(`T/${kind}?limit=100&cursor=${page.body.nextCursor}`);

      expect(status).toBe(200);
      const listed = JSON.stringify(body);
      for (const id of all.theirs) expect(listed).not.toContain(id);
      expect(all.mine.some((id) => listed.includes(id))).toBe(true);
      await expectSame((id) => me.get(`T/${kind}?folderID=${id}`), newID(), 200);
    },
  );

  test('in an idempotency key: the same key is independent in another tenant, and for another user', async () => {
    const headers = { 'Idempotency-Key': `shared-${newID()}` };
    const [ours, yours] = [await aWorkflow(cluster, { tenant: mine }), await aWorkflow(cluster, { tenant: theirs })];
    const key = await anApiKey(cluster, { tenant: mine, can: ['workflow.execute'] });
    const them = cluster.as(theirs.creator).in(theirs);

    const answers = [
      await me.post(`T/workflows/${ours.id}/execute`, {}, headers),
      await them.post(`T/workflows/${yours.id}/execute`, {}, headers),
      await cluster.withKey(key).in(mine).post(`T/workflows/${ours.id}/execute`, {}, headers),
    ];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(answers.map(({ body }) => body.instanceID)).size).toBe(3);
    expect(answers.map((answer) => answer.headers.get('idempotency-replayed'))).toEqual([null, null, null]);
  });

  test("in a socket: the other tenant's runs and room cannot be joined, and none of its events arrive", async () => {
    await using socket = await cluster.socket(mine.creator);
    const { instanceID } = await theirRun();

    const refusals = [];
    for (const id of [instanceID, newID()]) refusals.push(await socket.ask('workflow_run_join', { instanceID: id }));
    for (const id of [theirs.id, newID()]) refusals.push(await socket.ask('join_room', `tenant:${id}`));

    for (const refusal of refusals)
      expect(refusal).toMatchObject({ success: false, error: { code: 'PERMISSION_DENIED' } });
    expect(new Set(refusals.map((refusal) => JSON.stringify(refusal))).size).toBe(1);
    await theirRun();
    await settle(cluster.pool);
    expect(socket.messages).toEqual([]);
  });

  test('in the configuration of a user: each tenant has its own, and a stranger has none', async () => {
    await cluster.as(theirs.creator).post(`/api/v1/auth/config/${theirs.id}`, { config: { secret: 'theirs' } });
    await expectSame((id) => cluster.as(mine.creator).get(`/api/v1/auth/config/${id}`), theirs.id, 404);
    await expectSame(
      (id) => cluster.as(mine.creator).post(`/api/v1/auth/config/${id}`, { config: { a: 1 } }),
      theirs.id,
      404,
    );
  });

  test('in the path of a tenant that the user has left', async () => {
    const guest = await aMember(cluster, { tenant: mine, rules: [{ object: '*', action: '*' }] });
    expect((await cluster.as(guest).in(mine).get('T/workflows')).status).toBe(200);

    await cluster.pool.query('delete from membership where user_id = $1', [guest.id]);

    // The rule still exists: membership is checked separately.
    expect((await cluster.as(guest).in(mine).get('T/workflows')).status).toBe(403);
  });
});
