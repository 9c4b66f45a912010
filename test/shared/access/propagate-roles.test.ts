import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import type { RolePermission } from '#shared/access/policy/permissions.ts';
import { setRoles } from '#shared/access/policy/roles.ts';
import { propagateRole, resumePropagation } from '#shared/access/propagate-roles.ts';
import { Role } from '#shared/entities/tables/role.ts';
import { type Cluster, startCluster } from '../../support/cluster.ts';
import { aMember, aRole, aTenant, type TestTenant, type TestUser } from '../../support/factories.ts';

describe('a role of the deployment', () => {
  let cluster: Cluster;
  let role: { id: string };
  beforeAll(async () => {
    cluster = await startCluster({ workers: false, apis: 2 });
  });
  afterAll(() => cluster[Symbol.asyncDispose]());
  beforeEach(async () => {
    role = await aRole(cluster, { tenant: null, can: ['workflow.list'] });
  });

  const pool = () => cluster.context.pool;

  async function give(tenant: { id: string }, user: { id: string }, ...roles: { id: string }[]): Promise<void> {
    const ids = roles.map(({ id }) => id);
    await setRoles(tenantEntityManager(cluster.context.orm.em, tenant.id), tenant.id, user.id, ids);
  }

  async function store(change: { permissions: RolePermission[] } | { deletingAt: Date }): Promise<void> {
    const em = cluster.context.orm.em.fork();
    const stored = await em.findOneOrFail(Role, { id: role.id }, { filters: { tenant: false } });
    em.assign(stored, { ...change, spreadingAt: new Date() });
    await em.flush();
  }

  async function principal(): Promise<{ tenant: TestTenant; user: TestUser }> {
    const tenant = await aTenant(cluster);
    const user = await aMember(cluster, { tenant });
    await give(tenant, user, role);
    return { tenant, user };
  }

  async function rules(): Promise<string[]> {
    const { rows } = await pool().query<Record<string, string>>(
      `select tenant_id, object, action from policy_rule where subject = $1 order by tenant_id, object, action`,
      [`role:${role.id}`],
    );
    return rows.map(({ tenant_id, object, action }) => `${tenant_id} ${object} ${action}`);
  }

  async function isPropagating(): Promise<boolean | undefined> {
    const sql = 'select spreading_at is not null as going from role where id = $1';
    return (await pool().query<{ going: boolean }>(sql, [role.id])).rows[0]?.going;
  }

  test('has rules only in tenants where a member has it', async () => {
    const { tenant, user } = await principal();
    await aTenant(cluster);

    expect(await rules()).toEqual([`${tenant.id} workflow:* list`]);
    expect((await cluster.as(user).in(tenant).get('T/workflows')).status).toBe(200);
  });

  test('changes in every tenant where a member has it', async () => {
    const assigned = [await principal(), await principal(), await principal()];
    await store({ permissions: ['user.list'] });

    await propagateRole(pool(), role.id);

    for (const { tenant, user } of assigned)
      for (const { baseURL } of cluster.apis) {
        const api = cluster.as(user, { baseURL }).in(tenant);
        expect((await api.get('T/users')).status).toBe(200);
        expect((await api.get('T/workflows')).status).toBe(403);
      }
    expect(await rules()).toHaveLength(3);
    expect(await isPropagating()).toBe(false);
  });

  test('is deleted from every tenant, also from those where it is no longer assigned', async () => {
    const [first, second] = [await principal(), await principal()];
    await give(second.tenant, second.user);
    await store({ deletingAt: new Date() });

    await propagateRole(pool(), role.id);

    expect(await rules()).toEqual([]);
    expect(await isPropagating()).toBeUndefined();
    const { rowCount } = await pool().query('select from policy_rule where role = $1', [`role:${role.id}`]);
    expect(rowCount).toBe(0);
    expect((await cluster.as(first.user).in(first.tenant).get('T/workflows')).status).toBe(403);
  });

  test('cannot be assigned once it is being deleted', async () => {
    const { tenant, user } = await principal();
    await store({ deletingAt: new Date() });

    await expect(give(tenant, user, role)).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    expect((await cluster.as(tenant.creator).in(tenant).get(`T/roles/${role.id}`)).status).toBe(404);
  });

  test('is changed to the end by another process when the first has ended', async () => {
    await principal();
    await store({ permissions: ['*'] });
    expect(await resumePropagation(pool())).toBe(0);
    await pool().query(`update role set spreading_at = now() - interval '1 minute' where id = $1`, [role.id]);

    expect(await resumePropagation(pool())).toBe(1);

    expect(await rules()).toEqual([expect.stringContaining(' * *')]);
    expect(await resumePropagation(pool())).toBe(0);
  });

  test('reaches the other tenants when one fails, and that one when it is tried again', async () => {
    const assigned = [await principal(), await principal(), await principal()];
    const [broken] = assigned.map(({ tenant }) => tenant.id).sort();
    await pool().query(`
      create function refuse() returns trigger language plpgsql as $$ begin raise 'broken'; end $$;
      create trigger refuse before delete on policy_rule for each row when (old.tenant_id = '${broken}') execute function refuse()`);
    await store({ permissions: ['user.list'] });
    await pool().query(`update role set spreading_at = now() - interval '1 minute' where id = $1`, [role.id]);
    const failures: unknown[] = [];

    await resumePropagation(pool(), (_error, ids) => failures.push(ids));
    await pool().query('drop function refuse cascade');

    expect(failures).toEqual([{ roleID: role.id, tenantID: broken }]);
    expect((await rules()).filter((rule) => rule.includes('user:'))).toHaveLength(2);
    expect(await isPropagating()).toBe(true);
    await pool().query(`update role set spreading_at = now() - interval '1 minute' where id = $1`, [role.id]);
    await resumePropagation(pool());
    expect((await rules()).filter((rule) => rule.includes('user:'))).toHaveLength(3);
    expect(await isPropagating()).toBe(false);
  });

  test('has equal rules in all tenants after concurrent changes and assignments', async () => {
    const assigned = [await principal(), await principal()];
    const fresh = await Promise.all([0, 1, 2].map(() => aTenant(cluster)));
    const wanted: RolePermission[][] = [['user.list'], ['workflow.read'], ['audit.list', 'role.list'], ['user.read']];

    await Promise.all([
      (async () => {
        for (const permissions of wanted) {
          await store({ permissions });
          await propagateRole(pool(), role.id);
        }
      })(),
      ...fresh.map((tenant) => give(tenant, tenant.creator, role)),
      ...[0, 1, 2].map(() => propagateRole(pool(), role.id)),
    ]);

    const ids = [...assigned.map(({ tenant }) => tenant.id), ...fresh.map(({ id }) => id)];
    expect(await rules()).toEqual(ids.sort().map((id) => `${id} user:* read`));
  });
});
