import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { changeRules, type RuleSpec } from '#shared/access/policy/change.ts';
import { permissions } from '#shared/access/policy/permissions.ts';
import { setRoles } from '#shared/access/policy/roles.ts';
import { newID } from '#shared/core/ids.ts';
import type { Answer } from '../../support/client.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { denied } from '../../support/error-answers.ts';
import {
  aMember,
  anApiKey,
  aRole,
  aTenant,
  aWorkflow,
  type TestTenant,
  type TestUser,
} from '../../support/factories.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: false, apis: 2 });
});
afterAll(() => cluster[Symbol.asyncDispose]());
beforeEach(async () => {
  tenant = await aTenant(cluster);
});

const as = (user: TestUser) => cluster.as(user).in(tenant);
const admin = () => as(tenant.creator);

async function create(body: object): Promise<{ id: string } & Record<string, unknown>> {
  const answer = await admin().post('T/roles', { roleName: 'A role', rolePermissions: [], ...body });
  expect(answer).toMatchObject({ status: 201 });
  return answer.body.role;
}

function actionsOn(type: string): string[] {
  return permissions.filter((permission) => permission.startsWith(`${type}.`));
}

async function give(user: { id: string }, ...roles: { id: string }[]): Promise<void> {
  const ids = roles.map(({ id }) => id);
  await setRoles(tenantEntityManager(cluster.context.orm.em, tenant.id), tenant.id, user.id, ids);
}

/** The allowed and denied actions of a role. */
async function rulesOf(role: { id: string }, { id: tenantID } = tenant): Promise<string[]> {
  const { rows } = await cluster.context.pool.query<Record<string, string>>(
    `select object, action, effect from policy_rule where tenant_id = $1 and subject = $2`,
    [tenantID, `role:${role.id}`],
  );
  return rows.map(({ object, action, effect }) => `${object} ${action} ${effect}`).sort();
}

/** Number of rules and groupings that name the role. */
async function tracesOf(role: { id: string }): Promise<number> {
  const { rowCount } = await cluster.context.pool.query(`select from policy_rule where $1 in (subject, object, role)`, [
    `role:${role.id}`,
  ]);
  return rowCount ?? 0;
}

function change(add: RuleSpec[]): Promise<void> {
  return changeRules(tenantEntityManager(cluster.context.orm.em, tenant.id), tenant.id, { add });
}

/** Changes rows without the code that keeps them consistent. */
async function tamper(sql: string, values: unknown[]): Promise<void> {
  await cluster.context.pool.query(sql, values);
  await cluster.context.pool.query('update tenant set policy_version = policy_version + 1 where id = $1', [tenant.id]);
}

describe('a role', () => {
  test('grants its permissions to its members until it changes, in every process at once', async () => {
    const role = await create({ rolePermissions: ['workflow.list', 'workflow.create'] });
    const member = await aMember(cluster, { tenant });
    expect(await as(member).get('T/workflows')).toMatchObject(denied);

    await give(member, role);

    for (const { baseURL } of cluster.apis) {
      const api = cluster.as(member, { baseURL }).in(tenant);
      expect(await api.post('T/workflows', { title: 'Mine' })).toMatchObject({ status: 201 });
    }

    await admin().patch(`T/roles/${role.id}`, { rolePermissions: ['workflow.read'] });

    for (const { baseURL } of cluster.apis) {
      const api = cluster.as(member, { baseURL }).in(tenant);
      expect(await api.post('T/workflows', { title: 'Mine' })).toMatchObject(denied);
    }
    expect(await rulesOf(role)).toEqual(['workflow:* read allow']);
  });

  test('is answered as stored: one spelling, each permission once', async () => {
    const { id: workflowID } = await aWorkflow(cluster, { tenant });
    const body = {
      roleName: 'Operations',
      roleDescription: 'Runs things',
      rolePermissions: [
        'cronJob.create',
        'cronjob.create',
        'APIKEY.read',
        `tenant:asset:Workflow:${workflowID.toUpperCase()}:execute`,
      ],
      assetPermissions: [
        { resourceType: 'workflow', resourceID: workflowID, action: 'execute' },
        { resourceType: 'workflow', resourceID: workflowID, action: '*' },
      ],
    };

    const role = await create(body);

    expect(role).toMatchObject({
      roleID: role.id,
      tenantID: tenant.id,
      roleName: 'Operations',
      roleDescription: 'Runs things',
      rolePermissions: ['cronjob.create', 'apikey.read'],
      assetPermissions: body.assetPermissions,
      isGlobal: false,
      creatorID: tenant.creator.id,
    });
    expect((await admin().get(`T/roles/${role.id}`)).body.role).toEqual(role);
    expect(await rulesOf(role)).toEqual([
      'apikey:* read allow',
      'cronjob:* create allow',
      `workflow:${workflowID} * allow`,
      `workflow:${workflowID} execute allow`,
    ]);
  });

  test('changes the fields of an update and keeps the others', async () => {
    const { id: resourceID } = await aWorkflow(cluster, { tenant });
    const asset = { resourceType: 'workflow', resourceID, action: 'read' };
    const role = await create({ rolePermissions: ['workflow.list'], assetPermissions: [asset], roleDescription: 'x' });
    const patch = async (body: object) => (await admin().patch(`T/roles/${role.id}`, body)).body.role;

    expect(await patch({ roleName: 'B' })).toMatchObject({ roleName: 'B', rolePermissions: ['workflow.list'] });
    expect(await patch({ rolePermissions: [] })).toMatchObject({ rolePermissions: [], assetPermissions: [asset] });
    expect(await patch({ assetPermissions: [], roleDescription: null })).toMatchObject({
      roleName: 'B',
      roleDescription: null,
      assetPermissions: [],
    });
    expect(await rulesOf(role)).toEqual([]);
  });

  test('names an unknown permission in the error', async () => {
    for (const bad of ['workflow', 'workflow.fly', 'unicorn.*', 'tenant:asset:workflow:1:read', 'a.b', '', '**'])
      expect(await admin().post('T/roles', { roleName: 'R', rolePermissions: ['workflow.read', bad] })).toMatchObject({
        status: 400,
        body: { error: { code: 'VALIDATION_ERROR', message: expect.stringContaining('rolePermissions.1') } },
      });
    for (const [field, asset] of Object.entries({
      resourceType: { resourceType: 'unicorn', resourceID: newID(), action: 'read' },
      action: { resourceType: 'workflow', resourceID: newID(), action: 'fly' },
      resourceID: { resourceType: 'workflow', resourceID: '*', action: 'read' },
    }))
      expect(
        await admin().post('T/roles', { roleName: 'R', rolePermissions: [], assetPermissions: [asset] }),
      ).toMatchObject({
        status: 400,
        body: { error: { message: expect.stringContaining(`assetPermissions.0.${field}`) } },
      });
  });

  test('grants single assets, and drops them when they are deleted', async () => {
    const [mine, other] = [await aWorkflow(cluster, { tenant }), await aWorkflow(cluster, { tenant })];
    const role = await create({ rolePermissions: [`tenant:asset:workflow:${mine.id}:read`] });
    const member = await aMember(cluster, { tenant });
    await give(member, role);

    expect(await as(member).get(`T/workflows/${mine.id}`)).toMatchObject({ status: 200 });
    expect(await as(member).get(`T/workflows/${other.id}`)).toMatchObject(denied);
    expect(await as(member).delete(`T/workflows/${mine.id}`)).toMatchObject(denied);

    await admin().delete(`T/workflows/${mine.id}`);

    expect((await admin().get(`T/roles/${role.id}`)).body.role.assetPermissions).toEqual([]);
    expect((await admin().post('T/roles/sync-policies')).body).toMatchObject({ added: 0, removed: 0 });
  });

  test('is deleted with its rules, its assignments and the rules on it', async () => {
    const role = await create({ rolePermissions: ['workflow.list'] });
    const helper = await create({ rolePermissions: [`tenant:asset:role:${role.id}:update`] });
    const member = await aMember(cluster, { tenant });
    await give(member, role, helper);

    await admin().delete(`T/roles/${role.id}`);

    expect(await tracesOf(role)).toBe(0);
    expect((await admin().get(`T/roles/${helper.id}`)).body.role.assetPermissions).toEqual([]);
    for (const { baseURL } of cluster.apis)
      expect(await cluster.as(member, { baseURL }).in(tenant).get('T/workflows')).toMatchObject(denied);
    expect(await admin().delete(`T/roles/${role.id}`)).toMatchObject({ status: 404 });
  });

  test('can be changed by its creator, like every asset', async () => {
    const member = await aMember(cluster, { tenant, can: ['role.create', 'workflow.read'] });
    const body = { roleName: 'Mine', rolePermissions: ['workflow.read'] };

    const { id } = (await as(member).post('T/roles', body)).body.role;

    expect(await as(member).patch(`T/roles/${id}`, { roleName: 'Still mine' })).toMatchObject({ status: 200 });
    expect((await as(member).get('T/roles')).body.roles).toMatchObject([{ id }]);
    expect(await as(member).delete(`T/roles/${id}`)).toMatchObject({ status: 200 });
  });
});

describe('a caller cannot grant permissions that they do not hold', () => {
  test('by a new role', async () => {
    const member = await aMember(cluster, { tenant, can: ['role.create', 'workflow.read'] });

    for (const lacking of ['workflow.delete', '*', `tenant:asset:workflow:${newID()}:execute`]) {
      const answer = await as(member).post('T/roles', { roleName: 'R', rolePermissions: ['workflow.read', lacking] });
      expect(answer).toMatchObject(denied);
    }
    const { message } = (await as(member).post('T/roles', { roleName: 'R', rolePermissions: ['user.delete'] })).body
      .error;
    expect(message).toContain('user.delete');
    const { rows } = await cluster.context.pool.query('select from role where tenant_id = $1', [tenant.id]);
    expect(rows).toHaveLength(0);
  });

  test('by `*`, even with every permission there is', async () => {
    const member = await aMember(cluster, { tenant, can: permissions });

    expect(await as(member).post('T/roles', { roleName: 'R', rolePermissions: [...permissions] })).toMatchObject({
      status: 201,
    });
    expect(await as(member).post('T/roles', { roleName: 'R', rolePermissions: ['*'] })).toMatchObject(denied);
    expect(await admin().post('T/roles', { roleName: 'R', rolePermissions: ['*'] })).toMatchObject({ status: 201 });
  });

  test('by changing a role of their own', async () => {
    const role = await create({ rolePermissions: ['role.update', 'workflow.read', 'workflow.delete'] });
    const member = await aMember(cluster, { tenant });
    await give(member, role);
    const patch = (rolePermissions: string[]) => as(member).patch(`T/roles/${role.id}`, { rolePermissions });

    expect(await patch(['role.update', 'workflow.read', 'workflow.delete', 'user.update'])).toMatchObject(denied);
    expect(await patch(['*'])).toMatchObject(denied);
    // Existing permissions are not checked, and removing is allowed; it then applies to the caller, too.
    expect(await patch(['role.update', 'workflow.read'])).toMatchObject({ status: 200 });
    expect(await patch(['role.update', 'workflow.read', 'workflow.delete'])).toMatchObject(denied);
  });

  test('by changing a role that holds more than the caller', async () => {
    const role = await create({ rolePermissions: ['workflow.delete'] });
    const member = await aMember(cluster, { tenant, can: ['role.update', 'workflow.read'] });

    expect(
      await as(member).patch(`T/roles/${role.id}`, { rolePermissions: ['workflow.delete', 'workflow.read'] }),
    ).toMatchObject({ status: 200 });
    expect(
      await as(member).patch(`T/roles/${role.id}`, { rolePermissions: ['workflow.delete', 'user.read'] }),
    ).toMatchObject(denied);
  });

  test('where a deny rule covers part of the grant', async () => {
    const workflow = await aWorkflow(cluster, { tenant });
    const member = await aMember(cluster, { tenant, can: ['role.create', 'workflow.read', 'workflow.update'] });
    await change([{ subject: member.id, object: `workflow:${workflow.id}`, action: 'read', effect: 'deny' }]);
    await change([{ subject: tenant.creator.id, object: 'user:*', action: 'delete', effect: 'deny' }]);
    const post = (user: TestUser, permission: string) =>
      as(user).post('T/roles', { roleName: 'R', rolePermissions: [permission] });

    expect(await post(member, 'workflow.read')).toMatchObject(denied);
    expect(await post(member, `tenant:asset:workflow:${workflow.id}:read`)).toMatchObject(denied);
    expect(await post(member, 'workflow.update')).toMatchObject({ status: 201 });
    expect(await post(tenant.creator, '*')).toMatchObject(denied);
    expect(await post(tenant.creator, 'workflow.read')).toMatchObject({ status: 201 });
  });

  test('where a deny rule covers the objects with a prefix', async () => {
    const member = await aMember(cluster, { tenant, can: ['role.create', 'workflow.read'] });
    const post = () => as(member).post('T/roles', { roleName: 'R', rolePermissions: ['workflow.read'] });
    expect(await post()).toMatchObject({ status: 201 });

    await change([{ subject: member.id, object: 'workflow:01*', action: 'read', effect: 'deny' }]);

    expect(await post()).toMatchObject(denied);
  });

  test('on a single asset: granting every action requires every action', async () => {
    const workflow = await aWorkflow(cluster, { tenant });
    const rules = [{ object: `workflow:${workflow.id}`, action: 'read' }];
    const member = await aMember(cluster, { tenant, can: ['role.create'], rules });
    const post = (action: string) =>
      as(member).post('T/roles', {
        roleName: 'R',
        rolePermissions: [`tenant:asset:workflow:${workflow.id}:${action}`],
      });

    expect(await post('read')).toMatchObject({ status: 201 });
    expect(await post('*')).toMatchObject(denied);
    expect(await as(member).post('T/roles', { roleName: 'R', rolePermissions: ['workflow.read'] })).toMatchObject(
      denied,
    );
  });

  test('by an API key that holds less than its creator', async () => {
    const key = await anApiKey(cluster, { tenant, can: ['role.create', 'workflow.read'] });
    const post = (permission: string) =>
      cluster
        .withKey(key)
        .in(tenant)
        .post('T/roles', { roleName: 'R', rolePermissions: [permission] });

    expect(await post('workflow.delete')).toMatchObject(denied);
    expect(await post('workflow.read')).toMatchObject({ status: 201 });
  });

  test('after concurrent changes the role is the result of one of them, and its rules match', async () => {
    const role = await create({ rolePermissions: [] });
    const added = ['workflow.read', 'workflow.list', 'user.read', 'user.list', 'audit.list'];

    const answers = await Promise.all(
      added.map((permission) => admin().patch(`T/roles/${role.id}`, { rolePermissions: [permission] })),
    );

    expect(answers.map(({ status }) => status)).toEqual(added.map(() => 200));
    const stored = (await admin().get(`T/roles/${role.id}`)).body.role.rolePermissions;
    expect(stored).toHaveLength(1);
    expect((await admin().post('T/roles/sync-policies')).body).toMatchObject({ added: 0, removed: 0, roles: [] });
  });
});

describe('the lists', () => {
  test("show the tenant's roles and the global ones, and none of another tenant", async () => {
    const own = await create({ roleName: 'Own' });
    const global = await aRole(cluster, { tenant: null, roleName: 'Everywhere' });
    const elsewhere = await aTenant(cluster);
    const theirs = await aRole(cluster, { tenant: elsewhere });

    const listed: { id: string; isGlobal: boolean }[] = (await admin().get('T/roles')).body.roles;

    expect(listed.find(({ id }) => id === own.id)).toMatchObject({ isGlobal: false });
    expect(listed.find(({ id }) => id === global.id)).toMatchObject({ isGlobal: true, tenantID: null });
    expect(listed.map(({ id }) => id)).not.toContain(theirs.id);
    expect((await admin().get('T/roles?search=wn')).body.roles).toMatchObject([{ id: own.id }]);
    expect((await admin().get(`T/roles/${global.id}`)).status).toBe(200);
    expect((await admin().get(`T/roles/${theirs.id}`)).status).toBe(404);
  });

  test('hold the roles that the caller may read', async () => {
    const [visible] = [await create({}), await create({})];
    const rules = [{ object: `role:${visible.id}`, action: 'read' }];
    const member = await aMember(cluster, { tenant, can: ['role.list'], rules });

    expect((await as(member).get('T/roles')).body).toMatchObject({ totalCount: 1, roles: [{ id: visible.id }] });
  });

  test('of permissions is the catalogue, without permissions on single assets', async () => {
    const { id } = await aWorkflow(cluster);
    await create({ rolePermissions: [`tenant:asset:workflow:${id}:read`] });

    expect((await admin().get('T/roles/permissions')).body).toEqual({ success: true, permissions: [...permissions] });
  });

  test('of what the caller may do tells every object, some objects and one object apart', async () => {
    const [workflow, other] = [await aWorkflow(cluster, { tenant }), await aWorkflow(cluster, { tenant })];
    const member = await aMember(cluster, {
      tenant,
      can: ['workflow.list', 'cronjob.read', 'listener.read'],
      rules: [
        { object: `workflow:${workflow.id}`, action: '*' },
        { object: 'listener:*', action: 'read', effect: 'deny' },
        { object: `cronjob:${newID()}`, action: 'read', effect: 'deny' },
      ],
    });
    const mine = async (who: TestUser, query = '') => (await as(who).get(`T/permissions/mine${query}`)).body;

    expect(await mine(member)).toMatchObject({
      permissions: ['workflow.list'],
      permissionsOnSome: ['cronjob.read', ...actionsOn('workflow').filter((one) => one !== 'workflow.list')],
    });
    expect(await mine(member, `?object=workflow:${workflow.id}`)).toMatchObject({
      permissions: actionsOn('workflow'),
      permissionsOnSome: [],
    });
    expect(await mine(member, `?object=workflow:${other.id}`)).toMatchObject({ permissions: ['workflow.list'] });
    expect(await mine(member, '?object=workflow:*')).toMatchObject({ permissions: ['workflow.list'] });
    expect(await mine(member, '?object=cronjob:*')).toMatchObject({ permissions: ['cronjob.read'] });
    expect(await mine(tenant.creator)).toMatchObject({ permissions, permissionsOnSome: [] });
    expect(await mine(await aMember(cluster, { tenant }))).toMatchObject({ permissions: [], permissionsOnSome: [] });
    const wrong = await as(member).get('T/permissions/mine?object=nothing:1');
    expect(wrong).toMatchObject({ status: 400, body: { error: { details: { issues: [{ path: ['object'] }] } } } });
  });

  test('a role may have a page in which its members begin, as long as they may read it and it is there', async () => {
    const aPage = async (title: string) =>
      (await admin().post('T/app-pages', { appPageTitle: title, appPageConfig: {} })).body.appPage.appPageID;
    const [page, hidden] = [await aPage('Begin here'), await aPage('Hidden')];
    const rolePermissions = [`tenant:asset:appPage:${page}:read`];
    const { role } = (await admin().post('T/roles', { roleName: 'B', rolePermissions, homePageID: page })).body;
    const first = (await admin().post('T/roles', { roleName: 'A', rolePermissions: [], homePageID: hidden })).body.role;
    const viewer = await aMember(cluster, { tenant, can: [] });
    const home = async (query = '') => (await as(viewer).get(`T/permissions/mine${query}`)).body.homePageID;
    expect(await home()).toBeNull();
    await admin().patch(`T/users/${viewer.id}/roles`, { roleIDs: [first.roleID, role.roleID] });
    expect(role.homePageID).toBe(page);
    // The first by name has a page that they may not read.
    expect(await home()).toBe(page);
    expect(await home(`?object=appPage:${page}`)).toBeUndefined();

    const theirs = await aTenant(cluster);
    const { body } = await cluster
      .as(theirs.creator)
      .in(theirs)
      .post('T/app-pages', { appPageTitle: 'X', appPageConfig: {} });
    const refused = { status: 400, body: { error: { details: { issues: [{ path: ['homePageID'] }] } } } };
    expect(await admin().patch(`T/roles/${role.roleID}`, { homePageID: body.appPage.appPageID })).toMatchObject(
      refused,
    );
    expect(await admin().post('T/roles', { roleName: 'C', rolePermissions: [], homePageID: newID() })).toMatchObject(
      refused,
    );

    await admin().delete(`T/app-pages/${page}`);
    expect(await home()).toBeNull();
    expect((await admin().get(`T/roles/${role.roleID}`)).body.role.homePageID).toBeNull();
  });

  test('a global role cannot be changed by a tenant', async () => {
    const global = await aRole(cluster, { tenant: null, can: ['workflow.read'] });

    expect(await admin().patch(`T/roles/${global.id}`, { rolePermissions: [] })).toMatchObject(denied);
    expect(await admin().delete(`T/roles/${global.id}`)).toMatchObject(denied);
    expect((await admin().get(`T/roles/${global.id}`)).body.role.rolePermissions).toEqual(['workflow.read']);
  });
});

describe('sync-policies', () => {
  const sync = async (): Promise<Answer['body']> => (await admin().post('T/roles/sync-policies')).body;

  test('repairs rules that were tampered with, and names the role', async () => {
    const member = await aMember(cluster, { tenant });
    const whole = await create({ roleName: 'Whole', rolePermissions: ['workflow.read'] });
    const less = await create({ roleName: 'Less', rolePermissions: ['workflow.list', 'workflow.create'] });
    const more = await create({ roleName: 'More', rolePermissions: ['workflow.read'] });
    await give(member, whole, less, more);
    await tamper(`delete from policy_rule where tenant_id = $1 and subject = $2`, [tenant.id, `role:${less.id}`]);
    await tamper(`update policy_rule set action = '*', object = '*' where tenant_id = $1 and subject = $2`, [
      tenant.id,
      `role:${more.id}`,
    ]);
    expect(await as(member).get('T/users')).toMatchObject({ status: 200 });
    expect(await as(member).post('T/workflows', { title: 'W' })).toMatchObject({ status: 201 });

    const { added, removed, roles } = await sync();

    expect({ added, removed }).toEqual({ added: 3, removed: 1 });
    expect(roles).toEqual(
      expect.arrayContaining([
        { roleID: less.id, roleName: 'Less', added: 2, removed: 0 },
        { roleID: more.id, roleName: 'More', added: 1, removed: 1 },
      ]),
    );
    for (const { baseURL } of cluster.apis) {
      const api = cluster.as(member, { baseURL }).in(tenant);
      expect(await api.get('T/users')).toMatchObject(denied);
      expect(await api.post('T/workflows', { title: 'W' })).toMatchObject({ status: 201 });
    }
    expect(await sync()).toMatchObject({ added: 0, removed: 0, roles: [] });
  });

  test('keeps deny rules of roles, and rules of other subjects', async () => {
    const member = await aMember(cluster, { tenant, can: ['workflow.list'] });
    const role = await create({ rolePermissions: ['workflow.read', 'workflow.list'] });
    await give(member, role);
    await change([{ subject: `role:${role.id}`, object: 'workflow:*', action: 'list', effect: 'deny' }]);

    expect(await sync()).toMatchObject({ added: 0, removed: 0, roles: [] });
    await admin().patch(`T/roles/${role.id}`, { rolePermissions: ['workflow.list', 'workflow.create'] });
    await admin().patch(`T/roles/${role.id}`, { rolePermissions: [] });
    await admin().patch(`T/roles/${role.id}`, { rolePermissions: ['workflow.list'] });

    expect(await rulesOf(role)).toContain('workflow:* list deny');
    expect(await as(member).get('T/workflows')).toMatchObject(denied);
  });

  test('removes rules of roles that are not stored', async () => {
    const member = await aMember(cluster, { tenant });
    const [gone, elsewhere] = [newID(), await aTenant(cluster)];
    const theirs = await aRole(cluster, { tenant: elsewhere, can: ['*'] });
    const insert = `insert into policy_rule (id, tenant_id, kind, subject, object, action, role) values ($1, $2, $3, $4, $5, $6, $7)`;
    await tamper(insert, [newID(), tenant.id, 'rule', `role:${gone}`, '*', '*', '']);
    await tamper(insert, [newID(), tenant.id, 'grouping', member.id, '', '', `role:${gone}`]);
    await tamper(insert, [newID(), tenant.id, 'rule', `role:${theirs.id}`, '*', '*', '']);
    await tamper(insert, [newID(), tenant.id, 'grouping', member.id, '', '', 'role:evil']);
    expect(await as(member).get('T/workflows')).toMatchObject({ status: 200 });

    const { added, removed, roles } = await sync();

    expect({ added, removed }).toEqual({ added: 0, removed: 4 });
    expect(roles).toEqual(
      expect.arrayContaining([
        { roleID: gone, roleName: null, added: 0, removed: 2 },
        { roleID: theirs.id, roleName: null, added: 0, removed: 1 },
        { roleID: 'evil', roleName: null, added: 0, removed: 1 },
      ]),
    );
    expect(await as(member).get('T/workflows')).toMatchObject(denied);
    expect(await rulesOf(theirs, elsewhere)).toEqual(['* * allow']);
    expect(await sync()).toMatchObject({ added: 0, removed: 0, roles: [] });
  });
});

test('a role accepts its other field name and a permission on a whole resource, and has a folder', async () => {
  const folderID = newID();
  const role = await create({ roleName: undefined, roleTitle: ' Titled ', rolePermissions: ['cronJob.*'], folderID });
  expect(role).toMatchObject({ roleName: 'Titled', rolePermissions: ['cronjob.*'], folderID });
  expect(await rulesOf(role)).toEqual([expect.stringContaining('cronjob:*')]);

  const { roles } = (await admin().get(`T/roles?folderID=${folderID}`)).body;
  expect(roles.map(({ id }: { id: string }) => id)).toEqual([role.id]);
  expect((await admin().get('T/roles?folderID=none')).body.error.message).toContain('folderID');
  expect((await admin().post('T/roles', { rolePermissions: [] })).body.error.message).toContain('roleName');
});
