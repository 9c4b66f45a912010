import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { createResultPages } from '#workers/connections/result-pages.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import {
  aDatasource,
  aListener,
  aMember,
  anOperator,
  aTenant,
  aUser,
  aWorkflow,
  type TestOperator,
  type TestTenant,
} from '../../support/factories.ts';
import { aFile } from '../../support/route-fixtures.ts';
import { eventually } from '../../support/settle.ts';

let cluster: Cluster;
let operator: TestOperator;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: false, apis: 2 });
  operator = await anOperator(cluster);
});
beforeEach(async () => {
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const admin = (api = 0) => cluster.as(tenant.creator, cluster.apis[api]).in(tenant);
const set = (quotas: object) =>
  cluster.asOperator(operator).patch(`/api/v1/operator/tenants/${tenant.id}/quotas`, quotas);
const aNewWorkflow = { title: 'One more' };

describe('the quota of an asset', () => {
  test('is told to members, and refuses what is beyond it', async () => {
    await aWorkflow(cluster, { tenant });
    expect((await set({ workflows: 1 })).body.quotas.workflows).toEqual({ max: 1, used: 1, isDefault: false });

    const refused = await admin().post('T/workflows', aNewWorkflow);

    expect(refused).toMatchObject({
      status: 429,
      body: {
        error: {
          code: 'QUOTA_EXCEEDED',
          message:
            'This tenant has at most 1 workflows: delete some, or ask an operator of this deployment for a higher quota',
          details: { quota: 'workflows', max: 1, used: 1 },
        },
      },
    });
    const { body } = await admin().get('T/quotas');
    expect(body.quotas.workflows).toEqual({ max: 1, used: 1, isDefault: false });
    expect(body.quotas.apiKeys).toEqual({ max: 1_000, used: 0, isDefault: true });

    await set({ workflows: null });
    expect((await admin().post('T/workflows', aNewWorkflow)).status).toBe(201);
    expect((await admin().get('T/quotas')).body.quotas.workflows).toEqual({ max: 1_000, used: 2, isDefault: true });
  });

  test('holds for requests that come at once, to several processes', async () => {
    await set({ apiKeys: 3 });

    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => admin(n % 2).post('T/apikeys', { apiKeyName: `key ${n}` })),
    );

    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, ...Array(7).fill(429)]);
    expect((await admin().get('T/quotas')).body.quotas.apiKeys.used).toBe(3);
  });

  test('of keys counts disabled ones, and has room again for one that is deleted for good', async () => {
    await set({ apiKeys: 1 });
    const create = () => admin().post('T/apikeys', { apiKeyName: 'one' });
    const { id } = (await create()).body.apiKey;

    expect((await admin().delete(`T/apikeys/${id}`)).status).toBe(200);
    expect(await create()).toMatchObject({
      status: 429,
      body: { error: { message: expect.stringContaining('permanently=true') } },
    });
    expect((await admin().delete(`T/apikeys/${id}?permanently=true`)).status).toBe(200);
    expect((await create()).status).toBe(201);
  });

  test('is that of one tenant', async () => {
    await set({ workflows: 0 });
    const other = await aTenant(cluster);

    expect((await admin().post('T/workflows', aNewWorkflow)).status).toBe(429);
    expect((await cluster.as(other.creator).in(other).post('T/workflows', aNewWorkflow)).status).toBe(201);
  });
});

test('files have a quota of their number and of their bytes', async () => {
  const upload = () => admin().post('T/datasources/upload', aFile(Buffer.from('a,b\n1,2\n'), { name: 'a.csv' }));
  await set({ files: 1, fileBytes: 15 });

  expect((await upload()).status).toBe(201);
  expect((await upload()).body.error.details).toEqual({ quota: 'files', max: 1, used: 1 });
  await set({ files: 5 });
  expect((await upload()).body.error.details).toEqual({ quota: 'fileBytes', max: 15, used: 8 });
});

test('active listeners with a connection have a quota, and addresses of this service do not count', async () => {
  const redis = await aDatasource(cluster, {
    tenant,
    type: 'redis',
    options: { connectionOption: 'connectionUrl', connectionUrl: 'redis://127.0.0.1:1' },
  });
  const ids = await Promise.all(
    [1, 2, 3].map(async () => {
      const config = { channels: 'a' };
      return (await aListener(cluster, { tenant, datasource: redis, config, status: 'inactive' })).id;
    }),
  );
  const activate = (id: string | undefined, n = 0) => admin(n % 2).post(`T/listeners/${id}/activate`);
  await set({ listenerConnections: 1 });

  const answers = await Promise.all(ids.map(activate));

  expect(answers.map(({ status }) => status).sort()).toEqual([200, 429, 429]);
  expect(answers.find(({ status }) => status === 429)?.body.error).toMatchObject({
    code: 'QUOTA_EXCEEDED',
    details: { quota: 'listenerConnections', max: 1, used: 1 },
  });
  const active = ids[answers.findIndex(({ status }) => status === 200)];
  const [other] = ids.filter((id) => id !== active);
  const { id: webhook } = await aListener(cluster, { tenant, status: 'inactive' });
  expect((await activate(webhook)).status).toBe(200);
  // Making it active again asks for nothing more.
  expect((await activate(active)).status).toBe(200);
  expect((await admin().patch(`T/listeners/${other}`, { status: 'active' })).status).toBe(429);
  await admin().post(`T/listeners/${active}/deactivate`);
  expect((await activate(other)).status).toBe(200);
});

test('stored pages of results have a quota', async () => {
  await set({ resultPages: 1 });
  const owner = { tenantID: tenant.id, source: 'dataquery:x', callerID: tenant.creator.id };
  await using pages = createResultPages(cluster.context, owner, 1);

  await pages.add([1, 2, 3]);
  await expect(pages.add([4, 5])).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' });
});

test('the bytes of stored results have a quota', async () => {
  await set({ resultBytes: 1_000 });
  const owner = { tenantID: tenant.id, source: 'dataquery:x', callerID: tenant.creator.id };
  await using pages = createResultPages(cluster.context, owner, 1);

  await pages.add(['a', 'b'.repeat(300), 'c']);
  const { used } = (await admin().get('T/quotas')).body.quotas.resultBytes;
  expect(used).toBeGreaterThan(300);
  await expect(pages.add(['d'.repeat(700), 'e', 'f'])).rejects.toMatchObject({
    code: 'QUOTA_EXCEEDED',
    message: expect.stringMatching(/bytes of stored results: wait ten minutes, .+ or ask an operator/),
    details: { quota: 'resultBytes', max: 1_000 },
  });
  expect((await admin().get('T/quotas')).body.quotas.resultPages.used).toBe(2);
});

test('runs in flight have a quota; a repeated request for one of them is answered all the same', async () => {
  const workflow = await aWorkflow(cluster, { tenant });
  const execute = (key?: string) =>
    admin().post(`T/workflows/${workflow.id}/execute`, {}, key ? { 'idempotency-key': key } : {});
  await set({ runs: 2 });
  const first = await execute('once');
  expect(first.status).toBe(200);
  expect((await execute()).status).toBe(200);

  for (const answer of [await execute(), await execute('another')])
    expect(answer).toMatchObject({
      status: 429,
      body: {
        error: {
          code: 'QUOTA_EXCEEDED',
          message: expect.stringMatching(/at most 2 runs in flight: .+ stop some, or ask an operator/),
          details: { quota: 'runs', max: 2, used: 2 },
        },
      },
    });
  expect((await execute('once')).body).toEqual(first.body);
  expect((await admin().get('T/quotas')).body.quotas.runs).toEqual({ max: 2, used: 2, isDefault: false });
  const other = await aTenant(cluster);
  const { id } = await aWorkflow(cluster, { tenant: other });
  expect((await cluster.as(other.creator).in(other).post(`T/workflows/${id}/execute`, {})).status).toBe(200);

  await admin().delete(`T/workflows/instances/${first.body.instanceID}/stop`);
  await eventually(async () => expect((await execute('another')).status).toBe(200));
  expect((await admin().get('T/quotas')).body.quotas.runs.used).toBe(2);
});

describe('versions of workflows', () => {
  const nodes = (size: number) => [
    { id: 'start', type: 'start' },
    { id: 'end', type: 'end', config: { output: 'x'.repeat(size) } },
  ];
  const edges = [{ id: 'e', source: 'start', target: 'end' }];
  const used = async () => (await admin().get('T/quotas')).body.quotas.versionBytes.used;

  test('have a quota of their bytes, however they are written; what is refused leaves nothing', async () => {
    const { body } = await admin().post('T/workflows', { title: 'Large', nodes: nodes(20_000), edges });
    const { id } = body.workflow;
    const one = await used();
    expect(one).toBeGreaterThan(20_000);
    expect(one).toBeLessThan(25_000);
    await set({ versionBytes: 50_000 });
    const draft = { nodes: nodes(20_001), edges, draft: true };
    expect((await admin().patch(`T/workflows/${id}`, draft)).status).toBe(200);
    expect(await used()).toBe(2 * one + 1);

    const first = (await admin().get(`T/workflows/${id}/versions`)).body.versions.at(-1).versionID;
    const refused = [
      await admin().post('T/workflows', { title: 'More', nodes: nodes(20_000), edges }),
      await admin().patch(`T/workflows/${id}`, { nodes: nodes(20_002), edges }),
      await admin().post(`T/workflows/${id}/clone`),
      await admin().post(`T/workflows/${id}/versions/${first}/restore`),
      await admin().post('T/workflows/test', { nodes: nodes(20_000), edges }),
    ];
    for (const answer of refused)
      expect(answer).toMatchObject({
        status: 429,
        body: { error: { code: 'QUOTA_EXCEEDED', details: { quota: 'versionBytes', max: 50_000 } } },
      });
    expect(await used()).toBe(2 * one + 1);
    expect((await admin().get('T/workflows')).body.workflows).toHaveLength(1);
    expect((await admin().patch(`T/workflows/${id}`, { title: 'Another title' })).status).toBe(200);
    expect((await admin().post(`T/workflows/${id}/versions/${first}/publish`)).status).toBe(200);
  });

  test('that are saved at once do not exceed it together', async () => {
    await set({ versionBytes: 50_000 });
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        admin(n % 2).post('T/workflows', { title: `W${n}`, nodes: nodes(20_000), edges }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 429, 429, 429, 429]);
  });

  test('make room when they are deleted, also many of several tenants in one statement', async () => {
    const other = await aTenant(cluster);
    await cluster.pool.query(
      `insert into workflow_version (id, tenant_id, nodes, edges, options, created_at)
       select gen_random_uuid(), tenant, '[]', '[]', jsonb_build_object('notes', repeat('x', 10000)), now()
       from unnest($1::uuid[]) tenant, generate_series(1, 20)`,
      [[tenant.id, other.id]],
    );
    expect(await used()).toBeGreaterThan(200_000);
    await cluster.pool.query('delete from workflow_version where tenant_id = any($1::uuid[])', [[tenant.id, other.id]]);
    expect(await used()).toBe(0);
  });
});

test('inputs of runs in flight have a quota of their bytes', async () => {
  const workflow = await aWorkflow(cluster, { tenant });
  const text = randomBytes(30_000).toString('base64');
  const execute = (api = 0) => admin(api).post(`T/workflows/${workflow.id}/execute`, { args: { text } });
  await set({ runBytes: 100_000 });
  const first = await execute();
  expect(first.status).toBe(200);
  expect((await execute()).status).toBe(200);

  const bulk = { items: [{ args: { text } }, { args: {} }] };
  const answer = await execute();
  expect(answer.body.error).toMatchObject({
    code: 'QUOTA_EXCEEDED',
    message: expect.stringMatching(/bytes of inputs of runs in flight: .+ stop some, or ask an operator/),
    details: { quota: 'runBytes', max: 100_000 },
  });
  const refused = await admin(1).post(`T/workflows/${workflow.id}/execute/bulk`, bulk);
  expect(refused.body).toMatchObject({ accepted: 0 });
  const { used } = (await admin().get('T/quotas')).body.quotas.runBytes;
  expect(used).toBeGreaterThan(70_000);
  expect(used).toBeLessThan(90_000);

  await admin().delete(`T/workflows/instances/${first.body.instanceID}/stop`);
  await eventually(async () => expect((await execute()).status).toBe(200));
});

test('a user may create a number of tenants, which operators raise', async () => {
  const user = await aUser(cluster);
  const path = `/api/v1/operator/users/${user.id}/quotas`;
  await cluster.asOperator(operator).patch(path, { tenants: 1 });
  const create = () => cluster.as(user).post('/api/v1/tenants', { tenantTitle: 'Another' });

  const answers = await Promise.all([create(), create(), create()]);

  expect(answers.map(({ status }) => status).sort()).toEqual([201, 429, 429]);
  expect(answers.find(({ status }) => status === 429)?.body.error).toMatchObject({
    code: 'QUOTA_EXCEEDED',
    details: { quota: 'tenants', max: 1, used: 1 },
  });
  expect((await cluster.asOperator(operator).patch(path, { tenants: null })).body.quotas).toEqual({
    tenants: { max: 200, used: 1, isDefault: true },
  });
  expect((await create()).status).toBe(201);
});

test('operators list tenants; a member without tenant.read sees no quotas', async () => {
  const { body } = await cluster.asOperator(operator).get('/api/v1/operator/tenants?pageSize=100');
  expect(body.tenants).toContainEqual({
    tenantID: tenant.id,
    tenantTitle: 'A tenant',
    creatorID: tenant.creator.id,
    createdAt: expect.any(String),
    isDeleting: false,
  });
  const member = await aMember(cluster, { tenant });
  expect((await cluster.as(member).in(tenant).get('T/quotas')).status).toBe(403);
  expect((await cluster.as(tenant.creator).get('/api/v1/operator/tenants')).status).toBe(401);
  expect((await set({ unknown: 1 })).status).toBe(400);
  expect((await set({ workflows: -1 })).status).toBe(400);
  const nowhere = `/api/v1/operator/tenants/${tenant.creator.id}/quotas`;
  expect((await cluster.asOperator(operator).get(nowhere)).status).toBe(404);
});

describe('the share and the limit of a tenant', () => {
  const grant = (dispatch: object, of = tenant.id) =>
    cluster.asOperator(operator).patch(`/api/v1/operator/tenants/${of}/dispatch`, dispatch);

  beforeEach(async () => {
    await cluster.pool.query('delete from workflow_instance; delete from worker_session');
    await cluster.pool.query(
      `insert into worker_session (id, expires_at, slots, version) values ($1, now() + interval '1 hour', 16, 't')`,
      [newID()],
    );
  });

  /** Accepts runs of the tenants in turn and dispatches as many as the window takes; returns the number of each tenant. */
  async function accepted(count: number, tenants: readonly TestTenant[]): Promise<number[]> {
    const runs = Array.from({ length: count }, () =>
      tenants.map(({ id }) => cluster.newRun(newID(), {}, { tenantID: id, class: 'batch' })),
    );
    await cluster.runs.acceptMany(runs.flat());
    return await afterDispatch(tenants);
  }

  async function afterDispatch(tenants: readonly TestTenant[]): Promise<number[]> {
    // The rows say what is accepted, also if the queue is slow to take the jobs.
    await cluster.runs.dispatchQueued().catch(() => undefined);
    const { rows } = await cluster.pool.query<{ id: string; n: number }>(
      'select tenant_id as id, count(*)::int as n from workflow_instance where dispatched_at is not null group by 1',
    );
    return tenants.map(({ id }) => rows.find((row) => row.id === id)?.n ?? 0);
  }

  test('as operators grant it counts at the next dispatch, and the tenant may set a lower one', async () => {
    expect((await grant({ maxRuns: 4 })).body.dispatch).toEqual({
      weight: 1,
      maxRuns: 4,
      grantedMaxRuns: 4,
      ownMaxRuns: null,
    });
    expect((await admin().patch('T/dispatch', { maxRuns: 2 })).body.dispatch).toMatchObject({ maxRuns: 2 });

    expect(await accepted(10, [tenant])).toEqual([2]);
    await admin().patch('T/dispatch', { maxRuns: null });
    expect(await afterDispatch([tenant])).toEqual([4]);
    await grant({ maxRuns: null });
    expect(await afterDispatch([tenant])).toEqual([10]);
    expect((await admin().get('T/dispatch')).body.dispatch).toMatchObject({ maxRuns: null, grantedMaxRuns: null });
  });

  test('by weight counts at the next dispatch', async () => {
    const other = await aTenant(cluster);
    await grant({ weight: 3 });

    const [own = 0, others = 0] = await accepted(40, [tenant, other]);

    expect(own + others).toBe(18);
    expect(own / others).toBeGreaterThan(2);
  });

  test('is refused by the name of the field, and stays the lower one if operators grant less later', async () => {
    await grant({ maxRuns: 10 });
    const member = await aMember(cluster, { tenant, can: ['tenant.read'] });
    for (const [client, body] of [
      [admin(), { maxRuns: 11 }],
      [admin(), { maxRuns: 0 }],
    ] as const) {
      const { status, body: answer } = await client.patch('T/dispatch', body);
      expect([status, answer.error.details.issues[0].path]).toEqual([400, ['maxRuns']]);
    }
    for (const weight of [0, 101, null]) {
      const { status, body } = await grant({ weight });
      expect([status, body.error.details.issues[0].path]).toEqual([400, ['weight']]);
    }
    expect((await cluster.as(member).in(tenant).patch('T/dispatch', { maxRuns: 1 })).status).toBe(403);
    expect((await grant({ maxRuns: 1 }, newID())).status).toBe(404);

    await admin().patch('T/dispatch', { maxRuns: 8 });
    await grant({ maxRuns: 5 });
    expect((await admin().get('T/dispatch')).body.dispatch).toMatchObject({ maxRuns: 5, ownMaxRuns: 8 });
  });
});
