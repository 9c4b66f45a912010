import type { z } from 'zod';
import type { Role as RoleEntity } from '#shared/entities/tables/role.ts';
import type { Role } from './schemas.ts';

export function presentRole(role: RoleEntity): z.input<typeof Role> {
  const { id, roleName, permissions, assetPermissions } = role;
  const tenantID = role.tenantID ?? null;
  return {
    id,
    roleID: id,
    tenantID,
    roleName,
    roleDescription: role.roleDescription ?? null,
    rolePermissions: permissions,
    assetPermissions,
    isGlobal: tenantID === null,
    folderID: role.folderID ?? null,
    homePageID: role.homePageID ?? null,
    creatorID: role.creatorID ?? null,
    createdByApiKeyID: role.createdByApiKeyID ?? null,
    createdAt: role.createdAt.toISOString(),
    updatedAt: role.updatedAt.toISOString(),
  };
}
