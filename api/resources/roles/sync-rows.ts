import { lockRules, writeRules } from '#shared/access/policy/change.ts';
import { type Difference, rewriteRoles, roleSubject, type StoredRole } from '#shared/access/policy/roles.ts';
import type { Query } from '#shared/db/query.ts';

export interface RepairedRole extends Difference {
  roleID: string;
  /** Null for a role that is not stored. */
  roleName: string | null;
}

/**
 * Makes a tenant's rules agree with the stored roles: its own, and those of the deployment that its members have. Rules of roles
 * that are not stored are removed. Answers with the roles whose rules were wrong.
 */
export async function syncRoles(query: Query, tenantID: string): Promise<RepairedRole[]> {
  await lockRules(query, tenantID);
  const { rows: roles } = await query<StoredRole>(ROLES, [tenantID]);
  const { rows: used } = await query<{ role: string; rules: number }>(USED, [tenantID]);

  const known = new Set(roles.map(({ id }) => roleSubject(id)));
  const unknown = used.filter(({ role }) => !known.has(role));
  const remove = unknown.flatMap(({ role }) => [{ subject: role }, { role }]);
  await writeRules(query, tenantID, { remove });
  const differences = await rewriteRoles(query, tenantID, roles);

  const repaired = roles.map(({ id, roleName }) => {
    const { added, removed } = differences.get(id) ?? { added: 0, removed: 0 };
    return { roleID: id, roleName, added, removed };
  });
  const removed = unknown.map(({ role, rules }) => ({
    roleID: role.slice(roleSubject('').length),
    roleName: null,
    added: 0,
    removed: Number(rules),
  }));
  return [...repaired, ...removed].filter((role) => role.added + role.removed > 0);
}

const OF_ROLES = `
select case kind when 'grouping' then role else subject end as role from policy_rule
where tenant_id = $1 and (kind = 'grouping' and role like 'role:%' or kind = 'rule' and subject like 'role:%')`;

const USED = `select role, count(*) as rules from (${OF_ROLES}) as rule group by role order by role`;

const ROLES = `
select id, tenant_id as "tenantID", role_name as "roleName", permissions, asset_permissions as "assetPermissions"
from role
where deleting_at is null
  and (tenant_id = $1 or tenant_id is null and 'role:' || id::text in (${OF_ROLES}))
order by id`;
