import { FIRST_ID } from '../core/ids.ts';
import { keysetPages } from '../db/keyset-pages.ts';
import { inTransaction, type Pool } from '../db/pool.ts';
import { onClient, type Query } from '../db/query.ts';
import { lockRules } from './policy/change.ts';
import { removeRole, rewriteRoles, roleSubject, type StoredRole } from './policy/roles.ts';

const BATCH = 100;

/**
 * Writes a change or deletion of a role of the deployment to every tenant that has the role, one after the other.
 * May be interrupted at any point and called again, also in another process (`resumePropagation`).
 */
export async function propagateRole(pool: Pool, roleID: string, onFailure: OnFailure = rethrow): Promise<void> {
  const { rows } = await pool.query<{ revision: string }>(
    'select updated_at::text as revision from role where id = $1',
    [roleID],
  );
  const revision = rows[0]?.revision;
  if (revision === undefined) return;
  let hasFailed = false;
  const pages = keysetPages({
    from: FIRST_ID,
    read: async (after) => (await pool.query<{ id: string }>(TENANTS, [roleSubject(roleID), after, BATCH])).rows,
    keyOf: ({ id }) => id,
  });
  for await (const tenants of pages) {
    for (const { id: tenantID } of tenants) {
      await inTransaction(pool, (client) => propagateTo(onClient(client), tenantID, roleID)).catch((error: unknown) => {
        hasFailed = true;
        onFailure(error, { roleID, tenantID });
      });
    }
    await pool.query('update role set spreading_at = now() where id = $1', [roleID]);
  }
  // The role stays marked as being propagated, so the propagation is resumed.
  if (hasFailed) return;
  await pool.query('delete from role where id = $1 and deleting_at is not null', [roleID]);
  // If the role was changed again, the process that changed it still propagates it.
  await pool.query('update role set spreading_at = null where id = $1 and updated_at = $2::timestamptz', [
    roleID,
    revision,
  ]);
}

/** Called for each tenant to which a role could not be written. The role is written to the other tenants nevertheless. */
type OnFailure = (error: unknown, ids: { roleID: string; tenantID?: string }) => void;

function rethrow(error: unknown): never {
  throw error;
}

/** Continues the propagation of processes that have ended. Returns the number of roles that were begun. */
export async function resumePropagation(pool: Pool, onFailure: OnFailure = rethrow): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from role where spreading_at < now() - interval '30 seconds' order by spreading_at limit 10`,
  );
  for (const { id: roleID } of rows)
    await propagateRole(pool, roleID, onFailure).catch((error: unknown) => onFailure(error, { roleID }));
  return rows.length;
}

/** Writes the role as it is now, not as it was when the propagation began: of two processes, both write the latest role. */
async function propagateTo(query: Query, tenantID: string, roleID: string): Promise<void> {
  await lockRules(query, tenantID);
  const { rows } = await query<StoredRole & { isDeleting: boolean }>(ROLE, [roleID]);
  const role = rows[0];
  if (role && !role.isDeleting) await rewriteRoles(query, tenantID, [role]);
  else await removeRole(query, tenantID, roleID);
}

const ROLE = `
select id, tenant_id as "tenantID", role_name as "roleName", permissions, asset_permissions as "assetPermissions",
  deleting_at is not null as "isDeleting"
from role where id = $1`;

const TENANTS = `
select t.id from tenant t
where t.id > $2 and (
  exists (select from policy_rule r where r.kind = 'grouping' and r.role = $1 and r.tenant_id = t.id)
  or exists (select from policy_rule r where r.subject = $1 and r.subject like 'role:%' and r.tenant_id = t.id))
order by t.id limit $3`;
