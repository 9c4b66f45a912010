import { defineEntity, p, tenantFilter } from '../base.ts';

/** The one image a tenant has; a later one takes its row. */
export const TenantLogoSchema = defineEntity({
  name: 'TenantLogo',
  tableName: 'tenant_logo',
  filters: tenantFilter,
  properties: {
    tenantID: p.uuid().primary(),
    /** In its public address: another image, another address. */
    id: p.uuid(),
    contentType: p.string(),
    digest: p.text(),
    bytes: p.blob(),
    createdAt: p.datetime().onCreate(() => new Date()),
  },
});

export class TenantLogo extends TenantLogoSchema.class {}
TenantLogoSchema.setClass(TenantLogo);
