import type { MikroORM } from '@mikro-orm/postgresql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tenantEntityManager } from '#api/tenant/entity-manager.ts';
import { visibleRows } from '#api/tenant/visible-rows.ts';
import { changeRules, type RuleChange } from '#shared/access/policy/change.ts';
import type { IndexLimits } from '#shared/access/policy/index-cache.ts';
import { createPolicy, type Policy, seesSomething } from '#shared/access/policy/policy.ts';
import { RuleIndex, type VisibilityFilter } from '#shared/access/policy/rule-index.ts';
import { readRules } from '#shared/access/policy/rules.ts';
import { newID } from '#shared/core/ids.ts';
import { createPool, type Pool } from '#shared/db/pool.ts';
import { createOrm } from '#shared/entities/orm.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { type FreshDatabase, freshDatabase } from '#test/support/database.ts';
import { testLogger } from '#test/support/environment.ts';

describe('the policy', () => {
  let database: FreshDatabase;
  let pool: Pool;
  let orm: MikroORM;
  let policy: Policy;
  beforeAll(async () => {
    database = await freshDatabase();
    pool = createPool({ url: database.url, poolSize: 5 }, testLogger);
    orm = await createOrm({ url: database.url, poolSize: 5 }, testLogger);
    policy = createPolicy(pool, testLogger);
  });
  afterAll(async () => {
    await policy[Symbol.asyncDispose]();
    await orm.close();
    await pool.end();
    await database[Symbol.asyncDispose]();
  });

  async function aTenant(): Promise<string> {
    const id = newID();
    await pool.query(`insert into tenant (id, tenant_title, creator_id) values ($1, '', $1)`, [id]);
    return id;
  }

  const change = (tenantID: string, what: RuleChange) => changeRules(orm.em.fork(), tenantID, what);

  async function versionOf(tenantID: string): Promise<number> {
    const { rows } = await pool.query<{ version: number }>(
      'select policy_version as version from tenant where id = $1',
      [tenantID],
    );
    return rows[0]?.version ?? 0;
  }

  /** Number of statements of each kind, counted on a separate pool. */
  async function watched(limits?: IndexLimits) {
    const own = createPool({ url: database.url, poolSize: 3 }, testLogger);
    const seen = { loads: 0, changes: 0 };
    own.on('connect', (client) => {
      const query = client.query.bind(client) as (...args: unknown[]) => unknown;
      Object.assign(client, {
        query(...args: unknown[]) {
          const text = JSON.stringify(args[0] ?? '');
          if (text.includes('left join policy_rule')) seen.loads += 1;
          if (text.includes('from policy_change')) seen.changes += 1;
          return query(...args);
        },
      });
    });
    const itsPolicy = createPolicy(own, testLogger, limits);
    const can = async (tenantID: string, subject: string, object: string, action = 'read', version?: number) =>
      itsPolicy.can({
        tenantID,
        version: version ?? (await versionOf(tenantID)),
        subjects: [subject],
        object,
        action,
      });
    return { seen, can, policy: itsPolicy, [Symbol.asyncDispose]: () => own.end() };
  }

  test('a grant on a type covers every object of it, and a grant on an object only that object', async () => {
    const tenantID = await aTenant();
    const id = newID();
    await change(tenantID, {
      add: [
        { subject: 'role:a', object: 'workflow:*', action: 'read' },
        { subject: 'ada', role: 'role:a' },
        { subject: 'ada', object: `dataquery:${id}`, action: '*' },
      ],
    });
    const policyCaller = { tenantID, version: 3, subjects: ['ada'] };

    expect(await policy.can({ ...policyCaller, object: `workflow:${newID()}`, action: 'read' })).toBe(true);
    expect(await policy.can({ ...policyCaller, object: 'workflow:*', action: 'read' })).toBe(true);
    expect(await policy.can({ ...policyCaller, object: `dataquery:${id}`, action: 'execute' })).toBe(true);
    expect(await policy.can({ ...policyCaller, object: 'dataquery:*', action: 'read' })).toBe(false);
  });

  test('a newer version is loaded by its changes alone', async () => {
    const tenantID = await aTenant();
    await change(tenantID, { add: [{ subject: 'ada', object: 'workflow:1', action: 'read' }] });
    await using mine = await watched();
    expect(await mine.can(tenantID, 'ada', 'workflow:1')).toBe(true);

    await change(tenantID, { add: [{ subject: 'ada', object: 'workflow:2', action: 'read' }] });
    expect(await mine.can(tenantID, 'ada', 'workflow:2')).toBe(true);
    await change(tenantID, {
      remove: [{ subject: 'ada', object: 'workflow:1' }],
      add: [
        { subject: 'ada', role: 'role:b' },
        { subject: 'role:b', object: 'workflow:2', action: '*', effect: 'deny' },
      ],
    });
    expect(await mine.can(tenantID, 'ada', 'workflow:1')).toBe(false);
    expect(await mine.can(tenantID, 'ada', 'workflow:2')).toBe(false);
    await change(tenantID, { remove: [{ role: 'role:b' }] });
    expect(await mine.can(tenantID, 'ada', 'workflow:2')).toBe(true);

    expect(mine.seen).toEqual({ loads: 1, changes: 3 });
  });

  test('rules are read again when changes are missing or too many', async () => {
    const tenantID = await aTenant();
    await change(tenantID, { add: [{ subject: 'ada', object: '*', action: '*' }] });
    await using mine = await watched({ tenants: 10, rules: 1_000, changes: 3 });
    expect(await mine.can(tenantID, 'ada', 'workflow:1')).toBe(true);

    const numbered = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, n) => ({ subject: 'ben', object: `workflow:${from + n}`, action: 'read' }));
    await change(tenantID, { add: numbered(0, 4) });
    expect(await mine.can(tenantID, 'ben', 'workflow:3')).toBe(true);
    expect(mine.seen).toEqual({ loads: 2, changes: 1 });

    for (const which of [
      'version = (select min(version) from gone)',
      'version = (select max(version) from gone)',
      'true',
    ]) {
      const before = await versionOf(tenantID);
      await change(tenantID, { add: [{ subject: 'cleo', object: `workflow:${before}`, action: 'read' }] });
      await change(tenantID, { remove: [{ subject: 'cleo', object: `workflow:${before}` }] });
      await pool.query(
        `with gone as (select * from policy_change where tenant_id = $1 and version > $2)
         delete from policy_change where tenant_id = $1 and version > $2 and ${which}`,
        [tenantID, before],
      );
      expect(await mine.can(tenantID, 'cleo', `workflow:${before}`)).toBe(false);
    }
    expect(mine.seen.loads).toBe(5);
  });

  test('concurrent checks share one load, and none uses rules older than its version', async () => {
    const tenantID = await aTenant();
    await using mine = await watched();
    await change(tenantID, { add: [{ subject: 'ada', object: 'workflow:1', action: 'read' }] });
    const ask = (version: number) => mine.can(tenantID, 'ada', 'workflow:1', 'read', version);

    expect(await Promise.all(Array.from({ length: 50 }, () => ask(1)))).toEqual(Array.from({ length: 50 }, () => true));
    expect(mine.seen).toEqual({ loads: 1, changes: 0 });

    const early = ask(1);
    await change(tenantID, { remove: [{ subject: 'ada' }] });
    expect(await Promise.all([early, ...Array.from({ length: 50 }, () => ask(2))])).toEqual([
      true,
      ...Array.from({ length: 50 }, () => false),
    ]);
    expect(mine.seen).toEqual({ loads: 1, changes: 1 });
    // Newer rules answer for an older version too.
    expect(await ask(1)).toBe(false);
  });

  test('concurrent checks never see half of a change, and the next check sees all of it', async () => {
    const tenantID = await aTenant();
    await using mine = await watched({ tenants: 10, rules: 1_000, changes: 5 });
    await change(tenantID, { add: [{ subject: 'role:on', object: '*', action: '*' }] });
    let isOver = false;
    const questions = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        // Each change moves a rule from one of two subjects to the other.
        const version = await versionOf(tenantID);
        const [ada, ben] = await Promise.all(
          ['ada', 'ben'].map((subject) => mine.can(tenantID, subject, 'workflow:1', 'read', version)),
        );
        if (ada && ben) expect(await versionOf(tenantID)).toBeGreaterThan(version);
      }
    });
    for (let n = 0; n < 60; n += 1) {
      const [from, to] = n % 2 ? ['ada', 'ben'] : ['ben', 'ada'];
      await change(tenantID, { remove: [{ subject: from, role: 'role:on' }], add: [{ subject: to, role: 'role:on' }] });
      expect(await mine.can(tenantID, from, 'workflow:1')).toBe(false);
      expect(await mine.can(tenantID, to, 'workflow:1')).toBe(true);
    }
    isOver = true;
    await Promise.all(questions);
  });

  test('rules that could not be read are read for the next check', async () => {
    const tenantID = await aTenant();
    await change(tenantID, { add: [{ subject: 'ada', object: '*', action: '*' }] });
    const closed = createPool({ url: database.url, poolSize: 2 }, testLogger);
    const unlucky = createPolicy(closed, testLogger);
    const ask = () => unlucky.can({ tenantID, version: 1, subjects: ['ada'], object: 'workflow:1', action: 'read' });
    closed.options.connectionString = database.url.replace(/\/[^/?]*(\?|$)/, '/not_there$1');
    await expect(Promise.all([ask(), ask()])).rejects.toThrow();

    closed.options.connectionString = database.url;
    expect(await Promise.all([ask(), ask()])).toEqual([true, true]);
    await closed.end();
  });

  test('in a deleted tenant every check is denied', async () => {
    await using mine = await watched();
    const tenantID = newID();

    const answers = await Promise.all(Array.from({ length: 20 }, () => mine.can(tenantID, 'ada', '*', 'read', 5)));

    expect(answers).toEqual(answers.map(() => false));
    // The first load, and one more for all checks that came after it began.
    expect(mine.seen.loads).toBeLessThanOrEqual(2);
  });

  test('the rules of the tenants checked last are cached, up to a limit', async () => {
    await using mine = await watched({ tenants: 100, rules: 25, changes: 10 });
    const tenants = await Promise.all(Array.from({ length: 3 }, aTenant));
    const rules = Array.from({ length: 10 }, (_, n) => ({ subject: 'ada', object: `workflow:${n}`, action: 'read' }));
    for (const tenantID of tenants) await change(tenantID, { add: rules });
    const [first = '', second = '', third = ''] = tenants;

    for (const tenantID of [first, second, first, third])
      expect(await mine.can(tenantID, 'ada', 'workflow:1')).toBe(true);
    expect(mine.seen.loads).toBe(3);
    expect(await mine.can(first, 'ada', 'workflow:1')).toBe(true);
    expect(mine.seen.loads).toBe(3);
    expect(await mine.can(second, 'ada', 'workflow:1')).toBe(true);
    expect(mine.seen.loads).toBe(4);
  });

  test('a list shows exactly the objects that a check of each allows', async () => {
    const tenantID = await aTenant();
    const workflows = Array.from({ length: 24 }, () => newID());
    const versionID = newID();
    await pool.query(
      `insert into workflow (id, tenant_id, title, version_id, creator_id)
       select id, $2, 'One', $3, $3 from unnest($1::uuid[]) as id`,
      [workflows, tenantID, versionID],
    );
    const foreign = await aTenant();
    await pool.query(
      `insert into workflow (id, tenant_id, title, version_id, creator_id) values ($1, $2, 'Theirs', $3, $3)`,
      [newID(), foreign, versionID],
    );
    await change(foreign, { add: [{ subject: 'ada', object: 'workflow:*', action: '*' }] });
    const named = (n: number) => `workflow:${workflows[n] ?? ''}`;
    const prefixed = (n: number, length: number) => `${named(n).slice(0, 'workflow:'.length + length)}*`;
    const read = { action: 'read' } as const;
    const deny = { action: '*', effect: 'deny' } as const;
    const cases: Record<string, { object: string; action: string; effect?: 'allow' | 'deny' }[]> = {
      nothing: [],
      everything: [{ object: '*', action: '*' }],
      'everything but one': [
        { object: 'workflow:*', ...read },
        { object: named(3), ...deny },
      ],
      'everything but some': [
        { object: 'wor*', ...read },
        { object: prefixed(5, 36), ...deny },
        { object: prefixed(9, 34), ...deny },
      ],
      'all denied': [
        { object: 'workflow:*', action: '*' },
        { object: 'workflow:*', ...deny },
      ],
      some: [
        { object: named(0), ...read },
        { object: named(1), action: '*' },
        { object: named(2), action: 'update' },
      ],
      'one allowed and denied': [
        { object: named(0), ...read },
        { object: named(0), ...deny },
      ],
      'one allowed, and denied by a prefix': [
        { object: named(10), ...read },
        { object: prefixed(10, 30), ...deny },
      ],
      'some by prefix': [
        { object: prefixed(7, 36), ...read },
        { object: prefixed(8, 36), ...read },
        { object: named(2), ...read },
      ],
      'what is no id': [
        { object: 'workflow:not-an-id', ...read },
        { object: `${named(4)}' or true --`, ...read },
      ],
      'another type': [
        { object: `dataquery:${workflows[0]}`, ...read },
        { object: 'dataquery:*', action: '*' },
      ],
      'quotes and braces': [
        { object: 'workflow:{"\\,}*', ...read },
        { object: named(6), ...read },
      ],
    };
    const add = Object.entries(cases).flatMap(([role, rules]) => [
      { subject: `user of ${role}`, role: `role "${role}"` },
      ...rules.map((rule) => ({ subject: `role "${role}"`, ...rule })),
    ]);
    await change(tenantID, { add });
    // The others may see an object, even if none exists.
    const blind = [
      'nothing',
      'all denied',
      'one allowed and denied',
      'one allowed, and denied by a prefix',
      'another type',
    ];
    const index = new RuleIndex(tenantID, await readRules(pool, tenantID));
    const version = await versionOf(tenantID);
    const listed = async (visibilityFilters: readonly VisibilityFilter[]) => {
      const em = tenantEntityManager(orm.em, tenantID);
      const [rows, count] = await em.findAndCount(
        Workflow,
        { ...visibleRows(visibilityFilters), title: 'One' },
        { limit: 100 },
      );
      expect(rows).toHaveLength(count);
      return rows.map(({ id }) => id).sort();
    };

    for (const role of Object.keys(cases)) {
      const policyCaller = { tenantID, version, subjects: [`user of ${role}`] };
      const may = await Promise.all(
        workflows.map((id) => policy.can({ ...policyCaller, object: `workflow:${id}`, action: 'read' })),
      );
      const expected = workflows.filter((_id, n) => may[n]).sort();
      const asked = { type: 'workflow', action: 'read' };

      const visibilityFilters = await policy.visibilityFilters({ ...policyCaller, ...asked });
      expect(await listed(visibilityFilters), role).toEqual(expected);
      expect(seesSomething(visibilityFilters), `whether ${role} is something`).toBe(!blind.includes(role));
      const principals = index.principals(policyCaller.subjects);
      const unnamed = {
        tenantID,
        ...asked,
        principals: [...principals],
        ...index.scopes(principals, { ...asked, maxIDs: -1 }),
      };
      expect(await listed([unnamed]), `${role}, by the rules themselves`).toEqual(expected);
    }
  });
});
