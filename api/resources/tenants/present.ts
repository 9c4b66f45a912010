import type { z } from 'zod';
import { MASK } from '#shared/core/schema/secret.ts';
import type { Tenant as TenantEntity } from '#shared/entities/tables/tenant.ts';
import type { Tenant } from './schemas.ts';

export function presentTenant(tenant: TenantEntity): z.input<typeof Tenant> {
  const { id, tenantTitle, creatorID } = tenant;
  return {
    id,
    tenantID: id,
    tenantTitle,
    tenantDescription: tenant.tenantDescription ?? null,
    tenantLogoURL: tenant.tenantLogoURL ?? null,
    tenantDBURL: tenant.tenantDBURL ? MASK : null,
    pausedAt: tenant.pausedAt?.toISOString() ?? null,
    creatorID,
    createdAt: tenant.createdAt.toISOString(),
    updatedAt: tenant.updatedAt.toISOString(),
  };
}
