import { defineEntity, p, tenantFilter } from '../base.ts';

/** A view of the members and the invited people of a tenant; never written. */
export const TenantUserSchema = defineEntity({
  name: 'TenantUser',
  tableName: 'tenant_user',
  filters: tenantFilter,
  properties: {
    /** The user's id, or the invitation's. */
    id: p.uuid().primary(),
    tenantID: p.uuid().primary(),
    email: p.text().nullable(),
    firstName: p.text().nullable(),
    lastName: p.text().nullable(),
    isDisabled: p.boolean(),
    role: p.string().$type<'ADMIN' | 'MEMBER'>(),
    isPending: p.boolean(),
    /** Roles of an invitation; a member's roles are groupings among the rules. */
    roleIDs: p.json().$type<string[]>().fieldName('role_ids'),
    folderID: p.uuid().nullable(),
    lastSeen: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
});

export class TenantUser extends TenantUserSchema.class {}
TenantUserSchema.setClass(TenantUser);
