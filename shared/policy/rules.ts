import type { Pool } from '../db/pool.ts';

/** A row of `policy_rule`: what a subject may do (`rule`), or a role that it has (`grouping`). */
export interface StoredRule {
  kind: 'rule' | 'grouping';
  subject: string;
  object: string;
  action: string;
  effect: 'allow' | 'deny';
  role: string;
}

/** A row of `policy_change`: what made the version out of the one before. */
export interface StoredChange {
  version: number;
  op: 'add' | 'remove';
  rule: StoredRule;
}

/** All rules of a tenant and the version they are, as of one moment; without the tenant there are none. */
export async function readRules(pool: Pool, tenantID: string): Promise<{ version: number; rules: StoredRule[] }> {
  const { rows } = await pool.query<StoredRule & { version: number }>(READ, [tenantID]);
  return { version: rows[0]?.version ?? 0, rules: rows.filter(({ kind }) => kind !== null) };
}

/** The changes after a version, oldest first, `most` of them at most. */
export async function readChanges(
  pool: Pool,
  tenantID: string,
  { after, maxChanges }: { after: number; maxChanges: number },
): Promise<StoredChange[]> {
  const { rows } = await pool.query<StoredChange>({
    name: 'policy_changes',
    text: CHANGES,
    values: [tenantID, after, maxChanges],
  });
  return rows;
}

// One statement sees one moment: the rules can be neither older nor newer than the version.
const READ = `
select t.policy_version as version, r.kind, r.subject, r.object, r.action, r.effect, r.role
from tenant t left join policy_rule r on r.tenant_id = t.id
where t.id = $1`;

const CHANGES = `
select version, op, rule from policy_change where tenant_id = $1 and version > $2 order by version limit $3`;
