import type { AssetPermission, RolePermission } from '../../access/policy/permissions.ts';
import { defineEntity, identified, p } from '../base.ts';

/** A named set of permissions. A tenant sees its own roles and those of the deployment, which have no tenant. */
export const RoleSchema = defineEntity({
  name: 'Role',
  tableName: 'role',
  filters: {
    tenant: {
      name: 'tenant',
      cond: (args: { tenantID?: string }) => ({
        $or: [{ tenantID: args.tenantID }, { tenantID: null }],
        deletingAt: null,
      }),
      default: true,
    },
  },
  properties: {
    ...identified,
    tenantID: p.uuid().nullable(),
    roleName: p.string(),
    roleDescription: p.text().nullable(),
    permissions: p.json().$type<RolePermission[]>(),
    assetPermissions: p.json().$type<AssetPermission[]>(),
    /** Null: created by an operator. */
    creatorID: p.uuid().nullable(),
    createdByApiKeyID: p.uuid().nullable(),
    folderID: p.uuid().nullable(),
    /** The page in which its members begin. */
    homePageID: p.uuid().nullable(),
    /** Set while a change to a role of the deployment is being written to the tenants that have the role. */
    spreadingAt: p.datetime().nullable(),
    deletingAt: p.datetime().nullable(),
  },
});

export class Role extends RoleSchema.class {}
RoleSchema.setClass(Role);
