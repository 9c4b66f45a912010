import { newID } from '../../core/ids.ts';
import { defineEntity, p, tenantFilter } from '../base.ts';

/** A rule (subject may or may not do action on object) or a grouping (subject has role), within one tenant. */
export const PolicyRuleSchema = defineEntity({
  name: 'PolicyRule',
  tableName: 'policy_rule',
  filters: tenantFilter,
  properties: {
    id: p
      .uuid()
      .primary()
      .onCreate(() => newID()),
    tenantID: p.uuid(),
    kind: p.string().$type<'rule' | 'grouping'>(),
    subject: p.text(),
    object: p.text().default(''),
    action: p.text().default(''),
    effect: p.string().$type<'allow' | 'deny'>().default('allow'),
    role: p.text().default(''),
    createdAt: p.datetime().onCreate(() => new Date()),
  },
});

export class PolicyRule extends PolicyRuleSchema.class {}
PolicyRuleSchema.setClass(PolicyRule);
