import { defineEntity, p, tenantFilter } from '../base.ts';

/** The image of a tenant as earlier versions stored it. New ones are files of the purpose `logo`. */
export const TenantLogoSchema = defineEntity({
  name: 'TenantLogo',
  tableName: 'tenant_logo',
  filters: tenantFilter,
  properties: {
    tenantID: p.uuid().primary(),
    /** Part of its public URL, so that a new image has a new URL. */
    id: p.uuid(),
    contentType: p.string(),
    digest: p.text(),
    bytes: p.blob(),
    createdAt: p.datetime().onCreate(() => new Date()),
  },
});

export class TenantLogo extends TenantLogoSchema.class {}
TenantLogoSchema.setClass(TenantLogo);
