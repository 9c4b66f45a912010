import { z } from 'zod';
import { lockRules } from '#shared/access/policy/change.ts';
import { forgetAsset, removeRole } from '#shared/access/policy/roles.ts';
import { onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { findOwnRole } from './find.ts';
import { RoleID } from './schemas.ts';

export const deleteRole = tenantRoute({
  name: 'deleteRole',
  method: 'delete',
  path: '/roles/:roleID',
  summary: 'Delete a role',
  description: 'Deletes a role. Its members lose what it granted.',
  permission: 'role.delete',
  object: ({ params }) => `role:${params.roleID}`,
  params: RoleID,
  response: z.object({ message: Message }),

  async handle({ params, em, tenantID }) {
    await deleteOwnRole(em, { tenantID, roleID: params.roleID });
    return { message: 'Role deleted' };
  },
});

/** Deletes a role of the entity manager's tenant, with its rules and assignments. */
export async function deleteOwnRole(
  em: EntityManager,
  { tenantID, roleID }: { tenantID: string; roleID: string },
): Promise<void> {
  await em.transactional(async (tx) => {
    const query = onEntities(tx);
    await lockRules(query, tenantID);
    const role = await findOwnRole(tx, roleID);
    await removeRole(query, tenantID, role.id);
    await forgetAsset(query, tenantID, { type: 'role', id: role.id });
    tx.remove(role);
  });
}
