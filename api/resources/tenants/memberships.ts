import type { Query } from '#shared/db/query.ts';

/** A user's membership and roles in a tenant. */
export interface TenantMembership {
  role: 'ADMIN' | 'MEMBER';
  roles: { roleID: string; roleName: string }[];
}

export interface TenantMemberships {
  get(tenantID: string): TenantMembership;
}

/** Reads the memberships and roles of a user in these tenants, in one statement. */
export async function readTenantMemberships(
  query: Query,
  userID: string,
  tenantIDs: readonly string[],
): Promise<TenantMemberships> {
  const { rows } = await query<TenantMembership & { tenantID: string }>(MEMBERSHIPS, [
    userID,
    JSON.stringify(tenantIDs),
  ]);
  const found = new Map(rows.map(({ tenantID, role, roles }) => [tenantID, { role, roles }]));
  // A user who has left since the list was read is shown as a member without roles.
  return { get: (tenantID) => found.get(tenantID) ?? { role: 'MEMBER', roles: [] } };
}

const MEMBERSHIPS = `
select m.tenant_id as "tenantID", m.role, (
  select coalesce(jsonb_agg(jsonb_build_object('roleID', r.id, 'roleName', r.role_name) order by r.role_name, r.id), '[]')
  from policy_rule p join role r
    on r.id = case when p.role ~ '^role:[0-9a-f-]{36}$' then substr(p.role, 6)::uuid end and r.deleting_at is null
  where p.tenant_id = m.tenant_id and p.kind = 'grouping' and p.subject = m.user_id::text
) as roles
from membership m
where m.user_id = $1 and m.tenant_id in (select value::uuid from jsonb_array_elements_text($2::jsonb))`;
