import type { Query } from '../../db/query.ts';
import { readRoleIDs } from './roles.ts';

/** The names by which a list of approvers may mean a user: the id, the verified address, and the ids and names of the user's roles. */
export async function readApproverNames(query: Query, tenantID: string, userID: string): Promise<string[]> {
  const roleIDs = (await readRoleIDs(query, tenantID, [userID])).get(userID) ?? [];
  const { rows } = await query<{ name: string }>(NAMES, [userID, JSON.stringify(roleIDs)]);
  return [userID, ...roleIDs, ...rows.map(({ name }) => name)];
}

// An address that is not verified may be another person's.
const NAMES = `
select lower(email) as name from app_user where id = $1::uuid and email_verified_at is not null and email is not null
union all
select lower(role_name) from role where id::text in (select jsonb_array_elements_text($2::jsonb))`;
