/** The roles that a new tenant has, and what they let their members do. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readyRoles } from '#api/people/ready-roles.ts';
import type { Client } from '../../support/client.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { denied } from '../../support/error-answers.ts';
import { aMember, aRole, aTenant, aUser, aWorkflow, type TestTenant } from '../../support/factories.ts';

let cluster: Cluster;
let tenant: TestTenant;
let api: Client;

beforeAll(async () => {
  cluster = await startCluster({ workers: false });
  const creator = await aUser(cluster);
  const made = await cluster.as(creator).post('/api/v1/tenants', { tenantTitle: 'New' });
  tenant = { id: made.body.tenant.id, creator };
  api = cluster.as(creator).in(tenant);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const names = readyRoles.map(({ roleName }) => roleName);

async function rolesOf(client: Client): Promise<Record<string, unknown>[]> {
  return (await client.get('T/roles?pageSize=100')).body.roles;
}

/** A member with one of the ready roles. */
async function memberWith(roleName: string): Promise<Client> {
  const member = await aMember(cluster, { tenant });
  const roleID = (await rolesOf(api)).find((role) => role.roleName === roleName)?.roleID;
  const { users } = (await api.get('T/users?pageSize=100')).body;
  const { tenantUserID } = users.find(({ userID }: { userID: string }) => userID === member.id);
  expect(await api.patch(`T/users/${tenantUserID}/roles`, { roleIDs: [roleID] })).toMatchObject({ status: 200 });
  return cluster.as(member).in(tenant);
}

test('a new tenant has them as ordinary roles of its own, with the rules that they stand for', async () => {
  const roles = await rolesOf(api);
  expect(roles.map(({ roleName }) => roleName).sort()).toEqual([...names].sort());
  for (const { roleName, roleDescription, permissions } of readyRoles)
    expect(roles).toContainEqual(
      expect.objectContaining({
        ...{ roleName, roleDescription, rolePermissions: permissions, assetPermissions: [] },
        ...{ isGlobal: false, tenantID: tenant.id, creatorID: tenant.creator.id },
      }),
    );
  expect((await api.post('T/roles/sync-policies')).body).toMatchObject({ added: 0, removed: 0 });

  const other = (await cluster.as(tenant.creator).post('/api/v1/tenants', { tenantTitle: 'Other' })).body.tenant;
  const own = cluster.as(tenant.creator).in(other);
  const [first, second] = await rolesOf(own);
  expect(await own.patch(`T/roles/${first?.id}`, { roleName: 'Renamed', rolePermissions: [] })).toMatchObject({
    status: 200,
  });
  expect(await own.delete(`T/roles/${second?.id}`)).toMatchObject({ status: 200 });
  expect(await rolesOf(own)).toHaveLength(3);
  expect((await own.post('T/roles/sync-policies')).body).toMatchObject({ added: 0, removed: 0 });
});

const lists = [
  ...['workflows', 'workflows/instances', 'queries', 'datasources', 'cronjobs', 'listeners', 'variables', 'widgets'],
  ...['dashboards', 'app-pages', 'users', 'folders?entityType=workflow'],
];

test('a viewer reads every list of what is built, and changes, starts and manages nothing', async () => {
  const workflow = await aWorkflow(cluster, { tenant });
  const viewer = await memberWith('Viewer');
  for (const list of lists) expect([list, (await viewer.get(`T/${list}`)).status]).toEqual([list, 200]);
  expect(await viewer.get(`T/workflows/${workflow.id}`)).toMatchObject({ status: 200 });
  for (const path of ['roles', 'apikeys', 'audit']) expect(await viewer.get(`T/${path}`)).toMatchObject(denied);
  expect(await viewer.post(`T/workflows/${workflow.id}/execute`, {})).toMatchObject(denied);
  expect(await viewer.patch(`T/workflows/${workflow.id}`, { title: 'Mine' })).toMatchObject(denied);
  expect(await viewer.post('T/variables', { name: 'A', value: '1' })).toMatchObject(denied);
});

test('an operator of runs starts and cancels them, and changes no definition', async () => {
  const workflow = await aWorkflow(cluster, { tenant });
  const operator = await memberWith('Operator of runs');
  for (const list of lists) expect([list, (await operator.get(`T/${list}`)).status]).toEqual([list, 200]);
  const started = await operator.post(`T/workflows/${workflow.id}/execute`, {});
  expect(started).toMatchObject({ status: 200 });
  const stopped = await operator.delete(`T/workflows/instances/${started.body.instanceID}/stop`);
  expect(stopped).toMatchObject({ status: 200 });
  expect(await operator.patch(`T/workflows/${workflow.id}`, { title: 'Mine' })).toMatchObject(denied);
  expect(await operator.post('T/workflows', { title: 'Mine' })).toMatchObject(denied);
});

test('a builder builds and runs, and manages no people and no settings', async () => {
  const builder = await memberWith('Builder');
  const workflow = (await builder.post('T/workflows', { title: 'Mine' })).body.workflow;
  expect(await builder.patch(`T/workflows/${workflow.id}`, { title: 'Still mine' })).toMatchObject({ status: 200 });
  expect(await builder.post('T/variables', { name: 'BUILT', value: '1' })).toMatchObject({ status: 201 });
  for (const path of ['roles', 'apikeys', 'audit']) expect(await builder.get(`T/${path}`)).toMatchObject(denied);
  expect(await builder.patch('T/', { tenantTitle: 'Theirs' })).toMatchObject(denied);
  expect(await builder.post('T/users', { userEmail: 'one@example.test' })).toMatchObject(denied);
});

test('an admin does everything, and gives it to others', async () => {
  const admin = await memberWith('Admin');
  expect(await admin.patch('T/', { tenantTitle: 'Theirs' })).toMatchObject({ status: 200 });
  expect(await admin.post('T/roles', { roleName: 'All', rolePermissions: ['*'] })).toMatchObject({ status: 201 });
});

test('a tenant without them gets the missing ones once, however many ask at once', async () => {
  const old = await aTenant(cluster);
  const client = cluster.as(old.creator).in(old);
  const builder = (await client.post('T/roles', { roleName: 'Builder', rolePermissions: [] })).body.role;
  const answers = await Promise.all([1, 2, 3].map(() => client.post('T/roles/ready')));
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
  expect(answers.map(({ body }) => body.roles.length).sort()).toEqual([0, 0, 3]);
  const roles = await rolesOf(client);
  expect(roles.map(({ roleName }) => roleName).sort()).toEqual([...names].sort());
  expect(roles).toContainEqual(expect.objectContaining({ id: builder.id, rolePermissions: [] }));
  expect((await client.post('T/roles/sync-policies')).body).toMatchObject({ added: 0, removed: 0 });
});

test('a role of the deployment with such a name does not stand in for one of the tenant', async () => {
  const global = await aRole(cluster, { tenant: null, roleName: 'Viewer', can: ['workflow.read'] });
  const old = await aTenant(cluster);
  const client = cluster.as(old.creator).in(old);
  expect((await client.post('T/roles/ready')).body.roles).toHaveLength(readyRoles.length);
  await cluster.pool.query('delete from role where id = $1', [global.id]);
});

test('only who holds all that they grant may add them, and a quota counts them', async () => {
  const old = await aTenant(cluster);
  const member = await aMember(cluster, { tenant: old, can: ['role.create', 'role.list', 'workflow.read'] });
  expect(await cluster.as(member).in(old).post('T/roles/ready')).toMatchObject(denied);
  const client = cluster.as(old.creator).in(old);
  await cluster.pool.query(`insert into quota (owner_id, name, max) values ($1, 'roles', 3)`, [old.id]);
  expect(await client.post('T/roles/ready')).toMatchObject({ status: 429 });
  expect(await rolesOf(client)).toEqual([]);
});
