import { z } from 'zod';
import { permissions } from '#shared/policy/permissions.ts';
import { operatorRoute } from '../../http/route.ts';
import { createGlobalRole, deleteAnyRole, listAllRoles, updateAnyRole } from './of-deployment.ts';
import { AllRolesList, Role, RoleCreate, RoleID, Roles, RoleUpdate } from './schemas.ts';

export const operatorRoleRoutes = [
  operatorRoute({
    method: 'get',
    path: '/roles',
    summary: 'The roles of the deployment and of every tenant, newest first',
    query: AllRolesList,
    response: Roles,
    handle: listAllRoles,
  }),

  operatorRoute({
    method: 'post',
    path: '/roles',
    summary: 'Create a role that every tenant may assign',
    status: 201,
    body: RoleCreate,
    idempotent: 'transaction',
    response: z.object({ role: Role, message: z.string() }),
    handle: createGlobalRole,
  }),

  operatorRoute({
    method: 'patch',
    path: '/roles/:roleID',
    summary: 'Change a role, in every tenant that has it; what is left out stays',
    params: RoleID,
    body: RoleUpdate,
    response: z.object({ role: Role, message: z.string() }),
    errors: ['404'],
    handle: updateAnyRole,
  }),

  operatorRoute({
    method: 'delete',
    path: '/roles/:roleID',
    summary: 'Delete a role, in every tenant that has it',
    params: RoleID,
    response: z.object({ message: z.string() }),
    errors: ['404'],
    handle: deleteAnyRole,
  }),

  operatorRoute({
    method: 'get',
    path: '/permissions',
    summary: 'Every permission there is',
    response: z.object({ permissions: z.array(z.string()) }),

    async handle() {
      return { permissions: [...permissions] };
    },
  }),
];
