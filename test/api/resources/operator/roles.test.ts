import { afterAll, beforeAll, expect, test } from 'vitest';
import { permissions } from '#shared/access/policy/permissions.ts';
import { newID } from '#shared/core/ids.ts';
import type { Client } from '../../../support/client.ts';
import { type Cluster, startCluster } from '../../../support/cluster.ts';
import { aMember, anOperator, aRole, aTenant, type TestTenant } from '../../../support/factories.ts';

/** Roles as operators manage them. test/api/every-refusal.test.ts checks that only operators may. */
let cluster: Cluster;
let operator: Client;
beforeAll(async () => {
  cluster = await startCluster({ workers: false, apis: 2 });
  operator = cluster.asOperator(await anOperator(cluster));
});
afterAll(() => cluster[Symbol.asyncDispose]());

const path = '/api/v1/operator/roles';
const invalid = { status: 400, body: { error: { code: 'VALIDATION_ERROR' } } };

async function create(...rolePermissions: string[]): Promise<{ id: string }> {
  const answer = await operator.post(path, { roleName: 'Everywhere', rolePermissions });
  expect(answer).toMatchObject({ status: 201, body: { role: { isGlobal: true, tenantID: null, creatorID: null } } });
  return answer.body.role;
}

async function assign(tenant: TestTenant, role: { id: string }) {
  const member = await aMember(cluster, { tenant });
  const api = cluster.as(tenant.creator).in(tenant);
  const answer = await api.patch(`T/users/${member.id}/roles`, { roleIDs: [role.id] });
  expect(answer.status).toBe(200);
  return (method: string, at: string) =>
    Promise.all(
      cluster.apis.map(async ({ baseURL }) => {
        const { status } = await cluster.as(member, { baseURL }).in(tenant).request(method, at);
        return status;
      }),
    );
}

test('a role of an operator is assigned, changed and deleted in every tenant', async () => {
  const role = await create('workflow.list');
  const tenants = await Promise.all([0, 1, 2].map(() => aTenant(cluster)));
  const members = await Promise.all(tenants.map((tenant) => assign(tenant, role)));
  for (const ask of members) expect(await ask('get', 'T/workflows')).toEqual([200, 200]);

  const changed = await operator.patch(`${path}/${role.id}`, { rolePermissions: ['user.list'], roleName: 'Users' });

  expect(changed.body.role).toMatchObject({ roleName: 'Users', rolePermissions: ['user.list'] });
  for (const ask of members) {
    expect(await ask('get', 'T/workflows')).toEqual([403, 403]);
    expect(await ask('get', 'T/users')).toEqual([200, 200]);
  }

  expect(await operator.delete(`${path}/${role.id}`)).toMatchObject({ status: 200 });

  for (const ask of members) expect(await ask('get', 'T/users')).toEqual([403, 403]);
  expect(await operator.delete(`${path}/${role.id}`)).toMatchObject({ status: 404 });
  const { rowCount } = await cluster.context.pool.query('select from policy_rule where $1 in (subject, role)', [
    `role:${role.id}`,
  ]);
  expect(rowCount).toBe(0);
});

test('operators change and delete a role of a tenant, too', async () => {
  const tenant = await aTenant(cluster);
  const role = await aRole(cluster, { tenant, can: ['workflow.list'] });
  const ask = await assign(tenant, role);

  await operator.patch(`${path}/${role.id}`, { rolePermissions: ['user.list'] });
  expect(await ask('get', 'T/workflows')).toEqual([403, 403]);
  expect(await ask('get', 'T/users')).toEqual([200, 200]);

  await operator.delete(`${path}/${role.id}`);
  expect(await ask('get', 'T/users')).toEqual([403, 403]);
});

test('the list holds global roles and those of all tenants, and can be filtered by tenant', async () => {
  const [tenant, other] = [await aTenant(cluster), await aTenant(cluster)];
  const [own, theirs] = [await aRole(cluster, { tenant }), await aRole(cluster, { tenant: other })];
  const global = await create();

  const { roles } = (await operator.get(path)).body;
  const ids = roles.map(({ id }: { id: string }) => id);

  expect(ids).toEqual(expect.arrayContaining([own.id, theirs.id, global.id]));
  expect((await operator.get(`${path}?tenantID=${tenant.id}`)).body).toMatchObject({
    totalCount: 1,
    roles: [{ id: own.id, tenantID: tenant.id }],
  });
  const { body } = await operator.get(`${path}?limit=1`);
  expect(body.roles).toMatchObject([{ id: global.id }]);
  expect((await operator.get(`${path}?limit=1&cursor=${body.nextCursor}`)).body.roles).toMatchObject([
    { id: theirs.id },
  ]);
});

test('a global role grants nothing on an asset of a tenant', async () => {
  const asset = { resourceType: 'workflow', resourceID: newID(), action: 'read' };
  const role = await create();

  for (const body of [
    { roleName: 'R', rolePermissions: [], assetPermissions: [asset] },
    { roleName: 'R', rolePermissions: [`tenant:asset:workflow:${newID()}:read`] },
  ]) {
    expect(await operator.post(path, body)).toMatchObject(invalid);
    expect(await operator.patch(`${path}/${role.id}`, body)).toMatchObject(invalid);
  }
});

test('after two concurrent changes, the rules match the stored role', async () => {
  const role = await create('audit.list');
  const tenant = await aTenant(cluster);
  await assign(tenant, role);

  const wanted = [['workflow.list'], ['user.list'], ['role.list', 'role.read'], []];
  await Promise.all(wanted.map((rolePermissions) => operator.patch(`${path}/${role.id}`, { rolePermissions })));

  const synced = await cluster.as(tenant.creator).in(tenant).post('T/roles/sync-policies');
  expect(synced.body).toMatchObject({ added: 0, removed: 0, roles: [] });
});

test('the catalogue is that of the code, and cannot be extended', async () => {
  const at = '/api/v1/operator/permissions';

  expect((await operator.get(at)).body).toEqual({ success: true, permissions: [...permissions] });
  expect(await operator.post(at, { permissionTitle: 'tenant:workflow:fly' })).toMatchObject({
    status: 404,
    body: { error: { code: 'INVALID_REQUEST' } },
  });
});
