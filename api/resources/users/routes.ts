import type { FilterQuery } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { TenantUser as TenantUserEntity } from '#shared/entities/tables/tenant-user.ts';
import { tenantRoute } from '../../context/routes.ts';
import { containing, findPage } from '../../http/fields/paging.ts';
import { addUser } from './add.ts';
import { describeUser, describeUsers } from './find.ts';
import { removeUser } from './remove.ts';
import { TenantUser, TenantUserID, TenantUserList, TenantUsers } from './schemas.ts';
import { setUserRoles } from './set-roles.ts';

export const userRoutes = [
  tenantRoute({
    name: 'listTenantUsers',
    method: 'get',
    path: '/users',
    summary: 'List users',
    description: 'Returns the members and invitations of the tenant that the caller may read, newest first.',
    permission: 'user.list',
    filter: true,
    query: TenantUserList,
    response: TenantUsers,

    async handle({ query, em, visible }) {
      const text = query.search && containing(query.search);
      const where: FilterQuery<TenantUserEntity> = {
        ...(await visible('user.read')),
        ...(query.folderID && { folderID: query.folderID }),
        ...(text && { $or: [{ email: text }, { firstName: text }, { lastName: text }] }),
      };
      const { rows, fields } = await findPage(em, TenantUserEntity, { where, query });
      return { users: await describeUsers(em, rows), ...fields };
    },
  }),

  addUser,

  tenantRoute({
    name: 'getTenantUser',
    method: 'get',
    path: '/users/:tenantUserID',
    summary: 'Get a user',
    description: 'Returns a member or an invitation, with their roles.',
    permission: 'user.read',
    object: ({ params }) => `user:${params.tenantUserID}`,
    params: TenantUserID,
    response: z.object({ user: TenantUser }),

    async handle({ params, em }) {
      return { user: await describeUser(em, params.tenantUserID) };
    },
  }),

  removeUser,
  setUserRoles,
];
