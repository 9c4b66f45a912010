import { TenantFile } from '#shared/db/entities/tenant-file.ts';
import { TenantLogo } from '#shared/db/entities/tenant-logo.ts';
import type { EntityManager } from '#shared/db/orm.ts';

/** Deletes the uploaded logo of a tenant, whose row is locked. */
export async function deleteLogos(em: EntityManager, tenantID: string): Promise<void> {
  await em.nativeDelete(TenantFile, { tenantID, purpose: 'logo' });
  await em.nativeDelete(TenantLogo, { tenantID });
}
