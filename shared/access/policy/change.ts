import type { EntityManager } from '@mikro-orm/postgresql';
import { newID } from '../../core/ids.ts';
import { inEntityTransaction, onEntities, type Query } from '../../db/query.ts';

/** A rule (what a subject may do) or a grouping (a role that it has). */
export type RuleSpec =
  | { subject: string; object: string; action: string; effect?: 'allow' | 'deny' }
  | { subject: string; role: string };

/** Matches the rules that have all values which are present: all rules of a subject or object, one role of a subject, or one rule. */
export interface RuleMatch {
  subject?: string;
  object?: string;
  action?: string;
  effect?: 'allow' | 'deny';
  role?: string;
}

export interface RuleChange {
  remove?: readonly RuleMatch[];
  add?: readonly RuleSpec[];
}

/**
 * Flushes the entity manager, then removes and adds rules, in its transaction or a new one. Each changed rule is also recorded
 * as one version of the tenant, so that every process notices.
 */
export async function changeRules(em: EntityManager, tenantID: string, change: RuleChange): Promise<void> {
  const { remove = [], add = [] } = change;
  if (remove.length + add.length === 0) return;
  await inEntityTransaction(em, async () => {
    await em.flush();
    await writeRules(onEntities(em), tenantID, change);
  });
}

/** Like `changeRules`, in the transaction of `query`, for code without an entity manager. */
export async function writeRules(query: Query, tenantID: string, { remove = [], add = [] }: RuleChange): Promise<void> {
  if (remove.length + add.length === 0) return;
  await lockRules(query, tenantID);
  for (let from = 0; from < remove.length; from += maxMatches) {
    const { where, params } = matching(remove.slice(from, from + maxMatches));
    await query(removeStatement(where), [tenantID, ...params]);
  }
  if (add.length > 0) await query(ADD, [tenantID, JSON.stringify(add.map(toRow))]);
}

/**
 * Locks a tenant's rules until the transaction ends. This is a separate statement, so that the next one sees what the previous change has
 * added, and the row of the tenant as that change left it. A single statement that locked and updated the row would follow the versions of
 * the row twice: with five at once that ended in a deadlock once in 13,000 changes. To avoid deadlocks, take this lock before any other.
 */
export async function lockRules(query: Query, tenantID: string): Promise<void> {
  await query('select id from tenant where id = $1 for no key update', [tenantID]);
}

/** Limit of matches in one statement, since Postgres plans each of them as a condition. */
const maxMatches = 200;

function toRow(spec: RuleSpec) {
  const isGrouping = 'role' in spec;
  return {
    id: newID(),
    kind: isGrouping ? 'grouping' : 'rule',
    subject: spec.subject,
    object: isGrouping ? '' : spec.object,
    action: isGrouping ? '' : spec.action,
    effect: isGrouping ? 'allow' : (spec.effect ?? 'allow'),
    role: isGrouping ? spec.role : '',
  };
}

/** Records each changed rule under a version of its own; the last of these becomes the version of the tenant. */
const record = (op: 'add' | 'remove') => `
raised as (
  update tenant set policy_version = policy_version + (select count(*) from changed)
  where id = $1 and exists (select from changed) returning policy_version
)
insert into policy_change (tenant_id, version, op, rule)
select $1, policy_version - row_number() over (order by changed.subject, changed.object) + 1, '${op}',
  jsonb_build_object('kind', kind, 'subject', subject, 'object', object, 'action', action, 'effect', effect, 'role', role)
from changed, raised`;

const columns = 'kind, subject, object, action, effect, role';

const ADD = `
with changed as (
  insert into policy_rule (id, tenant_id, ${columns})
  select r.id, tenant.id, r.kind, r.subject, r.object, r.action, r.effect, r.role
  from tenant, jsonb_to_recordset($2::jsonb)
    as r(id uuid, kind text, subject text, object text, action text, effect text, role text)
  where tenant.id = $1
  on conflict do nothing
  returning ${columns}
),${record('add')}`;

const removeStatement = (where: string) => `
with changed as (
  delete from policy_rule where tenant_id = $1 and kind in ('rule', 'grouping') and (${where}) returning ${columns}
),${record('remove')}`;

const matchable = ['subject', 'object', 'action', 'effect', 'role'] as const satisfies (keyof RuleMatch)[];

/** Builds a condition on the columns that each match names, so that an index finds the rows; `$1` is the tenant. */
function matching(matches: readonly RuleMatch[]): { where: string; params: string[] } {
  const params: string[] = [];
  const where = matches.map((match) => {
    const conditions = matchable.flatMap((column) => {
      const value = match[column];
      return value === undefined ? [] : [`${column} = $${params.push(value) + 1}`];
    });
    if (conditions.length === 0) throw new Error('A match without conditions would remove every rule of the tenant');
    return `(${conditions.join(' and ')})`;
  });
  return { where: where.join(' or '), params };
}
