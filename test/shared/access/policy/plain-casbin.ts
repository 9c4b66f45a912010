import { type Enforcer, newEnforcer, newModelFromString } from 'casbin';
import { MODEL } from '#shared/access/policy/model.ts';
import type { StoredRule } from '#shared/access/policy/rules.ts';

export interface PlainCasbin {
  load(rules: readonly StoredRule[]): Promise<void>;
  /** Whether one of several subjects is allowed and none denied. */
  can(subjects: readonly string[], object: string, action: string): boolean;
}

const tenant = 'tenant';

/** casbin as its manual describes it, with all rules of the tenant. */
export async function plainCasbin(): Promise<PlainCasbin> {
  const make = () => newEnforcer(newModelFromString(MODEL));
  const [full, onlyAllowed, onlyDenied] = [await make(), await make(), await make()];
  return {
    async load(rules) {
      await fill(full, rules);
      await fill(onlyAllowed, withEffect(rules, 'allow'));
      await fill(onlyDenied, withEffect(rules, 'deny'));
    },
    can(subjects, object, action) {
      const some = (enforcer: Enforcer) =>
        subjects.some((subject) => enforcer.enforceSync(subject, tenant, object, action));
      return subjects.length === 1 ? some(full) : some(onlyAllowed) && !some(onlyDenied);
    },
  };
}

/** The rules of one effect, as rules that allow: so casbin tells whether any of them matches. */
function withEffect(rules: readonly StoredRule[], effect: string): StoredRule[] {
  return rules.flatMap((rule) =>
    rule.effect === effect || rule.kind === 'grouping' ? [{ ...rule, effect: 'allow' }] : [],
  );
}

async function fill(enforcer: Enforcer, rules: readonly StoredRule[]): Promise<void> {
  enforcer.clearPolicy();
  const lines = rules.filter(({ kind }) => kind === 'rule');
  const groupings = rules.filter(({ kind }) => kind === 'grouping');
  if (lines.length > 0)
    await enforcer.addPolicies(
      lines.map(({ subject, object, action, effect }) => [subject, tenant, object, action, effect]),
    );
  await enforcer.buildRoleLinks();
  if (groupings.length > 0)
    await enforcer.addGroupingPolicies(groupings.map(({ subject, role }) => [subject, role, tenant]));
}
