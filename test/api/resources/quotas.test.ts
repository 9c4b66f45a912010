import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createResultPages } from '#workers/connections/result-pages.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import {
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
