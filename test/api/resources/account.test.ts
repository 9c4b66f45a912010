import { afterAll, beforeAll, expect, test } from 'vitest';
import { newID } from '#shared/core/ids.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aMember, aTenant, aUser } from '../../support/factories.ts';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ workers: false });
});

afterAll(() => cluster[Symbol.asyncDispose]());

test('a new user is stored by their first request', async () => {
  const email = `${newID()}@example.test`;

  const answer = await cluster.as({ email }).get('/api/v1/auth');

  expect(answer.status).toBe(200);
  expect(answer.body).toMatchObject({ success: true, user: { email, isDisabled: false, firstName: null } });
});

test('a configuration is kept per user and tenant, and is empty at first', async () => {
  const tenant = await aTenant(cluster);
  const member = await aMember(cluster, { tenant });
  const path = `/api/v1/auth/config/${tenant.id}`;
  const config = { theme: 'dark', nested: { columns: ['a', 'b'], at: null } };

  const before = await cluster.as(member).get(path);
  const saved = await cluster.as(member).post(path, { config });
  const after = await cluster.as(member).get(path);
  const another = await cluster.as(tenant.creator).get(path);

  expect(before.body).toMatchObject({ userConfig: { config: {}, updatedAt: null } });
  expect(saved).toMatchObject({ status: 200, body: { tenantID: tenant.id, userConfig: { config } } });
  expect(after.body).toMatchObject({ userConfig: { tenantID: tenant.id, userID: member.id, config } });
  expect(another.body).toMatchObject({ userConfig: { config: {} } });
});

test('saving a configuration replaces it, also when two requests do so at once', async () => {
  const tenant = await aTenant(cluster);
  const api = cluster.as(tenant.creator);
  const path = `/api/v1/auth/config/${tenant.id}`;

  const answers = await Promise.all([1, 2, 3, 4].map((n) => api.post(path, { config: { [`only${n}`]: n } })));
  const { body } = await api.get(path);

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(Object.keys(body.userConfig.config)).toHaveLength(1);
});

test("the configuration of an unknown tenant, or of another user's tenant, is a 404", async () => {
  const tenant = await aTenant(cluster);
  const stranger = await aUser(cluster);

  for (const id of [tenant.id, newID()]) {
    const path = `/api/v1/auth/config/${id}`;
    for (const answer of [await cluster.as(stranger).get(path), await cluster.as(stranger).post(path, { config: {} })])
      expect(answer).toMatchObject({ status: 404, body: { success: false, error: { code: 'NOT_FOUND' } } });
  }
});

test('a configuration must be an object', async () => {
  const tenant = await aTenant(cluster);
  const api = cluster.as(tenant.creator);

  for (const body of [{}, { config: 'text' }, { config: [1] }, { config: null }])
    expect(await api.post(`/api/v1/auth/config/${tenant.id}`, body)).toMatchObject({
      status: 400,
      body: { error: { code: 'VALIDATION_ERROR' } },
    });
});
