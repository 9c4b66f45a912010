import { z } from 'zod';
import { permissions } from '#shared/access/policy/permissions.ts';
import { operatorRoute } from '../../context/routes.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { createGlobalRole, deleteAnyRole, listAllRoles, updateAnyRole } from './of-deployment.ts';
import { AllRolesList, Role, RoleCreate, RoleID, Roles, RoleUpdate } from './schemas.ts';

export const operatorRoleRoutes = [
  operatorRoute({
    name: 'listAllRoles',
    method: 'get',
    path: '/roles',
    summary: 'List the roles of all tenants',
    description: 'Returns the roles of the deployment and of every tenant, newest first.',
    query: AllRolesList,
    response: Roles,
    errors: ['413'],
    handle: listAllRoles,
  }),

  operatorRoute({
    name: 'createGlobalRole',
    method: 'post',
    path: '/roles',
    summary: 'Create a role of the deployment',
    description: 'Every tenant can assign the role.',
    status: 201,
    body: RoleCreate,
    idempotent: 'transaction',
    response: z.object({ role: Role, message: Message }),
    handle: createGlobalRole,
  }),

  operatorRoute({
    name: 'updateAnyRole',
    method: 'patch',
    path: '/roles/:roleID',
    summary: 'Update any role',
    description:
      'Changes a role of the deployment, in every tenant that assigned it, or a role of one tenant. Fields that are left out stay as they are.',
    params: RoleID,
    body: RoleUpdate,
    response: z.object({ role: Role, message: Message }),
    errors: ['404'],
    handle: updateAnyRole,
  }),

  operatorRoute({
    name: 'deleteAnyRole',
    method: 'delete',
    path: '/roles/:roleID',
    summary: 'Delete any role',
    description: 'Deletes a role of the deployment, in every tenant that assigned it, or a role of one tenant.',
    params: RoleID,
    response: z.object({ message: Message }),
    errors: ['404'],
    handle: deleteAnyRole,
  }),

  operatorRoute({
    name: 'listAllPermissions',
    method: 'get',
    path: '/permissions',
    summary: 'List permissions as an operator',
    description: 'Returns every permission of the catalogue.',
    response: z.object({ permissions: z.array(z.string()) }),

    async handle() {
      return { permissions: [...permissions] };
    },
  }),
];
