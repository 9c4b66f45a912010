import { inTransaction, type Pool } from '../db/pool.ts';
import { onClient, type Query } from '../db/query.ts';
import { lockRules } from './policy/change.ts';
import { removeRole, rewriteRoles, roleSubject, type StoredRole } from './policy/roles.ts';

const BATCH = 100;
const beforeAll = '00000000-0000-0000-0000-000000000000';

/**
 * Writes a change or deletion of a role of the deployment to every tenant that has the role, one after the other.
 * May be interrupted at any point and called again, also in another process (`resumeSpreading`).
 */
export async function spreadRole(pool: Pool, roleID: string, onFailure: OnFailure = rethrow): Promise<void> {
  const { rows } = await pool.query<{ revision: string }>(
    'select updated_at::text as revision from role where id = $1',
    [roleID],
  );
  const revision = rows[0]?.revision;
  if (revision === undefined) return;
  let hasFailed = false;
  for (let after = beforeAll; ; ) {
    const { rows: tenants } = await pool.query<{ id: string }>(TENANTS, [roleSubject(roleID), after, BATCH]);
    for (const { id: tenantID } of tenants) {
      await inTransaction(pool, (client) => spreadTo(onClient(client), tenantID, roleID)).catch((error: unknown) => {
        hasFailed = true;
        onFailure(error, { roleID, tenantID });
      });
    }
    const last = tenants.at(-1);
    if (!last) break;
    after = last.id;
    await pool.query('update role set spreading_at = now() where id = $1', [roleID]);
  }
  // Still marked as spreading, so it is resumed.
  if (hasFailed) return;
  await pool.query('delete from role where id = $1 and deleting_at is not null', [roleID]);
  // If the role was changed again, the process that changed it is still spreading it.
  await pool.query('update role set spreading_at = null where id = $1 and updated_at = $2::timestamptz', [
    roleID,
    revision,
  ]);
}

/** Told of each tenant that a role could not be written to; the others get it all the same. */
type OnFailure = (error: unknown, ids: { roleID: string; tenantID?: string }) => void;

function rethrow(error: unknown): never {
  throw error;
}

/** Continues the spreading of processes that have ended. Returns the number of roles that were begun. */
export async function resumeSpreading(pool: Pool, onFailure: OnFailure = rethrow): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from role where spreading_at < now() - interval '30 seconds' order by spreading_at limit 10`,
  );
  for (const { id: roleID } of rows)
    await spreadRole(pool, roleID, onFailure).catch((error: unknown) => onFailure(error, { roleID }));
  return rows.length;
}

/** Writes the role as it is now, not as it was when the spreading began: of two processes, both write the latest role. */
async function spreadTo(query: Query, tenantID: string, roleID: string): Promise<void> {
  await lockRules(query, tenantID);
  const { rows } = await query<StoredRole & { isGone: boolean }>(ROLE, [roleID]);
  const role = rows[0];
  if (role && !role.isGone) await rewriteRoles(query, tenantID, [role]);
  else await removeRole(query, tenantID, roleID);
}

const ROLE = `
select id, tenant_id as "tenantID", role_name as "roleName", permissions, asset_permissions as "assetPermissions",
  deleting_at is not null as "isGone"
from role where id = $1`;

const TENANTS = `
select t.id from tenant t
where t.id > $2 and (
  exists (select from policy_rule r where r.kind = 'grouping' and r.role = $1 and r.tenant_id = t.id)
  or exists (select from policy_rule r where r.subject = $1 and r.subject like 'role:%' and r.tenant_id = t.id))
order by t.id limit $3`;
