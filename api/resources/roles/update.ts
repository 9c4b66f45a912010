import { z } from 'zod';
import { lockRules } from '#shared/access/policy/change.ts';
import { type AssetPermission, isCovered } from '#shared/access/policy/permissions.ts';
import { type RoleContent, rewriteRoles } from '#shared/access/policy/roles.ts';
import { onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import type { Role as RoleEntity } from '#shared/entities/tables/role.ts';
import { tenantRoute } from '../../context/routes.ts';
import { requireGrantable } from '../../http/access/grant.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { findOwnRole } from './find.ts';
import { requireHomePage } from './home-page.ts';
import { presentRole } from './present.ts';
import { Role, RoleID, RoleUpdate } from './schemas.ts';

export const updateRole = tenantRoute({
  name: 'updateRole',
  method: 'patch',
  path: '/roles/:roleID',
  summary: 'Update a role',
  description: 'Fields that are left out stay as they are. The caller must hold every permission that is added.',
  permission: 'role.update',
  object: ({ params }) => `role:${params.roleID}`,
  params: RoleID,
  body: RoleUpdate,
  response: z.object({ role: Role, message: Message }),

  async handle({ params, body, em, tenantID, require, holds }) {
    const check = (added: RoleContent) => requireGrantable({ require, holds }, added);
    const role = await changeOwnRole(em, { tenantID, roleID: params.roleID, body }, check);
    return { role: presentRole(role), message: 'Role updated' };
  },
});

interface Change {
  tenantID: string;
  roleID: string;
  body: z.output<typeof RoleUpdate>;
}

/** Changes a role of the entity manager's tenant and its rules; `check` gets the added permissions before they are written. */
export async function changeOwnRole(
  em: EntityManager,
  { tenantID, roleID, body }: Change,
  check?: (added: RoleContent) => Promise<void>,
): Promise<RoleEntity> {
  return em.transactional(async (tx) => {
    const query = onEntities(tx);
    // Locked, so that each of two concurrent changes sees the other.
    await lockRules(query, tenantID);
    const role = await findOwnRole(tx, roleID);
    await check?.(additions(role, body));
    await requireHomePage(tx, body.homePageID);
    tx.assign(role, body, { ignoreUndefined: true });
    await tx.flush();
    await rewriteRoles(query, tenantID, [role]);
    return role;
  });
}

/** Permissions that the change adds; none to a role that may do everything already. */
function additions(
  before: RoleEntity,
  { permissions = [], assetPermissions = [] }: z.output<typeof RoleUpdate>,
): RoleContent {
  if (before.permissions.includes('*')) return { permissions: [], assetPermissions: [] };
  const known = new Set(before.assetPermissions.map(keyOf));
  return {
    permissions: permissions.filter((permission) => !isCovered(permission, before.permissions)),
    assetPermissions: assetPermissions.filter((asset) => !known.has(keyOf(asset))),
  };
}

function keyOf({ resourceType, resourceID, action }: AssetPermission): string {
  return `${resourceType} ${resourceID} ${action}`;
}
