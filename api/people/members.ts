import { type RuleSpec, writeRules } from '#shared/access/policy/change.ts';
import { assignRoles, forgetAsset } from '#shared/access/policy/roles.ts';
import type { Query } from '#shared/db/query.ts';

export interface NewMember {
  tenantID: string;
  userID: string;
  roleIDs: readonly string[];
  folderID: string | null;
}

/**
 * Makes a user a member with these roles, in the transaction of `query`, which has locked the tenant's rules. Roles that are
 * deleted are passed over. Answers whether the user was not a member before.
 */
export async function addMember(query: Query, { tenantID, userID, roleIDs, folderID }: NewMember): Promise<boolean> {
  const { rowCount } = await query(
    `insert into membership (tenant_id, user_id, role, folder_id) values ($1, $2, 'MEMBER', $3) on conflict do nothing`,
    [tenantID, userID, folderID],
  );
  if (rowCount === 0) return false;
  await writeRules(query, tenantID, { add: ownRules(userID) });
  await assignRoles(query, tenantID, { subject: userID, roleIDs });
  return true;
}

/**
 * Removes a member from a tenant, with the rules that give the member rights, the rules that give others rights on the member, and all
 * rights of the member's API keys.
 */
export async function removeMember(
  query: Query,
  { tenantID, userID }: { tenantID: string; userID: string },
): Promise<void> {
  await query('delete from membership where tenant_id = $1 and user_id = $2', [tenantID, userID]);
  const keys = await query<{ id: string }>(DISABLE_KEYS, [tenantID, userID]);
  await query('delete from ai_session where tenant_id = $1 and user_id = $2', [tenantID, userID]);
  const remove = [{ subject: userID }, { object: `user:${userID}` }, ...keys.rows.map(({ id }) => ({ subject: id }))];
  await writeRules(query, tenantID, { remove });
  await forgetAsset(query, tenantID, { type: 'user', id: userID });
}

/** Sets the legacy role column and the rules that it stands for: an admin may do everything. */
export async function setRelationship(
  query: Query,
  { tenantID, userID, role }: { tenantID: string; userID: string; role: 'ADMIN' | 'MEMBER' },
): Promise<void> {
  await query('update membership set role = $3 where tenant_id = $1 and user_id = $2', [tenantID, userID, role]);
  const everything = { subject: userID, object: '*', action: '*' };
  if (role === 'ADMIN') await writeRules(query, tenantID, { add: [everything] });
  else await writeRules(query, tenantID, { remove: [{ ...everything, effect: 'allow' }], add: ownRules(userID) });
}

/** Whether the tenant has another admin who is not blocked. */
export async function hasOtherAdmin(
  query: Query,
  { tenantID, userID }: { tenantID: string; userID: string },
): Promise<boolean> {
  const { rows } = await query<{ found: boolean }>(
    `select exists (
       select from membership m join app_user u on u.id = m.user_id and not u.is_disabled
       where m.tenant_id = $1 and m.role = 'ADMIN' and m.user_id <> $2) as found`,
    [tenantID, userID],
  );
  return rows[0]?.found ?? false;
}

// The permissions of the key's row are emptied too, so that it shows what the key may do.
const DISABLE_KEYS = `
update api_key set is_disabled = true, permissions = '[]', updated_at = now()
where tenant_id = $1 and creator_id = $2 returning id`;

/** Each member may read and end their own membership. */
function ownRules(userID: string): RuleSpec[] {
  return ['read', 'delete'].map((action) => ({ subject: userID, object: `user:${userID}`, action }));
}
