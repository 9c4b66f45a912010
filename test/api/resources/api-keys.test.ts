import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { changeRules } from '#shared/access/policy/change.ts';
import { newID } from '#shared/core/ids.ts';
import { eventually, settle } from '#test/support/settle.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import {
  aMember,
  anApiKey,
  aRole,
  aTenant,
  aUser,
  aWorkflow,
  chain,
  type TestKey,
  type TestTenant,
} from '../../support/factories.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ apis: 2 });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const invalid = { status: 401, body: { success: false, error: { code: 'INVALID_API_KEY' } } };
const denied = { status: 403, body: { success: false, error: { code: 'PERMISSION_DENIED' } } };

const admin = () => cluster.as(tenant.creator).in(tenant);

async function create(body: object): Promise<TestKey & Record<string, unknown>> {
  const answer = await admin().post('T/apikeys', body);
  expect(answer.status).toBe(201);
  return answer.body.apiKey;
}

async function expectRefusedEverywhere(key: TestKey): Promise<void> {
  for (const { baseURL } of cluster.apis)
    expect(await cluster.withKey(key, { baseURL }).in(tenant).get('T/workflows')).toMatchObject(invalid);
}

describe('a new key', () => {
  test('is shown once, and has the given permissions and no others', async () => {
    const apiKey = await create({ apiKeyName: 'Batch', apiKeyPermissions: ['workflow.list', 'workflow.read'] });

    expect(apiKey.key).toMatch(/^[0-9a-f]{64}$/);
    expect(apiKey).toMatchObject({ apiKeyName: 'Batch', apiKeyPrefix: apiKey.key.slice(0, 8), isDisabled: false });
    const read = await admin().get(`T/apikeys/${apiKey.id}`);
    expect(read.body.apiKey).not.toHaveProperty('key');
    expect(JSON.stringify((await admin().get('T/apikeys')).body)).not.toContain(apiKey.key);

    const workflow = await aWorkflow(cluster, { tenant });
    const client = cluster.withKey(apiKey).in(tenant);
    expect((await client.get(`T/workflows/${workflow.id}`)).status).toBe(200);
    expect(await client.post(`T/workflows/${workflow.id}/execute`)).toMatchObject(denied);
    expect(await client.get('T/apikeys')).toMatchObject(denied);
  });

  test('is accepted in both headers, and the Authorization header takes precedence', async () => {
    const apiKey = await anApiKey(cluster, { tenant, can: ['workflow.list'] });
    const anonymous = cluster.as(undefined).in(tenant);

    const forms: Record<string, string>[] = [{ authorization: `api_key ${apiKey.key}` }, { 'x-api-key': apiKey.key }];
    for (const headers of forms) expect((await anonymous.get('T/workflows', headers)).status).toBe(200);
    expect(
      await anonymous.get('T/workflows', { authorization: 'Bearer nonsense', 'x-api-key': apiKey.key }),
    ).toMatchObject({ status: 401, body: { error: { code: 'USER_AUTH_TOKEN_NOT_FOUND' } } });
    for (const wrong of [
      '',
      'x',
      apiKey.key.toUpperCase(),
      `${apiKey.key.slice(0, 8)}${'0'.repeat(56)}`,
      `${apiKey.key}0`,
    ])
      expect((await anonymous.get('T/workflows', { authorization: `api_key ${wrong}` })).status).toBe(401);
  });

  test('expires after 90 days, after the requested time, or never', async () => {
    const usual = await create({ apiKeyName: 'usual' });
    const days = (Date.parse(String(usual.apiKeyExpiry)) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(89.9);
    expect(days).toBeLessThan(90.1);

    const apiKeyExpiry = new Date(Date.now() + 3_600_000).toISOString();
    expect(await create({ apiKeyName: 'an hour', apiKeyExpiry })).toMatchObject({ apiKeyExpiry });
    expect(await create({ apiKeyName: 'for ever', apiKeyExpiry: null })).toMatchObject({ apiKeyExpiry: null });
    const past = await admin().post('T/apikeys', { apiKeyName: 'past', apiKeyExpiry: '2020-01-01T00:00:00Z' });
    expect(past).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
    expect(past.body.error.message).toContain('apiKeyExpiry');
  });

  test('cannot have a permission that its creator does not hold', async () => {
    const member = await aMember(cluster, { tenant, can: ['apikey.create', 'apikey.update', 'workflow.read'] });
    const api = cluster.as(member).in(tenant);

    expect(await api.post('T/apikeys', { apiKeyName: 'k', apiKeyPermissions: ['workflow.delete'] })).toMatchObject(
      denied,
    );
    const { body } = await api.post('T/apikeys', { apiKeyName: 'k', apiKeyPermissions: ['workflow.read'] });
    const more = { apiKeyPermissions: ['workflow.read', 'workflow.delete'] };
    expect(await api.patch(`T/apikeys/${body.apiKey.id}`, more)).toMatchObject(denied);
  });

  test('accepts both spellings of a permission, and names an unknown one in the error', async () => {
    const apiKey = await create({
      apiKeyName: 'k',
      apiKeyPermissions: ['cronJob.create', 'cronjob.create', 'ai.execute'],
    });
    expect(apiKey.apiKeyPermissions).toEqual(['cronjob.create', 'ai.execute']);

    const answer = await admin().post('T/apikeys', { apiKeyName: 'k', apiKeyPermissions: ['workflow.fly'] });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
    expect(answer.body.error.message).toContain('apiKeyPermissions.0');
  });
});

describe('a permission on all of a resource, or on everything', () => {
  test('is one rule, in any letter case, and can be granted by a creator who holds all of it', async () => {
    const apiKey = await create({ apiKeyTitle: '  All workflows  ', apiKeyPermissions: ['Workflow.*', 'workflow.*'] });
    expect(apiKey).toMatchObject({ apiKeyName: 'All workflows', apiKeyPermissions: ['workflow.*'] });
    const { rows } = await cluster.pool.query('select object, action from policy_rule where subject = $1', [apiKey.id]);
    expect(rows).toEqual([{ object: 'workflow:*', action: '*' }]);
    const { id } = await aWorkflow(cluster, { tenant });
    const client = cluster.withKey(apiKey).in(tenant);
    expect((await client.delete(`T/workflows/${id}`)).status).toBe(200);
    expect(await client.get('T/apikeys')).toMatchObject(denied);

    const all = await create({ apiKeyName: 'k', apiKeyPermissions: ['*'] });
    expect((await cluster.withKey(all).in(tenant).get('T/apikeys')).status).toBe(200);
    expect((await admin().post('T/apikeys', { apiKeyName: 'k', apiKeyPermissions: ['unicorn.*'] })).status).toBe(400);
  });

  test('cannot be granted by a creator who holds only each present action, or is denied one', async () => {
    const actions = ['list', 'create', 'read', 'update', 'delete', 'execute', 'test', 'export'] as const;
    const each = actions.map((action) => `workflow.${action}` as const);
    const whole = [{ object: 'workflow:*', action: '*' }];
    const but = [...whole, { object: 'workflow:*', action: 'export', effect: 'deny' as const }];
    const ask = { apiKeyName: 'k', apiKeyPermissions: ['workflow.*'] };
    const give = async (settings: object) => {
      const member = await aMember(cluster, { tenant, ...settings });
      await grantTo(member.id, [{ object: 'apikey:*', action: 'create' }]);
      return (await cluster.as(member).in(tenant).post('T/apikeys', ask)).status;
    };

    expect([await give({ can: each }), await give({ rules: but }), await give({ rules: whole })]).toEqual([
      403, 403, 201,
    ]);
  });
});

test('the answer with a raw key is not cached, and an empty name is rejected', async () => {
  const created = await admin().post('T/apikeys', { apiKeyName: 'k' });
  const cloned = await admin().post(`T/apikeys/${created.body.apiKey.id}/clone`);
  for (const { headers } of [created, cloned]) expect(headers.get('cache-control')).toBe('no-store');

  for (const body of [{ apiKeyName: '   ' }, {}])
    expect(await admin().post('T/apikeys', body)).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('apiKeyName') } },
    });
});

test('the clone of an expired key has the lifetime of a new one', async () => {
  const expired = await anApiKey(cluster, { tenant, expiresAt: new Date(Date.now() - 1_000) });
  const { body } = await admin().post(`T/apikeys/${expired.id}/clone`);
  expect((Date.parse(body.apiKey.apiKeyExpiry) - Date.now()) / 86_400_000).toBeGreaterThan(89);
});

test('a key has a folder, and the list can be filtered by folder', async () => {
  const folderID = newID();
  const apiKey = await create({ apiKeyName: 'k', folderID });
  await create({ apiKeyName: 'elsewhere', folderID: newID() });
  const listed = async () => (await admin().get(`T/apikeys?folderID=${folderID}`)).body.apiKeys;

  expect(await listed()).toMatchObject([{ id: apiKey.id, folderID }]);
  await admin().patch(`T/apikeys/${apiKey.id}`, { folderID: null });
  expect(await listed()).toEqual([]);
  expect((await admin().get('T/apikeys?folderID=none')).body.error.message).toContain('folderID');
});

describe('roles of a key', () => {
  test('give it their permissions, at creation or by an update, until they are removed', async () => {
    const role = await aRole(cluster, { tenant, can: ['workflow.list'] });
    const apiKey = await create({ apiKeyName: 'by role', roleIDs: [role.id] });
    const client = cluster.withKey(apiKey).in(tenant);
    expect(apiKey.roleIDs).toEqual([role.id]);
    expect((await client.get('T/workflows')).status).toBe(200);

    await admin().patch(`T/apikeys/${apiKey.id}`, { roleIDs: [] });
    expect(await client.get('T/workflows')).toMatchObject(denied);

    const { body } = await admin().put(`T/apikeys/${apiKey.id}`, { roleIDs: [role.id] });
    expect(body.apiKey.roleIDs).toEqual([role.id]);
    expect((await client.get('T/workflows')).status).toBe(200);
  });

  test('cannot hold more than the caller, nor belong to another tenant', async () => {
    const strong = await aRole(cluster, { tenant, can: ['workflow.delete'] });
    const member = await aMember(cluster, { tenant, can: ['apikey.create', 'apikey.update'] });
    const api = cluster.as(member).in(tenant);
    expect(await api.post('T/apikeys', { apiKeyName: 'k', roleIDs: [strong.id] })).toMatchObject(denied);

    const foreign = await aRole(cluster, { tenant: await aTenant(cluster) });
    for (const roleIDs of [[foreign.id], [newID()]])
      expect(await admin().post('T/apikeys', { apiKeyName: 'k', roleIDs })).toMatchObject({
        status: 400,
        body: { error: { code: 'VALIDATION_ERROR', message: expect.stringContaining('roleIDs.0') } },
      });
  });
});

test('a key has a rate limit a minute over all processes, and each answer tells the rest', async () => {
  await using few = await startCluster({ workers: false, apis: 2, settings: { API_KEY_REQUESTS_PER_MINUTE: '5' } });
  const own = await aTenant(few);
  const apiKey = await anApiKey(few, { tenant: own, can: ['workflow.list'] });
  const ask = (n: number) =>
    few
      .withKey(apiKey, few.apis[n % 2])
      .in(own)
      .get('T/workflows');

  for (let n = 0; n < 5; n += 1) {
    const { status, headers } = await ask(n);
    expect(status).toBe(200);
    expect(headers.get('ratelimit-limit')).toBe('5');
    expect(headers.get('ratelimit-remaining')).toBe(String(4 - n));
  }

  for (let n = 0; n < 2; n += 1) {
    const refused = await ask(n);
    expect(refused).toMatchObject({ status: 429, body: { success: false, error: { code: 'RATE_LIMITED' } } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
  }
  const another = await anApiKey(few, { tenant: own, can: ['workflow.list'] });
  expect((await few.withKey(another).in(own).get('T/workflows')).status).toBe(200);
  expect((await few.as(own.creator).in(own).get('T/workflows')).headers.get('ratelimit-limit')).toBe('6000');
});

describe('a key is rejected at once, in every process', () => {
  test('when it is disabled or deleted, and accepted again when it is enabled', async () => {
    const apiKey = await anApiKey(cluster, { tenant, can: ['workflow.list'] });
    for (const { baseURL } of cluster.apis)
      expect((await cluster.withKey(apiKey, { baseURL }).in(tenant).get('T/workflows')).status).toBe(200);

    expect((await admin().delete(`T/apikeys/${apiKey.id}`)).status).toBe(200);

    await expectRefusedEverywhere(apiKey);
    expect((await admin().get(`T/apikeys/${apiKey.id}`)).body.apiKey.isDisabled).toBe(true);
    await admin().put(`T/apikeys/${apiKey.id}`, { isDisabled: false });
    expect((await cluster.withKey(apiKey).in(tenant).get('T/workflows')).status).toBe(200);
  });

  test('when it is deleted for good, and nothing of it is left', async () => {
    const role = await aRole(cluster, { tenant, can: ['workflow.list'] });
    const apiKey = await create({ apiKeyName: 'Gone', apiKeyPermissions: ['workflow.read'], roleIDs: [role.id] });
    const rulesOfKey = async () => {
      const sql = 'select * from policy_rule where tenant_id = $1 and (subject = $2 or object = $3)';
      return (await cluster.pool.query(sql, [tenant.id, apiKey.id, `apikey:${apiKey.id}`])).rows;
    };
    expect((await cluster.withKey(apiKey).in(tenant).get('T/workflows')).status).toBe(200);
    expect((await rulesOfKey()).length).toBeGreaterThan(2);

    expect((await admin().delete(`T/apikeys/${apiKey.id}?permanently=true`)).status).toBe(200);

    await expectRefusedEverywhere(apiKey);
    expect(await rulesOfKey()).toEqual([]);
    for (const answer of [
      await admin().get(`T/apikeys/${apiKey.id}`),
      await admin().delete(`T/apikeys/${apiKey.id}`),
      await admin().delete(`T/apikeys/${apiKey.id}?permanently=true`),
      await admin().put(`T/apikeys/${apiKey.id}`, { isDisabled: false }),
    ])
      expect(answer).toMatchObject({ status: 404, body: { error: { code: 'NOT_FOUND' } } });
  });

  test('when it expires', async () => {
    const apiKey = await anApiKey(cluster, {
      tenant,
      can: ['workflow.list'],
      expiresAt: new Date(Date.now() + 60_000),
    });
    expect((await cluster.withKey(apiKey).in(tenant).get('T/workflows')).status).toBe(200);

    await cluster.pool.query('update api_key set expires_at = now() where id = $1', [apiKey.id]);

    await expectRefusedEverywhere(apiKey);
  });

  test('when its creator is blocked, with a message that says so', async () => {
    const creator = await aMember(cluster, { tenant, can: ['workflow.list'] });
    const apiKey = await anApiKey(cluster, { tenant, creator, can: ['workflow.list'] });
    expect((await cluster.withKey(apiKey).in(tenant).get('T/workflows')).status).toBe(200);

    await cluster.pool.query('update app_user set is_disabled = true where id = $1', [creator.id]);

    await expectRefusedEverywhere(apiKey);
    const { body } = await cluster.withKey(apiKey).in(tenant).get('T/workflows');
    expect(body.error.message).toContain('blocked');
  });

  test('when one of its permissions is revoked', async () => {
    const apiKey = await anApiKey(cluster, { tenant, can: ['workflow.list', 'workflow.read'] });
    await admin().patch(`T/apikeys/${apiKey.id}`, { apiKeyPermissions: [] });
    for (const { baseURL } of cluster.apis)
      expect(await cluster.withKey(apiKey, { baseURL }).in(tenant).get('T/workflows')).toMatchObject(denied);
  });

  test('when its tenant is deleted', async () => {
    const own = await aTenant(cluster);
    const apiKey = await anApiKey(cluster, { tenant: own, can: ['workflow.list'] });
    await cluster.as(own.creator).in(own).delete('T');
    expect(await cluster.withKey(apiKey).in(own).get('T/workflows')).toMatchObject(invalid);
  });
});

describe('a key has at most the permissions of its creator', () => {
  test('in decisions, in lists and in grants, from the next request on', async () => {
    const creator = await aMember(cluster, { tenant });
    await grantTo(creator.id, [{ object: '*', action: '*' }]);
    const can = ['workflow.list', 'workflow.read', 'workflow.delete', 'apikey.create'] as const;
    const apiKey = await anApiKey(cluster, { tenant, creator, can });
    const client = cluster.withKey(apiKey).in(tenant);
    const workflow = await aWorkflow(cluster, { tenant });
    const ask = { apiKeyName: 'k', apiKeyPermissions: ['workflow.delete'] };
    expect((await client.get(`T/workflows/${workflow.id}`)).status).toBe(200);
    expect((await client.post('T/apikeys', ask)).status).toBe(201);

    await revokeFrom(creator.id, [{ object: '*', action: '*' }]);
    await grantTo(creator.id, [
      { object: 'workflow:*', action: 'list' },
      { object: 'apikey:*', action: 'create' },
    ]);

    for (const { baseURL } of cluster.apis)
      expect(await cluster.withKey(apiKey, { baseURL }).in(tenant).get(`T/workflows/${workflow.id}`)).toMatchObject(
        denied,
      );
    expect((await client.get('T/workflows')).body).toMatchObject({ workflows: [], totalCount: 0 });
    expect(await client.delete(`T/workflows/${workflow.id}`)).toMatchObject(denied);
    expect(await client.post('T/apikeys', ask)).toMatchObject(denied);
  });

  test('so a former admin cannot become admin again with an older key', async () => {
    const own = await aTenant(cluster);
    const second = await aMember(cluster, { tenant: own });
    const asFirst = cluster.as(own.creator).in(own);
    const promote = { roleIDs: [], userTenantRelationship: 'ADMIN' };
    expect((await asFirst.patch(`T/users/${second.id}/roles`, promote)).status).toBe(200);
    const permissions = ['user.update', 'user.read', 'user.list'];
    const made = await cluster
      .as(second)
      .in(own)
      .post('T/apikeys', { apiKeyName: 'k', apiKeyPermissions: permissions });
    const demote = { roleIDs: [], userTenantRelationship: 'MEMBER' };
    expect((await asFirst.patch(`T/users/${second.id}/roles`, demote)).status).toBe(200);

    const answer = await cluster.withKey(made.body.apiKey).in(own).patch(`T/users/${second.id}/roles`, promote);

    expect(answer).toMatchObject(denied);
  });

  test('and a deny rule on either of them applies to it', async () => {
    const workflow = await aWorkflow(cluster, { tenant });
    const rule = { object: `workflow:${workflow.id}`, action: 'read', effect: 'deny' } as const;
    for (const denies of ['key', 'creator']) {
      const creator = await aMember(cluster, { tenant, can: ['workflow.read', 'workflow.list'] });
      const apiKey = await anApiKey(cluster, { tenant, creator, can: ['workflow.read', 'workflow.list'] });
      const client = cluster.withKey(apiKey).in(tenant);
      expect((await client.get(`T/workflows/${workflow.id}`)).status).toBe(200);

      await grantTo(denies === 'key' ? apiKey.id : creator.id, [rule]);

      expect(await client.get(`T/workflows/${workflow.id}`)).toMatchObject(denied);
      const { workflows } = (await client.get('T/workflows?pageSize=100')).body;
      expect(workflows.length).toBeGreaterThan(0);
      expect(workflows.map(({ id }: { id: string }) => id)).not.toContain(workflow.id);
    }
  });
});

test('a key whose creator has left has lost its permissions, also when the creator comes back', async () => {
  const creator = await aMember(cluster, { tenant, can: ['workflow.list'] });
  const role = await aRole(cluster, { tenant, can: ['workflow.list'] });
  const apiKey = await anApiKey(cluster, { tenant, creator, can: ['workflow.list'] });
  await admin().patch(`T/apikeys/${apiKey.id}`, { roleIDs: [role.id] });
  expect((await cluster.withKey(apiKey).in(tenant).get('T/workflows')).status).toBe(200);

  expect((await admin().delete(`T/users/${creator.id}`)).status).toBe(200);

  await expectRefusedEverywhere(apiKey);
  await aMember(cluster, { tenant, user: creator, can: ['workflow.list'] });
  await expectRefusedEverywhere(apiKey);
  const { body } = await admin().get(`T/apikeys/${apiKey.id}`);
  expect(body.apiKey).toMatchObject({ isDisabled: true, apiKeyPermissions: [], roleIDs: [] });
  const { rows } = await cluster.pool.query('select from policy_rule where tenant_id = $1 and subject = $2', [
    tenant.id,
    apiKey.id,
  ]);
  expect(rows).toEqual([]);
});

test('extending a key requires all of its permissions', async () => {
  const inAnHour = (hours: number) => new Date(Date.now() + hours * 3_600_000);
  const apiKey = await anApiKey(cluster, { tenant, can: ['workflow.delete'], expiresAt: inAnHour(2) });
  const expired = await anApiKey(cluster, { tenant, can: ['workflow.delete'], expiresAt: inAnHour(-1) });
  const member = await aMember(cluster, { tenant, can: ['apikey.update', 'apikey.read'] });
  const api = cluster.as(member).in(tenant);

  for (const apiKeyExpiry of [inAnHour(3).toISOString(), null])
    for (const { id } of [apiKey, expired])
      expect(await api.patch(`T/apikeys/${id}`, { apiKeyExpiry })).toMatchObject(denied);
  expect((await api.patch(`T/apikeys/${apiKey.id}`, { apiKeyExpiry: inAnHour(1).toISOString() })).status).toBe(200);
  expect((await admin().patch(`T/apikeys/${expired.id}`, { apiKeyExpiry: null })).status).toBe(200);
  expect((await cluster.withKey(expired).in(tenant).get('T/workflows')).status).toBe(403);
});

describe('a key is not accepted', () => {
  test('in another tenant, even in one of its creator', async () => {
    const apiKey = await anApiKey(cluster, { tenant, can: ['workflow.list'] });
    const other = await aTenant(cluster, { creator: tenant.creator });

    expect(await cluster.withKey(apiKey).in(other).get('T/workflows')).toMatchObject(denied);
    expect(await cluster.withKey(apiKey).in({ id: newID() }).get('T/workflows')).toMatchObject(denied);
  });

  test('outside of tenants, and as the bearer token of a user', async () => {
    const apiKey = await anApiKey(cluster, { tenant, can: ['workflow.list'] });
    const refused = { status: 401, body: { error: { code: 'USER_AUTH_TOKEN_NOT_FOUND' } } };

    expect(await cluster.withKey(apiKey).get('/api/v1/auth')).toMatchObject(refused);
    expect(await cluster.withKey(apiKey).get('/api/v1/tenants')).toMatchObject(refused);
    const asBearer = cluster
      .as(undefined)
      .in(tenant)
      .get('T/workflows', { authorization: `Bearer ${apiKey.key}` });
    expect(await asBearer).toMatchObject(refused);
  });
});

describe('the actions of a key', () => {
  test("are recorded as the key's: key and creator own the assets, and runs continue as the key", async () => {
    const apiKey = await anApiKey(cluster, { tenant, can: ['workflow.create', 'workflow.list'] });
    const client = cluster.withKey(apiKey).in(tenant);

    const { body } = await client.post('T/workflows', { title: 'Made by a key', ...chain() });

    expect(body.workflow).toMatchObject({ creatorID: tenant.creator.id, createdByApiKeyID: apiKey.id });
    const run = await client.post(`T/workflows/${body.workflow.id}/execute?wait=20`, {});
    expect(run).toMatchObject({ status: 200, body: { status: 'COMPLETED' } });
    const { rows } = await cluster.pool.query('select caller from workflow_instance where id = $1', [
      run.body.instanceID,
    ]);
    expect(rows[0].caller).toMatchObject({
      type: 'apiKey',
      id: apiKey.id,
      userID: tenant.creator.id,
      origin: 'direct',
    });
  });

  test("in a sub-workflow are checked as the key's: the rights of its creator are not enough", async () => {
    const child = await aWorkflow(cluster, { tenant });
    const parent = await aWorkflow(cluster, {
      tenant,
      ...chain({ call: { type: 'subWorkflow', childWorkflowID: child.id } }),
    });
    const weak = await anApiKey(cluster, { tenant, can: [] });
    await grantTo(weak.id, [{ object: `workflow:${parent.id}`, action: 'execute' }]);

    const refused = await cluster.withKey(weak).in(tenant).post(`T/workflows/${parent.id}/execute?wait=20`, {});
    expect(refused).toMatchObject(denied);

    await grantTo(weak.id, [{ object: `workflow:${child.id}`, action: 'execute' }]);
    const allowed = await cluster.withKey(weak).in(tenant).post(`T/workflows/${parent.id}/execute?wait=20`, {});
    expect(allowed.body).toMatchObject({ status: 'COMPLETED' });
  });

  test('end with the key: a run in progress calls nothing further on its behalf', async () => {
    const child = await aWorkflow(cluster, { tenant });
    const steps = {
      first: { type: 'delay', delaySeconds: 1 },
      call: { type: 'subWorkflow', childWorkflowID: child.id },
    };
    const parent = await aWorkflow(cluster, { tenant, ...chain(steps) });
    const apiKey = await anApiKey(cluster, { tenant, can: ['workflow.execute'] });
    const { body } = await cluster.withKey(apiKey).in(tenant).post(`T/workflows/${parent.id}/execute`, {});

    await admin().delete(`T/apikeys/${apiKey.id}`);

    await settle(cluster.pool);
    const run = await admin().get(`T/workflows/instances/${body.instanceID}`);
    expect(run.body).toMatchObject({ status: 'FAILED', error: { code: 'NODE_FAILED', nodeID: 'call' } });
  });

  test('update the time of its last use', async () => {
    const apiKey = await anApiKey(cluster, { tenant, can: ['workflow.list'] });
    expect((await admin().get(`T/apikeys/${apiKey.id}`)).body.apiKey.lastUsedAt).toBeNull();

    await cluster.withKey(apiKey).in(tenant).get('T/workflows');

    await eventually(async () => {
      const { lastUsedAt } = (await admin().get(`T/apikeys/${apiKey.id}`)).body.apiKey;
      expect(Date.now() - Date.parse(lastUsedAt)).toBeLessThan(30_000);
    });
  });
});

test('a clone has the same permissions and a key of its own, and is disabled at first', async () => {
  const apiKey = await anApiKey(cluster, { tenant, can: ['workflow.list'] });

  const { status, body } = await admin().post(`T/apikeys/${apiKey.id}/clone`);

  expect(status).toBe(201);
  expect(body.apiKey).toMatchObject({ apiKeyName: 'A key (Copy)', isDisabled: true });
  expect(body.apiKey.key).not.toBe(apiKey.key);
  await expectRefusedEverywhere(body.apiKey);
  await admin().patch(`T/apikeys/${body.apiKey.id}`, { isDisabled: false });
  expect((await cluster.withKey(body.apiKey).in(tenant).get('T/workflows')).status).toBe(200);
});

test('a key with every permission still is not its creator: it cannot make another key stronger than itself', async () => {
  const maker = await anApiKey(cluster, { tenant, can: ['apikey.create', 'workflow.read'] });
  const client = cluster.withKey(maker).in(tenant);

  expect(await client.post('T/apikeys', { apiKeyName: 'k', apiKeyPermissions: ['workflow.delete'] })).toMatchObject(
    denied,
  );
  const { body } = await client.post('T/apikeys', { apiKeyName: 'k', apiKeyPermissions: ['workflow.read'] });
  expect(body.apiKey).toMatchObject({ creatorID: tenant.creator.id, createdByApiKeyID: maker.id });
});

test('lists show the keys that the caller may read, and can be searched by name', async () => {
  const own = await aTenant(cluster);
  const mine = await anApiKey(cluster, { tenant: own });
  const member = await aMember(cluster, { tenant: own, can: ['apikey.list'], rules: [] });
  const none = await cluster.as(member).in(own).get('T/apikeys');
  expect(none.body).toMatchObject({ apiKeys: [] });
  const all = await cluster.as(own.creator).in(own).get('T/apikeys?search=KEY');
  expect(all.body.apiKeys.map(({ id }: { id: string }) => id)).toEqual([mine.id]);
  expect(
    (
      await cluster
        .as(await aUser(cluster))
        .in(own)
        .get('T/apikeys')
    ).status,
  ).toBe(403);
});

type Granted = { object: string; action: string; effect?: 'allow' | 'deny' };

async function grantTo(subject: string, rules: readonly Granted[]): Promise<void> {
  const em = tenantEntityManager(cluster.context.orm.em, tenant.id);
  await changeRules(em, tenant.id, { add: rules.map((rule) => ({ ...rule, subject })) });
}

async function revokeFrom(subject: string, rules: readonly Granted[]): Promise<void> {
  const em = tenantEntityManager(cluster.context.orm.em, tenant.id);
  await changeRules(em, tenant.id, { remove: rules.map((rule) => ({ ...rule, subject })) });
}
