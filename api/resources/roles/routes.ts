import type { FilterQuery } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { permissions } from '#shared/access/policy/permissions.ts';
import { onEntities } from '#shared/db/query.ts';
import { Role as RoleEntity } from '#shared/entities/tables/role.ts';
import { tenantRoute } from '../../context/routes.ts';
import { containing, findPage } from '../../http/fields/paging.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { addReadyRoles } from './add-ready.ts';
import { createRole } from './create.ts';
import { deleteRole } from './delete.ts';
import { findRole } from './find.ts';
import { listMyPermissions } from './mine.ts';
import { presentRole } from './present.ts';
import { RepairedRole, Role, RoleID, RoleList, Roles } from './schemas.ts';
import { syncRoles } from './sync-rows.ts';
import { updateRole } from './update.ts';

/** Fixed paths come before `:roleID`, which would take them for an id. */
export const roleRoutes = [
  tenantRoute({
    name: 'listRoles',
    method: 'get',
    path: '/roles',
    summary: 'List roles',
    description:
      "Returns the roles the caller may read, newest first: the tenant's own and those of the whole deployment.",
    permission: 'role.list',
    filter: true,
    query: RoleList,
    response: Roles,
    errors: ['413'],

    async handle({ query, em, visible }) {
      const where: FilterQuery<RoleEntity> = {
        ...(await visible('role.read')),
        ...(query.search && { roleName: containing(query.search) }),
        ...(query.folderID && { folderID: query.folderID }),
      };
      const { rows, fields } = await findPage(em, RoleEntity, {
        where,
        query,
        large: ['assetPermissions', 'permissions'],
      });
      return { roles: rows.map(presentRole), ...fields };
    },
  }),

  createRole,
  addReadyRoles,

  tenantRoute({
    name: 'listPermissions',
    method: 'get',
    path: '/roles/permissions',
    summary: 'List permissions',
    description: 'Returns every permission of the catalogue.',
    permission: 'permission.list',
    response: z.object({ permissions: z.array(z.string()) }),

    async handle() {
      return { permissions: [...permissions] };
    },
  }),

  listMyPermissions,

  tenantRoute({
    name: 'syncRolePolicies',
    method: 'post',
    path: '/roles/sync-policies',
    summary: 'Repair policy rules',
    description: 'Makes the policy rules agree with the stored roles again, and returns which roles differed.',
    permission: 'role.update',
    response: z.object({
      added: z.int(),
      removed: z.int(),
      roles: z.array(RepairedRole),
      message: Message,
    }),
    idempotent: false,

    async handle({ em, tenantID }) {
      const roles = await em.transactional((tx) => syncRoles(onEntities(tx), tenantID));
      const added = roles.reduce((sum, role) => sum + role.added, 0);
      const removed = roles.reduce((sum, role) => sum + role.removed, 0);
      const message = roles.length === 0 ? 'Nothing had drifted' : `Rules added: ${added}, removed: ${removed}`;
      return { added, removed, roles, message };
    },
  }),

  tenantRoute({
    name: 'getRole',
    method: 'get',
    path: '/roles/:roleID',
    summary: 'Get a role',
    description: 'Returns a role with its permissions.',
    permission: 'role.read',
    object: ({ params }) => `role:${params.roleID}`,
    params: RoleID,
    response: z.object({ role: Role }),

    async handle({ params, em }) {
      return { role: presentRole(await findRole(em, params.roleID)) };
    },
  }),

  updateRole,
  deleteRole,
];
