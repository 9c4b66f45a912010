import type { ApiContext } from '../context/context.ts';

/** Members who are checked at most, and those with the permission who are notified at most. */
const MAX_MEMBERS = 200;
const MAX_TOLD = 50;

/** Users who may approve calls of tools in the tenant. */
export async function approversOf(
  { pool, access: { policy } }: Pick<ApiContext, 'pool' | 'access'>,
  tenantID: string,
): Promise<string[]> {
  const { rows } = await pool.query<{ userID: string; version: number }>(MEMBERS, [tenantID, MAX_MEMBERS]);
  const approvers: string[] = [];
  for (const { userID, version } of rows) {
    const policyCaller = { tenantID, version, subjects: [userID] };
    if (await policy.can({ ...policyCaller, object: 'ai:*', action: 'approve' })) approvers.push(userID);
    if (approvers.length === MAX_TOLD) break;
  }
  return approvers;
}

const MEMBERS = `
select m.user_id as "userID", t.policy_version as version
from membership m join tenant t on t.id = m.tenant_id join app_user u on u.id = m.user_id and not u.is_disabled
where m.tenant_id = $1 order by m.user_id limit $2`;
