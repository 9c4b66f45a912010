import type { Pool } from '../../db/pool.ts';

/** A row of `policy_rule`: what a subject may do (`rule`), or a role that it has (`grouping`). */
export interface StoredRule {
  kind: 'rule' | 'grouping';
  subject: string;
  object: string;
  action: string;
  effect: 'allow' | 'deny';
  role: string;
}

/** A row of `policy_change`: the change that led to the version. */
export interface StoredChange {
  version: number;
  op: 'add' | 'remove';
  rule: StoredRule;
}

/** Reads all rules of a tenant and their version, as of one moment; no rules if the tenant does not exist. */
export async function readRules(pool: Pool, tenantID: string): Promise<{ version: number; rules: StoredRule[] }> {
  const { rows } = await pool.query<StoredRule & { version: number }>(READ, [tenantID]);
  return { version: rows[0]?.version ?? 0, rules: rows.filter(({ kind }) => kind !== null) };
}

/** Reads at most `maxChanges` changes after a version, oldest first. */
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
