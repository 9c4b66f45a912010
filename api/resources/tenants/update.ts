import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { inEntityTransaction } from '#shared/db/query.ts';
import { Tenant as TenantEntity } from '#shared/entities/tables/tenant.ts';
import { tenantRoute } from '../../context/routes.ts';
import { deleteLogos } from './delete-logos.ts';
import { logoPath } from './logo-path.ts';
import { presentTenant } from './present.ts';
import { Tenant, TenantID, TenantUpdate } from './schemas.ts';

export const updateTenant = tenantRoute({
  name: 'updateTenant',
  method: 'patch',
  path: '',
  summary: 'Update a tenant',
  description:
    'Changes the title, the description or the address of the logo. Fields that are left out stay as they are, `null` clears a field.',
  permission: 'tenant.update',
  object: ({ params }) => `tenant:${params.tenantID}`,
  params: TenantID,
  body: TenantUpdate,
  response: z.object({ tenant: Tenant }),

  async handle({ body: { tenantTitle, tenantDescription, tenantLogoURL }, tenantID, em }) {
    const tenant = await em.findOneOrFail(TenantEntity, { id: tenantID });
    const isNewLogo = tenantLogoURL !== undefined && tenantLogoURL !== (tenant.tenantLogoURL ?? null);
    // Every upload has its own address, and only the last one is stored.
    if (isNewLogo && tenantLogoURL?.startsWith(logoPath('')))
      throw new AppError(
        'VALIDATION_ERROR',
        'tenantLogoURL: expected the address that the last upload of a logo for this tenant returned',
      );
    em.assign(tenant, { tenantTitle, tenantDescription }, { ignoreUndefined: true });
    await inEntityTransaction(em, async () => {
      if (isNewLogo) {
        tenant.tenantLogoURL = tenantLogoURL;
        // Locks the tenant's row first, in the same order as an upload.
        await em.flush();
        await deleteLogos(em, tenantID);
      }
      await em.flush();
    });
    return { tenant: presentTenant(tenant) };
  },
});
