import type { AssetPermission, RolePermission } from '../../policy/permissions.ts';
import { defineEntity, identified, p } from '../base.ts';

/** What may be granted together. A tenant sees its own roles and those of the whole deployment, which have no tenant. */
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
    /** Null: an operator. */
    creatorID: p.uuid().nullable(),
    createdByApiKeyID: p.uuid().nullable(),
    folderID: p.uuid().nullable(),
    /** While a change is still being carried to the tenants in which a role of the deployment is assigned. */
    spreadingAt: p.datetime().nullable(),
    deletingAt: p.datetime().nullable(),
  },
});

export class Role extends RoleSchema.class {}
RoleSchema.setClass(Role);
