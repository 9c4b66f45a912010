import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { createEvaluator } from '#shared/access/policy/evaluator.ts';
import { RuleIndex, type VisibilityFilter } from '#shared/access/policy/rule-index.ts';
import type { StoredChange, StoredRule } from '#shared/access/policy/rules.ts';
import { type PlainCasbin, plainCasbin } from '#test/shared/access/policy/plain-casbin.ts';
import { runsOf, takesAll } from '#test/support/sample.ts';

const tenantID = 'tenant';
const evaluate = createEvaluator();

const users = ['ada', 'ben', 'key'];
const roles = ['role:a', 'role:b', 'role:c'];
/** More levels than casbin follows. */
const ladder = Array.from({ length: 13 }, (_, n) => `step:${n}`);
const ids = ['1', '12', '123', '2', 'é😀', '😀'];
const patterns = [
  ...['*', '**', '*:1', 'w*', 'work*', 'workflow*', 'workflow:*', 'workflow:**', 'workflow:*2', 'workflow:*:x'],
  ...['workflow:1*', 'workflow:1*3', 'workflow:12*', 'workflow:é*', 'workflow:a*b', 'dataquery:*', 'workflows:*'],
];
const plainNames = ['workflow', 'workflow:', 'dataquery:1', '', ':', ...ids.map((id) => `workflow:${id}`)];
const objects = [...patterns, ...plainNames];
const actions = ['read', 'update', '*'];

const rule = fc
  .record({
    subject: fc.constantFrom(...users, ...roles, 'step:3', 'step:10', 'step:11'),
    object: fc.constantFrom(...objects),
    action: fc.constantFrom(...actions, '*'),
    effect: fc.constantFrom<StoredRule['effect']>('allow', 'allow', 'allow', 'allow', 'allow', 'deny'),
  })
  .map((one): StoredRule => ({ kind: 'rule', role: '', ...one }));
const grouping = fc
  .oneof(
    fc.record({ subject: fc.constantFrom(...users, ...roles), role: fc.constantFrom(...roles, 'step:0') }),
    fc.nat(ladder.length - 2).map((n) => ({ subject: ladder[n] ?? '', role: ladder[n + 1] ?? '' })),
  )
  .map((one): StoredRule => ({ kind: 'grouping', object: '', action: '', effect: 'allow', ...one }));
const wholeLadder = ladder.slice(1).map(
  (role, n): StoredRule => ({
    kind: 'grouping',
    object: '',
    action: '',
    effect: 'allow',
    subject: `step:${n}`,
    role,
  }),
);
const anyRule = fc.oneof({ weight: 3, arbitrary: rule }, { weight: 1, arbitrary: grouping });
const question = fc.record({
  subjects: fc.uniqueArray(fc.constantFrom(...users, ...roles, 'step:0', 'step:1', 'nobody'), {
    minLength: 1,
    maxLength: 2,
  }),
  object: fc.constantFrom(...objects, 'workflow:3', 'workflow:1234', 'workflow:12:x', 'widget:1', 'wor', 'w'),
  action: fc.constantFrom(...actions, 'delete'),
});
const questionsEach = 20;
const situation = fc.record({
  before: fc.array(anyRule, { maxLength: 24, size: 'max' }),
  hasLadder: fc.boolean(),
  changes: fc.array(fc.record({ isRemoval: fc.boolean(), rule: anyRule, nth: fc.nat() }), { maxLength: 12 }),
  questions: fc.array(question, { minLength: questionsEach, maxLength: questionsEach }),
});

const keyOf = (one: StoredRule) => JSON.stringify(one, Object.keys(one).sort());

/** Changes the rules as the table does: adding an existing rule or removing a missing one has no effect. */
function play({
  before,
  hasLadder,
  changes,
}: Omit<typeof situation extends fc.Arbitrary<infer S> ? S : never, 'questions'>) {
  const rules = new Map([...before, ...(hasLadder ? wholeLadder : [])].map((one) => [keyOf(one), one]));
  const start = [...rules.values()];
  const deltas: StoredChange[] = [];
  const record = (op: StoredChange['op'], one: StoredRule) =>
    deltas.push({ version: deltas.length + 2, op, rule: { ...one } });
  for (const { isRemoval, rule: one, nth } of changes) {
    const victim = isRemoval ? [...rules.values()][nth % Math.max(1, rules.size)] : undefined;
    if (victim) {
      rules.delete(keyOf(victim));
      record('remove', victim);
    } else if (!rules.has(keyOf(one))) {
      rules.set(keyOf(one), one);
      record('add', one);
    }
  }
  return { start, deltas, end: [...rules.values()] };
}

function can(index: RuleIndex, subjects: readonly string[], object: string, action: string): boolean {
  const principals = index.principals(subjects);
  return evaluate({ tenantID, object, action }, index.deciding(principals, object, action), principals);
}

function sees({ allow, deny }: Pick<VisibilityFilter, 'allow' | 'deny'>, id: string): boolean {
  const [isAllowed = false, isDenied = false] = [allow, deny].map(
    ({ everything, prefixes, ids: named }) =>
      everything || named?.includes(id) || prefixes.some((prefix) => id.startsWith(prefix)),
  );
  return isAllowed && !isDenied;
}

describe('the index of rules', () => {
  let plain: PlainCasbin;
  beforeAll(async () => {
    plain = await plainCasbin();
  });

  test('decides like plain casbin, built at once or changed rule by rule', async () => {
    const counts = { asked: 0, allowed: 0 };
    await fc.assert(
      fc.asyncProperty(situation, async ({ questions, ...history }) => {
        const { start, deltas, end } = play(history);
        await plain.load(end);
        const changed = new RuleIndex(tenantID, { version: 1, rules: start });
        changed.apply(deltas);
        const anew = new RuleIndex(tenantID, { version: deltas.length + 1, rules: end });
        expect([changed.version, changed.size]).toEqual([anew.version, anew.size]);

        for (const { subjects, object, action } of questions) {
          const expected = plain.can(subjects, object, action);
          const answers = [changed, anew].map((index) => can(index, subjects, object, action));
          if (answers[0] !== expected || answers[1] !== expected)
            expect.fail(JSON.stringify({ subjects, object, action, expected, answers }));
          counts.asked += 1;
          counts.allowed += Number(expected);
        }
      }),
      runsOf('plain casbin', { all: 2_600, sampled: 300 }),
    );
    expect(counts.asked).toBeGreaterThan(takesAll ? 25_000 : 2_500);
    // Both answers are frequent.
    expect(counts.allowed / counts.asked).toBeGreaterThan(0.1);
    expect(counts.allowed / counts.asked).toBeLessThan(0.9);
  });

  test('decides like plain casbin with thousands of rules', async () => {
    const many = Array.from({ length: 3_000 }, (_, n): StoredRule => {
      const subject = [...users, ...roles][n % 6] ?? '';
      const object = n % 3 === 0 ? `workflow:${n}*` : `workflow:${n}`;
      return {
        kind: 'rule',
        subject,
        object,
        action: actions[n % 7] ?? 'read',
        effect: n % 11 ? 'allow' : 'deny',
        role: '',
      };
    });
    const groupings = fc.sample(grouping, 6);
    await plain.load([...many, ...groupings]);
    const index = new RuleIndex(tenantID, { version: 1, rules: [...many, ...groupings] });

    const answers = { true: 0, false: 0 };
    for (let n = 0; n < 60; n += 1) {
      // For half of them this subject has a rule on the object.
      const [subjects, object] = [[users[n % 3] ?? ''], `workflow:${n % 2 ? n * 53 : n * 48 + (n % 3)}`];
      const answer = can(index, subjects, object, 'read');
      expect(answer, object).toBe(plain.can(subjects, object, 'read'));
      answers[`${answer}`] += 1;
    }
    expect(Math.min(answers.true, answers.false)).toBeGreaterThan(5);
  });

  test('lists as visible exactly the objects that a check of each allows', () => {
    fc.assert(
      fc.property(situation, ({ questions, ...history }) => {
        const { start, deltas } = play(history);
        const index = new RuleIndex(tenantID, { version: 1, rules: start });
        index.apply(deltas);
        for (const { subjects, action } of questions) {
          const scopes = index.scopes(index.principals(subjects), { type: 'workflow', action, maxIDs: 1_000 });
          for (const id of [...ids, 'a', '3', '1234', '12:x', ''])
            if (sees(scopes, id) !== can(index, subjects, `workflow:${id}`, action))
              expect.fail(JSON.stringify({ subjects, action, id, scopes }));
        }
      }),
      runsOf('visible objects', { all: 1_000, sampled: 200 }),
    );
  });

  test('is empty after every rule was removed', () => {
    fc.assert(
      fc.property(fc.uniqueArray(anyRule, { maxLength: 20, selector: keyOf }), (rules) => {
        const index = new RuleIndex(tenantID, { version: 0, rules });
        index.apply(rules.map((one, n) => ({ version: n + 1, op: 'remove', rule: one })));
        expect(index.size).toBe(0);
        expect(index.principals(users)).toEqual(new Set(users));
        const subjects = [...users, ...roles, ...ladder];
        expect(objects.flatMap((object) => index.deciding(subjects, object, 'read'))).toEqual([]);
      }),
    );
  });

  test('names no more ids than requested', () => {
    const rules = ['1', '2', '3'].map(
      (id): StoredRule => ({
        kind: 'rule',
        subject: 'ada',
        object: `workflow:${id}`,
        action: '*',
        effect: 'allow',
        role: '',
      }),
    );
    const index = new RuleIndex(tenantID, { version: 1, rules });
    const scopes = (maxIDs: number) => index.scopes(['ada'], { type: 'workflow', action: 'read', maxIDs }).allow.ids;

    expect(scopes(3)).toEqual(['1', '2', '3']);
    expect(scopes(2)).toBeNull();
  });
});
