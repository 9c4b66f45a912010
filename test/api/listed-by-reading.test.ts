/** Who may read one asset finds it in lists, search and news, without a permission on the lists. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { denied } from '../support/error-answers.ts';
import { aMember, anApiKey, aRole, aTenant, aWorkflow, type TestTenant } from '../support/factories.ts';
import { paramFixture } from '../support/route-fixtures.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: ['workflow.runs'] });
  tenant = await aTenant(cluster);
});
afterAll(() => cluster[Symbol.asyncDispose]());

const types = [
  ['workflow', 'workflows', 'workflows', 'workflowID'],
  ['dataquery', 'queries', 'dataQueries', 'dataQueryID'],
  ['datasource', 'datasources', 'datasources', 'datasourceID'],
  ['cronjob', 'cronjobs', 'cronJobs', 'cronJobID'],
  ['listener', 'listeners', 'listeners', 'listenerID'],
  ['widget', 'widgets', 'widgets', 'widgetID'],
  ['dashboard', 'dashboards', 'dashboards', 'dashboardID'],
  ['appPage', 'app-pages', 'appPages', 'appPageID'],
  ['variable', 'variables', 'variables', 'variableID'],
  ['role', 'roles', 'roles', 'roleID'],
  ['apikey', 'apikeys', 'apiKeys', 'apiKeyID'],
] as const;

describe.each(types)('of a %s', (type, path, rows, made) => {
  test('the list has the one that may be read, unless a rule denies the list', async () => {
    const one = await paramFixture(made)(cluster, tenant);
    await paramFixture(made)(cluster, tenant);
    const reading = { object: `${type}:${one}`, action: 'read' };
    const list = async (rules: Parameters<typeof aMember>[1] extends { rules?: infer R } | undefined ? R : never) => {
      const member = await aMember(cluster, { tenant, rules });
      return cluster.as(member).in(tenant).get(`T/${path}`);
    };
    expect((await list([reading])).body[rows]).toEqual([expect.objectContaining({ id: one })]);
    expect(await list([{ ...reading, action: 'update' }])).toMatchObject(denied);
    expect(await list([{ ...reading, object: `${type}:*` }])).toMatchObject(denied);
    expect(await list([reading, { object: `${type}:*`, action: 'list', effect: 'deny' }])).toMatchObject(denied);
    expect(await list([reading, { object: `${type}:${one}`, action: 'list', effect: 'deny' }])).toMatchObject(denied);
  });
});

test('members are not listed to who may read one of them', async () => {
  const member = await aMember(cluster, { tenant, rules: [{ object: 'user:*', action: 'read' }] });
  expect(await cluster.as(member).in(tenant).get('T/users')).toMatchObject(denied);
});

test('a key lists what both it and its creator may read', async () => {
  const one = await aWorkflow(cluster, { tenant });
  await aWorkflow(cluster, { tenant });
  const creator = await aMember(cluster, {
    tenant,
    rules: [{ object: `workflow:${one.id}`, action: 'read' }],
  });
  const key = await anApiKey(cluster, { tenant, creator, can: ['workflow.read', 'workflow.list'] });
  const { body } = await cluster.withKey(key).in(tenant).get('T/workflows');
  expect(body.workflows).toEqual([expect.objectContaining({ id: one.id })]);
});

test('a colleague who may run one workflow finds it, runs it, and sees the run and no other', async () => {
  const title = 'Import the orders';
  const [one, other] = [await aWorkflow(cluster, { tenant, title }), await aWorkflow(cluster, { tenant, title })];
  const { id: roleID } = await aRole(cluster, { tenant });
  const admin = cluster.as(tenant.creator).in(tenant);
  const assetPermissions = ['read', 'execute'].map((action) => {
    return { resourceType: 'workflow', resourceID: one.id, action };
  });
  await admin.patch(`T/roles/${roleID}`, { assetPermissions });
  const member = await aMember(cluster, { tenant });
  const { users } = (await admin.get('T/users?pageSize=100')).body;
  const { tenantUserID } = users.find(({ userID }: { userID: string }) => userID === member.id);
  await admin.patch(`T/users/${tenantUserID}/roles`, { roleIDs: [roleID] });

  const bob = cluster.as(member).in(tenant);
  const mine = (await bob.get('T/permissions/mine')).body;
  expect(mine.permissionsOnSome).toEqual(
    expect.arrayContaining(['workflow.list', 'workflow.read', 'workflow.execute']),
  );
  expect((await bob.get('T/workflows')).body.workflows).toEqual([expect.objectContaining({ id: one.id })]);
  expect((await bob.get('T/search?q=import')).body.results).toEqual([{ type: 'workflow', id: one.id, title }]);
  for (const path of [`workflows/${one.id}`, `workflows/${one.id}/versions`, 'workflows/schemas', 'overview'])
    expect([path, (await bob.get(`T/${path}`)).status]).toEqual([path, 200]);
  const { body } = await bob.post(`T/workflows/${one.id}/execute?wait=20`, {});
  expect(body).toMatchObject({ status: 'COMPLETED' });
  const { instances } = (await bob.get('T/workflows/instances')).body;
  expect(instances).toEqual([expect.objectContaining({ instanceID: body.instanceID })]);
  expect(await bob.get(`T/workflows/instances/${body.instanceID}`)).toMatchObject({ status: 200 });

  expect(await bob.get(`T/workflows/${other.id}`)).toMatchObject(denied);
  expect(await bob.post(`T/workflows/${other.id}/execute`, {})).toMatchObject(denied);
  expect(await bob.patch(`T/workflows/${one.id}`, { title: 'Mine' })).toMatchObject(denied);
});
