import type { z } from 'zod';
import type { TenantUser as TenantUserEntity } from '#shared/entities/tables/tenant-user.ts';
import type { User } from '#shared/entities/tables/user.ts';
import type { Person, TenantUser } from './schemas.ts';

export interface AssignedRole {
  id: string;
  roleName: string;
}

export function presentTenantUser(user: TenantUserEntity, roles: readonly AssignedRole[]): z.input<typeof TenantUser> {
  const { id, isDisabled, isPending, role } = user;
  return {
    id,
    tenantUserID: id,
    userID: isPending ? null : id,
    email: user.email ?? null,
    firstName: user.firstName ?? null,
    lastName: user.lastName ?? null,
    isDisabled,
    isPending,
    isTenantAdmin: role === 'ADMIN',
    userTenantRelationship: role,
    roles: roles.map((assigned) => ({ roleID: assigned.id, roleName: assigned.roleName })),
    folderID: user.folderID ?? null,
    lastSeen: user.lastSeen?.toISOString() ?? null,
    tenantUserFrom: user.createdAt.toISOString(),
    createdAt: user.createdAt.toISOString(),
    updatedAt: user.updatedAt.toISOString(),
  };
}

export function presentPerson(user: User): z.input<typeof Person> {
  const { id, isDisabled, createdAt, updatedAt } = user;
  return {
    userID: id,
    email: user.email ?? null,
    firstName: user.firstName ?? null,
    lastName: user.lastName ?? null,
    isDisabled,
    lastSeen: user.lastSeen?.toISOString() ?? null,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}
