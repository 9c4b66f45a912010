import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { rooms } from '#api/realtime/sockets/rooms.ts';
import { newID } from '#shared/core/ids.ts';
import { lenient } from '../../support/client.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { conflict, denied, malformed, notFound } from '../../support/error-answers.ts';
import {
  aMember,
  anApiKey,
  aRole,
  aTenant,
  aUser,
  aWorkflow,
  type TestTenant,
  type TestUser,
} from '../../support/factories.ts';
import { eventually } from '../../support/settle.ts';
import type { TestSocket } from '../../support/socket.ts';

let cluster: Cluster;
let tenant: TestTenant;
beforeAll(async () => {
  cluster = await startCluster({ workers: false, apis: 2 });
});
afterAll(() => cluster[Symbol.asyncDispose]());
beforeEach(async () => {
  tenant = await aTenant(cluster);
});

const as = (user: { email: string }) => cluster.as(user).in(tenant);
const admin = () => as(tenant.creator);
const anAddress = () => `${newID()}@example.test`;

async function add(userEmail: string, ...roles: { id: string }[]) {
  const answer = await admin().post('T/users', { userEmail, roleIDs: roles.map(({ id }) => id) });
  expect(answer).toMatchObject({ status: 201 });
  return answer.body.user;
}

async function rulesOf(subject: string): Promise<string[]> {
  const { rows } = await cluster.context.pool.query<Record<string, string>>(
    'select * from policy_rule where tenant_id = $1 and (subject = $2 or object = $3)',
    [tenant.id, subject, `user:${subject}`],
  );
  return rows.map(({ object, action, effect, role }) => role || `${object} ${action} ${effect}`).sort();
}

const ownRules = (id: string) => [`user:${id} delete allow`, `user:${id} read allow`];

describe('adding a user who has signed in before', () => {
  test('makes them a member at once, with the given roles, in any letter case of the address', async () => {
    const role = await aRole(cluster, { tenant, can: ['workflow.list'], roleName: 'Reader' });
    const user = await aUser(cluster);
    expect(await as(user).get('T/workflows')).toMatchObject(denied);

    const { status, body } = await admin().post('T/users', {
      userEmail: user.email.toUpperCase(),
      roleIDs: [role.id, role.id.toUpperCase()],
    });

    expect({ status, user: body.user }).toMatchObject({
      status: 201,
      user: {
        userID: user.id,
        tenantUserID: user.id,
        email: user.email,
        isPending: false,
        isTenantAdmin: false,
        userTenantRelationship: 'MEMBER',
        roles: [{ roleID: role.id, roleName: 'Reader' }],
      },
    });
    for (const { baseURL } of cluster.apis)
      expect(await cluster.as(user, { baseURL }).in(tenant).get('T/workflows')).toMatchObject({ status: 200 });
    const { lastSeen: _, ...asAdded } = body.user;
    expect((await admin().get(`T/users/${user.id}`)).body.user).toMatchObject(asAdded);
    expect(await admin().post('T/users', { userEmail: user.email })).toMatchObject(conflict);
  });

  test('adds them once for concurrent requests', async () => {
    const user = await aUser(cluster);

    const answers = await Promise.all(
      Array.from({ length: 8 }, () => admin().post('T/users', { userEmail: user.email })),
    );

    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
  });

  test('adds the account that verified the address last, if several have it', async () => {
    const { pool } = cluster.context;
    const email = anAddress();
    const [older, newer, unverified] = [newID(), newID(), newID()];
    const insert = `insert into app_user (id, issuer, subject, email, email_verified_at) values ($1::uuid, 'elsewhere', $1::uuid::text, $2, $3)`;
    await pool.query(insert, [newer, email.replace('example', 'EXAMPLE'), '2026-02-01']);
    await pool.query(insert, [older, email, '2026-01-01']);
    await pool.query(insert, [unverified, email, null]);

    expect(await add(email)).toMatchObject({ userID: newer });
  });

  test('invites them as a stranger if no account has verified the address', async () => {
    const email = anAddress();
    await cluster.context.pool.query(
      `insert into app_user (id, issuer, subject, email) values ($1::uuid, 'x', $1::uuid::text, $2)`,
      [newID(), email],
    );

    expect(await add(email)).toMatchObject({ isPending: true, userID: null });
  });
});

describe('adding a user who has not signed in', () => {
  test('invites them, and the first sign-in makes them a member with these roles', async () => {
    const role = await aRole(cluster, { tenant, can: ['workflow.list'], roleName: 'Reader' });
    const email = anAddress();

    const invited = await add(email.toUpperCase(), role);

    expect(invited).toMatchObject({
      isPending: true,
      userID: null,
      email,
      isTenantAdmin: false,
      roles: [{ roleID: role.id, roleName: 'Reader' }],
    });
    expect((await admin().get('T/users')).body.users).toMatchObject([{ id: invited.id }, { isTenantAdmin: true }]);
    expect(await admin().post('T/users', { userEmail: email })).toMatchObject(conflict);

    const answers = await Promise.all(
      cluster.apis.map(({ baseURL }) => cluster.as({ email }, { baseURL }).in(tenant).get('T/workflows')),
    );

    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const { users } = (await admin().get('T/users')).body;
    expect(users).toMatchObject([{ email, isPending: false, roles: [{ roleID: role.id }] }, { isTenantAdmin: true }]);
    expect(await rulesOf(users[0].id)).toEqual([`role:${role.id}`, ...ownRules(users[0].id)]);
    expect(await admin().get(`T/users/${invited.id}`)).toMatchObject(notFound);
  });

  test('invites them to several tenants, and makes them a member of all', async () => {
    const email = anAddress();
    const elsewhere = await aTenant(cluster);
    await add(email);
    await cluster.as(elsewhere.creator).in(elsewhere).post('T/users', { userEmail: email });

    const { body } = await cluster.as({ email }).get('/api/v1/tenants');

    expect(body.tenants.map(({ id }: { id: string }) => id).sort()).toEqual([tenant.id, elsewhere.id].sort());
  });

  test('while they sign in makes them a member in either order', async () => {
    for (let n = 0; n < 10; n += 1) {
      const email = anAddress();
      await cluster.tokenFor({ email });

      await Promise.all([add(email), cluster.as({ email }).get('/api/v1/auth')]);

      expect((await as({ email }).get('T/users')).body.error?.code).toBe('PERMISSION_DENIED');
      const { users } = (await admin().get(`T/users?search=${encodeURIComponent(email)}`)).body;
      expect(users).toMatchObject([{ email, isPending: false }]);
    }
  });

  test('does not assign roles that were deleted meanwhile', async () => {
    const [kept, gone] = [await aRole(cluster, { tenant }), await aRole(cluster, { tenant })];
    const email = anAddress();
    const invited = await add(email, kept, gone);
    await admin().delete(`T/roles/${gone.id}`);
    expect((await admin().get(`T/users/${invited.id}`)).body.user.roles).toMatchObject([{ roleID: kept.id }]);

    const { userID } = (await cluster.as({ email }).get('/api/v1/auth')).body.user;

    expect((await admin().get(`T/users/${userID}`)).body.user.roles).toMatchObject([{ roleID: kept.id }]);
    expect(await rulesOf(userID)).toEqual([`role:${kept.id}`, ...ownRules(userID)]);
  });

  test('lets the invitation get other roles, and be withdrawn', async () => {
    const role = await aRole(cluster, { tenant });
    const email = anAddress();
    const { id } = await add(email);

    const changed = await admin().patch(`T/users/${id}/roles`, { roleIDs: [role.id] });
    expect(changed.body.user).toMatchObject({ id, isPending: true, roles: [{ roleID: role.id }] });
    const asAdmin = { roleIDs: [], userTenantRelationship: 'ADMIN' };
    expect(await admin().patch(`T/users/${id}/roles`, asAdmin)).toMatchObject(conflict);
    expect(await admin().patch(`T/users/${id}/roles`, { role: role.id }, lenient)).toMatchObject({
      status: 400,
      body: {
        error: {
          code: 'VALIDATION_ERROR',
          message: expect.stringContaining('role: not known here; did you mean roleIDs?'),
        },
      },
    });

    expect(await admin().delete(`T/users/${id}`)).toMatchObject({ status: 200 });
    expect(await as({ email }).get('T/workflows')).toMatchObject(denied);
    expect((await admin().get('T/users')).body.totalCount).toBe(1);
  });

  test('invites another address when a letter only looks like it in lower case', async () => {
    const email = `k${newID()}@example.test`;
    await add(email);

    await cluster.as({ email: email.replace('k', '\u212a') }).get('/api/v1/auth');

    expect((await admin().get('T/users')).body.users).toMatchObject([{ email, isPending: true }, {}]);
  });
});

describe('a caller cannot grant roles that hold more than they do', () => {
  let manager: TestUser;
  beforeEach(async () => {
    manager = await aMember(cluster, { tenant, can: ['user.create', 'user.update', 'user.delete', 'workflow.read'] });
  });

  test('to themselves, to others, to invited users', async () => {
    const strong = await aRole(cluster, { tenant, can: ['workflow.read', 'workflow.delete'] });
    const everything = await aRole(cluster, { tenant: null, can: ['*'] });
    const weak = await aRole(cluster, { tenant, can: ['workflow.read'] });
    const member = await aMember(cluster, { tenant });
    const invited = await add(anAddress());

    for (const role of [strong, everything]) {
      const roleIDs = [weak.id, role.id];
      for (const id of [manager.id, member.id, invited.id])
        expect(await as(manager).patch(`T/users/${id}/roles`, { roleIDs })).toMatchObject(denied);
      for (const userEmail of [anAddress(), (await aUser(cluster)).email])
        expect(await as(manager).post('T/users', { userEmail, roleIDs })).toMatchObject(denied);
    }
    for (const id of [manager.id, member.id, invited.id])
      expect(await as(manager).patch(`T/users/${id}/roles`, { roleIDs: [weak.id] })).toMatchObject({ status: 200 });
    expect((await admin().get('T/users')).body.totalCount).toBe(4);
  });

  test('but may keep the roles that others have, and remove them', async () => {
    const strong = await aRole(cluster, { tenant, can: ['workflow.delete'] });
    const weak = await aRole(cluster, { tenant, can: ['workflow.read'] });
    const member = await aMember(cluster, { tenant });
    await admin().patch(`T/users/${member.id}/roles`, { roleIDs: [strong.id] });
    const patch = (roleIDs: string[]) => as(manager).patch(`T/users/${member.id}/roles`, { roleIDs });

    expect(await patch([strong.id, weak.id])).toMatchObject({ status: 200 });
    expect(await patch([weak.id])).toMatchObject({ status: 200 });
    expect(await patch([strong.id])).toMatchObject(denied);
  });

  test('and only a caller with every permission can make an admin', async () => {
    const patch = (by: TestUser, id: string) =>
      as(by).patch(`T/users/${id}/roles`, { roleIDs: [], userTenantRelationship: 'ADMIN' });
    const member = await aMember(cluster, { tenant });

    expect(await patch(manager, manager.id)).toMatchObject(denied);
    expect(await patch(manager, member.id)).toMatchObject(denied);
    expect(await patch(tenant.creator, member.id)).toMatchObject({
      status: 200,
      body: { user: { isTenantAdmin: true, userTenantRelationship: 'ADMIN' } },
    });
    expect(await patch(member, manager.id)).toMatchObject({ status: 200 });
  });

  test('and roles of another tenant and unknown roles are refused', async () => {
    const elsewhere = await aTenant(cluster);
    const theirs = await aRole(cluster, { tenant: elsewhere });
    const own = await aRole(cluster, { tenant });
    const member = await aMember(cluster, { tenant });
    const answers = [];

    for (const id of [theirs.id, newID()]) {
      const roleIDs = [own.id, id];
      answers.push(await admin().patch(`T/users/${member.id}/roles`, { roleIDs }));
      answers.push(await admin().post('T/users', { userEmail: anAddress(), roleIDs }));
    }

    for (const answer of answers) expect(answer).toMatchObject(malformed);
    expect(new Set(answers.map(({ body }) => body.error.message))).toEqual(
      new Set(['roleIDs.1: is not a role of this tenant']),
    );
    expect(await rulesOf(member.id)).toEqual([]);
  });
});

describe('roles of a member', () => {
  test('are replaced as a set, and a global role brings its rules', async () => {
    const [a, b] = [await aRole(cluster, { tenant }), await aRole(cluster, { tenant, can: ['workflow.list'] })];
    const global = await aRole(cluster, { tenant: null, can: ['user.list'] });
    const member = await aMember(cluster, { tenant });
    const patch = (...roles: { id: string }[]) =>
      admin().patch(`T/users/${member.id}/roles`, { roleIDs: roles.map(({ id }) => id) });

    await patch(a, b);
    expect(await as(member).get('T/workflows')).toMatchObject({ status: 200 });
    const { body } = await patch(a, global);

    expect(body.user.roles.map(({ roleID }: { roleID: string }) => roleID).sort()).toEqual([a.id, global.id].sort());
    expect(await as(member).get('T/workflows')).toMatchObject(denied);
    expect(await as(member).get('T/users')).toMatchObject({ status: 200 });
    await patch();
    expect(await as(member).get('T/users')).toMatchObject(denied);
    expect(await rulesOf(member.id)).toEqual([]);
  });

  test('follow the column: an admin has every permission, and a member again those of before', async () => {
    const member = await aMember(cluster, { tenant, can: ['workflow.list'] });
    const set = (userTenantRelationship: string) =>
      admin().patch(`T/users/${member.id}/roles`, { roleIDs: [], userTenantRelationship });

    await set('ADMIN');
    expect(await as(member).get('T/users')).toMatchObject({ status: 200 });
    expect((await cluster.as(member).get('/api/v1/tenants')).body.tenants).toMatchObject([{ role: 'ADMIN' }]);

    expect(await set('MEMBER')).toMatchObject({ body: { user: { isTenantAdmin: false } } });
    expect(await as(member).get('T/users')).toMatchObject(denied);
    expect(await as(member).get('T/workflows')).toMatchObject({ status: 200 });
    expect(await rulesOf(member.id)).toEqual([...ownRules(member.id), 'workflow:* list allow']);
  });

  test('are required in the body, and are ids', async () => {
    const member = await aMember(cluster, { tenant });

    for (const body of [{}, { roleIDs: 'x' }, { roleIDs: ['x'] }, { roleIDs: [], userTenantRelationship: 'OWNER' }])
      expect(await admin().patch(`T/users/${member.id}/roles`, body)).toMatchObject(malformed);
    for (const body of [{}, { userEmail: 'nobody' }, { userEmail: 7 }, { userEmail: anAddress(), roleIDs: [7] }])
      expect(await admin().post('T/users', body)).toMatchObject(malformed);
  });
});

describe('a user who is removed', () => {
  test('is a stranger from the next request on, in every process, and so are their API keys', async () => {
    const role = await aRole(cluster, { tenant, can: ['workflow.list'] });
    const member = await aMember(cluster, { tenant, can: ['workflow.create', 'workflow.read'] });
    await admin().patch(`T/users/${member.id}/roles`, { roleIDs: [role.id] });
    const key = await anApiKey(cluster, { tenant, creator: member, can: ['workflow.list'] });
    const { id } = (await as(member).post('T/workflows', { title: 'Mine' })).body.workflow;
    for (const { baseURL } of cluster.apis) {
      expect(await cluster.as(member, { baseURL }).in(tenant).get(`T/workflows/${id}`)).toMatchObject({ status: 200 });
      expect(await cluster.withKey(key, { baseURL }).in(tenant).get('T/workflows')).toMatchObject({ status: 200 });
    }

    expect(await admin().delete(`T/users/${member.id}`)).toMatchObject({ status: 200 });

    for (const { baseURL } of cluster.apis) {
      expect(await cluster.as(member, { baseURL }).in(tenant).get(`T/workflows/${id}`)).toMatchObject(denied);
      expect((await cluster.withKey(key, { baseURL }).in(tenant).get('T/workflows')).status).not.toBe(200);
    }
    expect(await rulesOf(member.id)).toEqual([]);
    expect(await admin().delete(`T/users/${member.id}`)).toMatchObject(notFound);

    await add(member.email);
    expect(await as(member).get(`T/workflows/${id}`)).toMatchObject(denied);
  });

  test('is disconnected at once, and can then join only rooms of other tenants', async () => {
    const elsewhere = await aTenant(cluster);
    const member = await aMember(cluster, { tenant, can: ['workflow.read'] });
    await aMember(cluster, { tenant: elsewhere, user: member });
    const { id } = await aWorkflow(cluster, { tenant });
    const { instanceID } = (await admin().post(`T/workflows/${id}/execute`)).body;
    const [, second] = cluster.apis;
    await using socket = await cluster.socket(member, { baseURL: second?.baseURL ?? '' });
    await using witness = await cluster.socket(tenant.creator, { baseURL: second?.baseURL ?? '' });
    for (const room of [rooms.tenant(tenant.id), rooms.tenant(elsewhere.id)])
      expect(await socket.ask('join_room', room)).toMatchObject({ success: true });
    for (const watching of [socket, witness])
      expect(await watching.ask('workflow_run_join', { instanceID })).toMatchObject({ success: true });

    await admin().delete(`T/users/${member.id}`);
    // Much less than the time to the next round of checks.
    await sleep(500);
    await cluster.context.runs.end({ tenantID: tenant.id, ids: [instanceID], status: 'CANCELLED', error: null });

    const ends = ({ messages }: TestSocket) => messages.filter(({ event }) => event === 'workflow_status_update');
    await eventually(() => expect(ends(witness)).toHaveLength(1));
    expect(ends(socket)).toEqual([]);
    expect(socket.raw.connected).toBe(false);
    expect(witness.raw.connected).toBe(true);
    await using next = await cluster.socket(member, { baseURL: second?.baseURL ?? '' });
    expect(await next.ask('join_room', rooms.tenant(tenant.id))).toMatchObject({ success: false });
    expect(await next.ask('join_room', rooms.tenant(elsewhere.id))).toMatchObject({ success: true });
  });

  test('may be the caller, without any permission', async () => {
    const { email } = await aUser(cluster);
    const { userID } = await add(email);
    const other = await aMember(cluster, { tenant });

    expect(await as({ email }).delete(`T/users/${other.id}`)).toMatchObject(denied);
    expect(await as({ email }).get(`T/users/${userID}`)).toMatchObject({ status: 200 });
    expect(await as({ email }).delete(`T/users/${userID}`)).toMatchObject({ status: 200 });
    expect(await as({ email }).get('T/workflows')).toMatchObject(denied);
  });
});

describe('the last admin', () => {
  const demote = (by: TestUser, { id }: TestUser) =>
    as(by).patch(`T/users/${id}/roles`, { roleIDs: [], userTenantRelationship: 'MEMBER' });

  async function anotherAdmin(): Promise<TestUser> {
    const user = await aMember(cluster, { tenant });
    await admin().patch(`T/users/${user.id}/roles`, { roleIDs: [], userTenantRelationship: 'ADMIN' });
    return user;
  }

  async function admins(): Promise<number> {
    const { rows } = await cluster.context.pool.query<{ rule: boolean }>(
      `select exists (select from policy_rule r where r.tenant_id = m.tenant_id and r.subject = m.user_id::text
         and object = '*' and action = '*') as rule
       from membership m where tenant_id = $1 and role = 'ADMIN'`,
      [tenant.id],
    );
    expect(rows.every(({ rule }) => rule)).toBe(true);
    return rows.length;
  }

  test('can neither be removed nor demoted, also by themselves', async () => {
    const { creator } = tenant;
    const manager = await aMember(cluster, { tenant, can: ['user.update', 'user.delete'] });

    for (const by of [creator, manager]) {
      expect(await demote(by, creator)).toMatchObject(conflict);
      expect(await as(by).delete(`T/users/${creator.id}`)).toMatchObject(conflict);
    }
    expect(await admins()).toBe(1);
    const roleIDs = [(await aRole(cluster, { tenant })).id];
    expect(await admin().patch(`T/users/${creator.id}/roles`, { roleIDs })).toMatchObject({
      status: 200,
      body: { user: { isTenantAdmin: true } },
    });
  });

  test('remains when two admins act concurrently', async () => {
    for (const act of ['remove', 'demote', 'leave', 'step down'] as const) {
      tenant = await aTenant(cluster);
      const [a, b] = [tenant.creator, await anotherAdmin()];
      const does = {
        remove: (by: TestUser, other: TestUser) => as(by).delete(`T/users/${other.id}`),
        demote,
        leave: (by: TestUser) => as(by).delete(`T/users/${by.id}`),
        'step down': (by: TestUser) => demote(by, by),
      }[act];

      const answers = await Promise.all([does(a, b), does(b, a)]);

      expect(
        answers.filter(({ status }) => status === 200),
        act,
      ).toHaveLength(1);
      expect(await admins(), act).toBe(1);
    }
  });

  test('does not count when blocked', async () => {
    const other = await anotherAdmin();
    await cluster.context.pool.query('update app_user set is_disabled = true where id = $1', [other.id]);

    expect(await demote(tenant.creator, tenant.creator)).toMatchObject(conflict);
    expect(await admin().delete(`T/users/${other.id}`)).toMatchObject({ status: 200 });
  });
});

describe('the list', () => {
  test('returns members and invitations by pages and by cursor, and can be searched', async () => {
    for (let n = 0; n < 3; n += 1) {
      await aMember(cluster, { tenant });
      await add(anAddress());
    }
    const idsOf = (body: { users: { id: string }[] }) => body.users.map(({ id }) => id);
    const all = (await admin().get('T/users')).body;
    expect(all).toMatchObject({ totalCount: 7, page: 1, pageSize: 20 });

    const pages = [];
    for (const page of [1, 2, 3, 4]) pages.push(...idsOf((await admin().get(`T/users?pageSize=2&page=${page}`)).body));
    const steps = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body }: { body: { users: { id: string }[]; nextCursor: string | null } } = await admin().get(
        `T/users?limit=2${cursor && `&cursor=${cursor}`}`,
      );
      steps.push(...idsOf(body));
      cursor = body.nextCursor;
    }

    expect(pages).toEqual(idsOf(all));
    expect(steps).toEqual(idsOf(all));
    const found = await admin().get(`T/users?search=${tenant.creator.email.slice(3, 40).toUpperCase()}`);
    expect(idsOf(found.body)).toEqual([tenant.creator.id]);
  });

  test('holds the users that the caller may read, and none of another tenant', async () => {
    const [seen] = [await aMember(cluster, { tenant }), await aMember(cluster, { tenant })];
    const elsewhere = await aTenant(cluster);
    await aMember(cluster, { tenant: elsewhere, user: seen });
    const rules = [{ object: `user:${seen.id}`, action: 'read' }];
    const reader = await aMember(cluster, { tenant, can: ['user.list'], rules });

    expect((await as(reader).get('T/users')).body).toMatchObject({ totalCount: 1, users: [{ id: seen.id }] });
    expect((await cluster.as(elsewhere.creator).in(elsewhere).get('T/users')).body.totalCount).toBe(2);
  });
});

test('a member or an invited user has a folder, and the list can be filtered by folder', async () => {
  const folderID = newID();
  const person = await aUser(cluster);
  const added = await admin().post('T/users', { tenantUserEmail: person.email, folderID });
  const invited = await admin().post('T/users', { userEmail: `jos\u00e9-${newID()}@example.test`, folderID });
  expect([added.status, invited.status]).toEqual([201, 201]);
  const listed = async () => (await admin().get(`T/users?folderID=${folderID}`)).body.users;

  expect((await listed()).map(({ id }: { id: string }) => id).sort()).toEqual(
    [added.body.user.id, invited.body.user.id].sort(),
  );
  await admin().patch(`T/users/${person.id}/roles`, { roleIDs: [], folderID: null });
  expect(await listed()).toHaveLength(1);
  expect((await admin().get('T/users?folderID=none')).body.error.message).toContain('folderID');
});

test('a member is shown with the time last seen and the times of the membership', async () => {
  const member = await aMember(cluster, { tenant });
  await as(member).get('T/workflows');

  await eventually(async () => {
    const { user } = (await admin().get(`T/users/${member.id}`)).body;
    expect(Date.now() - Date.parse(user.lastSeen)).toBeLessThan(30_000);
    expect(Date.parse(user.updatedAt)).toBeGreaterThanOrEqual(Date.parse(user.createdAt));
  });
});
