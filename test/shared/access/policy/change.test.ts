import type { MikroORM } from '@mikro-orm/postgresql';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createAsset, deleteAsset } from '#api/assets/assets.ts';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { changeRules } from '#shared/access/policy/change.ts';
import { createPolicy, type Policy } from '#shared/access/policy/policy.ts';
import type { Caller } from '#shared/core/caller.ts';
import { newID } from '#shared/core/ids.ts';
import { createPool, type Pool } from '#shared/db/pool.ts';
import { createOrm } from '#shared/entities/orm.ts';
import { Tenant } from '#shared/entities/tables/tenant.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { type FreshDatabase, freshDatabase } from '#test/support/database.ts';
import { testLogger } from '#test/support/environment.ts';

describe('changes of rules', () => {
  let database: FreshDatabase;
  let pool: Pool;
  let orm: MikroORM;
  let policy: Policy;
  let tenantID: string;
  beforeAll(async () => {
    database = await freshDatabase();
    pool = createPool({ url: database.url, poolSize: 5 }, testLogger);
    orm = await createOrm({ url: database.url, poolSize: 5 }, testLogger);
    policy = createPolicy(pool, testLogger);
  });
  afterAll(async () => {
    await orm.close();
    await pool.end();
    await database[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    tenantID = newID();
    await pool.query('insert into tenant (id, tenant_title, creator_id) values ($1, $2, $3)', [
      tenantID,
      'A tenant',
      newID(),
    ]);
  });

  async function versionOf(id = tenantID): Promise<number> {
    const { rows } = await pool.query<{ policy_version: number }>('select policy_version from tenant where id = $1', [
      id,
    ]);
    return rows[0]?.policy_version ?? -1;
  }

  async function rules(): Promise<string[]> {
    const { rows } = await pool.query<Record<string, string>>('select * from policy_rule where tenant_id = $1', [
      tenantID,
    ]);
    return rows
      .map(({ kind, subject, object, action, effect, role }) => [kind, subject, object, action, effect, role].join(' '))
      .sort();
  }

  async function changes(): Promise<{ version: number; op: string; rule: Record<string, string> }[]> {
    const { rows } = await pool.query(
      'select version, op, rule from policy_change where tenant_id = $1 order by version',
      [tenantID],
    );
    return rows;
  }

  async function can(subject: string, object: string, action: string): Promise<boolean> {
    return policy.can({ tenantID, version: await versionOf(), subjects: [subject], object, action });
  }

  test('each changed rule is a version of the tenant, and the last one is its current version', async () => {
    const em = orm.em.fork();
    await changeRules(em, tenantID, {
      add: [
        { subject: 'u', object: 'workflow:*', action: 'read' },
        { subject: 'u', role: 'role:a' },
      ],
    });
    await changeRules(em, tenantID, { add: [{ subject: 'u', object: 'workflow:*', action: 'read' }] });
    await changeRules(em, tenantID, { remove: [{ subject: 'u', role: 'role:a' }] });

    expect(await versionOf()).toBe(3);
    expect((await changes()).map(({ version, op, rule }) => `${version} ${op} ${rule.kind}`).sort()).toEqual([
      expect.stringMatching(/^1 add/),
      expect.stringMatching(/^2 add/),
      '3 remove grouping',
    ]);
    expect(await rules()).toEqual(['rule u workflow:* read allow ']);
  });

  test('of any number of rules that are removed one by one in a change, none stays', async () => {
    const em = orm.em.fork();
    const own = Array.from({ length: 450 }, (_, n) => ({ subject: 'key', object: `widget:${n}`, action: 'read' }));
    await changeRules(em, tenantID, { add: own });
    expect(await rules()).toHaveLength(450);

    await changeRules(em, tenantID, { remove: own });

    expect(await rules()).toEqual([]);
    expect(await versionOf()).toBe(900);
  });

  test('a rule that is removed and added in one change stays', async () => {
    const em = orm.em.fork();
    const remaining = { subject: 'role:a', object: 'workflow:*', action: 'read' };
    await changeRules(em, tenantID, { add: [remaining, { ...remaining, action: 'update' }] });

    await changeRules(em, tenantID, { remove: [{ subject: 'role:a' }], add: [remaining] });

    expect(await rules()).toEqual(['rule role:a workflow:* read allow ']);
  });

  test('a change that is rolled back leaves no rule and no version', async () => {
    const change = orm.em.fork().transactional(async (em) => {
      await changeRules(em, tenantID, { add: [{ subject: 'u', object: '*', action: '*' }] });
      throw new Error('no');
    });

    await expect(change).rejects.toThrow('no');
    expect(await versionOf()).toBe(0);
    expect(await rules()).toEqual([]);
  });

  test("pending entities are written together with the rules: a tenant and its creator's rules", async () => {
    const em = orm.em.fork();
    const tenant = em.create(Tenant, { tenantTitle: 'Another', creatorID: newID() });
    await em.flush();
    const id = newID();
    em.create(Tenant, { id, tenantTitle: 'A third', creatorID: newID() });

    await changeRules(em, id, { add: [{ subject: 'u', object: '*', action: '*' }] });

    expect(await versionOf(id)).toBe(1);
    expect(await versionOf(tenant.id)).toBe(0);
  });

  test('text of any kind is stored unchanged', async () => {
    const odd = `it's "odd" \\ $1 ? ?? % ${'é'}`;
    await changeRules(orm.em.fork(), tenantID, { add: [{ subject: odd, object: odd, action: odd }] });

    expect(await rules()).toEqual([`rule ${odd} ${odd} ${odd} allow `]);
    await changeRules(orm.em.fork(), tenantID, { remove: [{ subject: odd, object: odd }] });
    expect(await rules()).toEqual([]);
  });

  test('a removal without conditions is refused', async () => {
    await changeRules(orm.em.fork(), tenantID, { add: [{ subject: 'u', object: '*', action: '*' }] });

    await expect(changeRules(orm.em.fork(), tenantID, { remove: [{}] })).rejects.toThrow('every rule');
    expect(await rules()).toHaveLength(1);
  });

  test('concurrent changes each get versions of their own', async () => {
    const at = (n: number) => ({ subject: `u${n}`, object: `workflow:${n}`, action: '*' });
    await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        changeRules(orm.em.fork(), tenantID, { add: [at(n)], remove: [{ subject: `u${n - 1}` }] }),
      ),
    );

    const all = await changes();
    expect(all.map(({ version }) => version)).toEqual(all.map((_, index) => index + 1));
    expect(await versionOf()).toBe(all.length);
    const left = new Set<string>();
    for (const { op, rule } of all)
      if (op === 'add') left.add(rule.subject ?? '');
      else left.delete(rule.subject ?? '');
    expect((await rules()).map((rule) => rule.split(' ')[1])).toEqual([...left].sort());
  });

  test("an asset is created with its creators' rules, and deleted with every rule on it", async () => {
    const em = tenantEntityManager(orm.em, tenantID);
    const [userID, apiKeyID] = [newID(), newID()];
    const caller: Caller = { type: 'apiKey', id: apiKeyID, userID, origin: 'direct' };
    const data = { id: newID(), title: 'A workflow', workflowOptions: {}, versionID: newID() };

    const workflow = await createAsset(em, caller, 'workflow', Workflow, data);
    await em.flush();

    expect(workflow).toMatchObject({ tenantID, creatorID: userID, createdByApiKeyID: apiKeyID });
    expect(await can(userID, `workflow:${workflow.id}`, 'delete')).toBe(true);
    expect(await can(apiKeyID, `workflow:${workflow.id}`, 'delete')).toBe(true);
    expect(await can(userID, 'workflow:*', 'read')).toBe(false);

    await changeRules(em, tenantID, {
      add: [{ subject: 'role:a', object: `workflow:${workflow.id}`, action: 'read' }],
    });
    await deleteAsset(em, 'workflow', workflow);
    await em.flush();

    expect(await rules()).toEqual([]);
    expect(await can(userID, `workflow:${workflow.id}`, 'delete')).toBe(false);
    expect(await tenantEntityManager(orm.em, tenantID).count(Workflow, {})).toBe(0);
  });

  test('a rolled-back asset leaves neither row nor rule', async () => {
    const work = tenantEntityManager(orm.em, tenantID).transactional(async (em) => {
      const caller: Caller = { type: 'user', id: newID(), origin: 'direct' };
      await createAsset(em, caller, 'workflow', Workflow, {
        title: 'A workflow',
        workflowOptions: {},
        versionID: newID(),
      });
      throw new Error('no');
    });

    await expect(work).rejects.toThrow('no');
    expect(await rules()).toEqual([]);
    expect(await tenantEntityManager(orm.em, tenantID).count(Workflow, {})).toBe(0);
  });
});
