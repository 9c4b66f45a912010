import { type Enforcer, newEnforcer, newModelFromString } from 'casbin';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPool, type Pool } from '#shared/db/pool.ts';
import { newID } from '#shared/ids.ts';
import { createPolicy, type Policy } from '#shared/policy/enforcer.ts';
import { MODEL } from '#shared/policy/model.ts';
import { type FreshDatabase, freshDatabase } from '#test/support/database.ts';
import { testLogger } from '#test/support/environment.ts';

interface Rule {
  tenant: number;
  subject: string;
  object: string;
  action: string;
  effect: 'allow' | 'deny';
}

interface Grouping {
  tenant: number;
  subject: string;
  role: string;
}

const users = ['ada', 'ben', 'key'];
const roles = ['role:a', 'role:b', 'role:c'];
const ids = ['1', '12', '2', 'a*b'];
const patterns = [
  '*',
  'w*',
  'work*',
  'workflow:*',
  'workflow:1*',
  'workflow:12*',
  'workflow:*2',
  'workflow:',
  'dataquery:*',
  'dataquery:1',
];
const objects = [...ids.map((id) => `workflow:${id}`), ...patterns];

const rule = fc.record<Rule>({
  tenant: fc.nat(1),
  subject: fc.constantFrom(...users, ...roles),
  object: fc.constantFrom(...objects),
  action: fc.constantFrom('read', 'update', '*'),
  effect: fc.constantFrom('allow', 'allow', 'allow', 'deny'),
});
const grouping = fc.record<Grouping>({
  tenant: fc.nat(1),
  subject: fc.constantFrom(...users, ...roles),
  role: fc.constantFrom(...roles),
});
const question = fc.record({
  tenant: fc.nat(1),
  subjects: fc.uniqueArray(fc.constantFrom(...users, 'nobody'), { minLength: 1, maxLength: 2 }),
  object: fc.constantFrom(...objects, 'workflow:3', 'workflow:123', 'widget:1'),
  action: fc.constantFrom('read', 'update', 'delete', '*'),
});
const situation = fc.record({
  rules: fc.array(rule, { maxLength: 12 }),
  groupings: fc.array(grouping, { maxLength: 6 }),
  questions: fc.array(question, { minLength: 8, maxLength: 12 }),
});

describe('the policy', () => {
  let database: FreshDatabase;
  let pool: Pool;
  let policy: Policy;
  beforeAll(async () => {
    database = await freshDatabase();
    pool = createPool({ url: database.url, poolSize: 5 }, testLogger);
    policy = createPolicy(pool, testLogger);
  });
  afterAll(async () => {
    await policy[Symbol.asyncDispose]();
    await pool.end();
    await database[Symbol.asyncDispose]();
  });

  async function store({
    rules,
    groupings,
  }: {
    rules: readonly Rule[];
    groupings: readonly Grouping[];
  }): Promise<string[]> {
    const tenants = [newID(), newID()];
    const rows = [
      ...rules.map((one) => ({ ...one, kind: 'rule', role: '' })),
      ...groupings.map((one) => ({ ...one, kind: 'grouping', object: '', action: '', effect: 'allow' })),
    ].map(({ tenant, ...row }) => ({ ...row, id: newID(), tenant_id: tenants[tenant] }));
    await pool.query(
      `insert into tenant (id, tenant_title, creator_id, policy_version) select id, '', id, 1 from unnest($1::uuid[]) as t(id)`,
      [tenants],
    );
    await pool.query(
      `insert into policy_rule (id, tenant_id, kind, subject, object, action, effect, role)
       select id, tenant_id, kind, subject, object, action, effect, role from jsonb_populate_recordset(null::policy_rule, $1::jsonb)
       on conflict do nothing`,
      [JSON.stringify(rows)],
    );
    return tenants;
  }

  test('it answers as the plain enforcer does, whatever the rules, roles, wildcards and denies', async () => {
    let asked = 0;
    await fc.assert(
      fc.asyncProperty(situation, async ({ rules, groupings, questions }) => {
        const tenants = await store({ rules, groupings });
        const plain = await plainEnforcer({ rules, groupings });
        for (const { tenant, subjects, object, action } of questions) {
          const asker = { tenantID: tenants[tenant] ?? '', version: 1, subjects };
          const expected = await plain.can(tenant, subjects, object, action);
          expect(await policy.can({ ...asker, object, action }), JSON.stringify({ subjects, object, action })).toBe(
            expected,
          );
          asked += 1;
        }
      }),
      { numRuns: 400 },
    );
    expect(asked).toBeGreaterThan(3_000);
  });

  test('what a list shows is exactly what may be asked of each', async () => {
    await fc.assert(
      fc.asyncProperty(situation, async ({ rules, groupings, questions }) => {
        const tenants = await store({ rules, groupings });
        const plain = await plainEnforcer({ rules, groupings });
        for (const { tenant, subjects, action } of questions) {
          const asker = { tenantID: tenants[tenant] ?? '', version: 1, subjects };
          const known = namedWorkflows(rules, tenant);
          const answers = await Promise.all(known.map((id) => plain.can(tenant, subjects, `workflow:${id}`, action)));
          const allowed = known.filter((_id, index) => answers[index]);

          const seen = await policy.visible({ ...asker, type: 'workflow', action });

          if (seen === 'all') {
            expect(allowed).toEqual(known);
            expect(await plain.can(tenant, subjects, `workflow:${newID()}`, action)).toBe(true);
          } else expect(seen.sort()).toEqual(allowed.sort());
        }
      }),
      { numRuns: 300 },
    );
  });

  test('a grant on a whole type reaches each of it', async () => {
    const [tenantID = ''] = await store({
      rules: [{ tenant: 0, subject: 'role:a', object: 'workflow:*', action: 'read', effect: 'allow' }],
      groupings: [{ tenant: 0, subject: 'ada', role: 'role:a' }],
    });
    const asker = { tenantID, version: 1, subjects: ['ada'] };

    expect(await policy.can({ ...asker, object: `workflow:${newID()}`, action: 'read' })).toBe(true);
    expect(await policy.can({ ...asker, object: 'workflow:*', action: 'read' })).toBe(true);
    expect(await policy.can({ ...asker, object: 'dataquery:*', action: 'read' })).toBe(false);
    expect(await policy.visible({ ...asker, type: 'workflow', action: 'read' })).toBe('all');
  });

  test('a rule of one object does not reach the whole type', async () => {
    const id = newID();
    const [tenantID = ''] = await store({
      rules: [{ tenant: 0, subject: 'ada', object: `workflow:${id}`, action: '*', effect: 'allow' }],
      groupings: [],
    });
    const asker = { tenantID, version: 1, subjects: ['ada'] };

    expect(await policy.can({ ...asker, object: 'workflow:*', action: 'list' })).toBe(false);
    expect(await policy.visible({ ...asker, type: 'workflow', action: 'read' })).toEqual([id]);
  });

  test('rules from before the version that a question brings are not used', async () => {
    const [tenantID = ''] = await store({
      rules: [{ tenant: 0, subject: 'ada', object: '*', action: '*', effect: 'allow' }],
      groupings: [],
    });
    const ask = (version: number) =>
      policy.can({ tenantID, version, subjects: ['ada'], object: 'workflow:*', action: 'read' });
    expect(await ask(1)).toBe(true);

    await pool.query('delete from policy_rule where tenant_id = $1', [tenantID]);
    await pool.query('update tenant set policy_version = 2 where id = $1', [tenantID]);

    expect(await Promise.all([ask(2), ask(2), ask(2)])).toEqual([false, false, false]);
    expect(await ask(1)).toBe(false);
  });

  test('in a tenant that is gone nobody may do anything', async () => {
    expect(await policy.can({ tenantID: newID(), version: 5, subjects: ['ada'], object: '*', action: 'read' })).toBe(
      false,
    );
    expect(
      await policy.visible({ tenantID: newID(), version: 5, subjects: ['ada'], type: 'workflow', action: 'read' }),
    ).toEqual([]);
  });

  test('ten thousand assets of one creator are listed without asking casbin ten thousand times', async () => {
    const rules = Array.from(
      { length: 10_000 },
      (): Rule => ({ tenant: 0, subject: 'ada', object: `workflow:${newID()}`, action: '*', effect: 'allow' }),
    );
    const [tenantID = ''] = await store({ rules, groupings: [] });
    const asker = { tenantID, version: 1, subjects: ['ada'] };
    await policy.can({ ...asker, object: '*', action: 'read' });

    const begun = performance.now();
    const seen = await policy.visible({ ...asker, type: 'workflow', action: 'read' });

    expect(seen).toHaveLength(10_000);
    expect(performance.now() - begun).toBeLessThan(250);
  });
});

function namedWorkflows(rules: readonly Rule[], tenant: number): string[] {
  const named = rules.filter((one) => one.tenant === tenant && /^workflow:[^*]*$/.test(one.object));
  return [...new Set(named.map(({ object }) => object.slice('workflow:'.length)))];
}

/** casbin as its manual has it, with every rule there is. Of several subjects, one must be allowed and none denied. */
async function plainEnforcer({ rules, groupings }: { rules: readonly Rule[]; groupings: readonly Grouping[] }) {
  const full = await enforcer(rules, groupings);
  const onlyAllowed = await enforcer(
    rules.filter(({ effect }) => effect === 'allow'),
    groupings,
  );
  const denied = rules.filter(({ effect }) => effect === 'deny').map((one): Rule => ({ ...one, effect: 'allow' }));
  const onlyDenied = await enforcer(denied, groupings);
  return {
    async can(tenant: number, subjects: readonly string[], object: string, action: string): Promise<boolean> {
      const ask = (one: Enforcer) =>
        Promise.all(subjects.map((subject) => one.enforce(subject, `t${tenant}`, object, action)));
      if (subjects.length === 1) return (await ask(full))[0] ?? false;
      return (await ask(onlyAllowed)).includes(true) && !(await ask(onlyDenied)).includes(true);
    },
  };
}

async function enforcer(rules: readonly Rule[], groupings: readonly Grouping[]): Promise<Enforcer> {
  const made = await newEnforcer(newModelFromString(MODEL));
  for (const { tenant, subject, object, action, effect } of rules)
    await made.addPolicy(subject, `t${tenant}`, object, action, effect);
  for (const { tenant, subject, role } of groupings) await made.addGroupingPolicy(subject, role, `t${tenant}`);
  return made;
}
