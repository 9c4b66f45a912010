import type { EntityManager } from '#shared/entities/orm.ts';
import { TenantFile } from '#shared/entities/tables/tenant-file.ts';
import { TenantLogo } from '#shared/entities/tables/tenant-logo.ts';

/** Deletes the uploaded logo of a tenant, whose row is locked. */
export async function deleteLogos(em: EntityManager, tenantID: string): Promise<void> {
  await em.nativeDelete(TenantFile, { tenantID, purpose: 'logo' });
  await em.nativeDelete(TenantLogo, { tenantID });
}
