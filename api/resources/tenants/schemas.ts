import { z } from 'zod';
import { DatabaseURL } from '#shared/database-url.ts';
import { ID } from '../../http/id.ts';
import { explorerPage, pageFields, pageQuery } from '../../http/paging.ts';
import { Title } from '../../http/text.ts';
import { AssetCounts } from './count.ts';
import { logoPath } from './logo-path.ts';

const Relationship = z.enum(['ADMIN', 'MEMBER']);

export const TenantID = z.object({ tenantID: ID });

const Description = z.string().max(10_000).nullish();

export const TenantCreate = z.object({
  tenantTitle: Title,
  tenantDescription: Description,
  tenantDBURL: DatabaseURL.nullish(),
});

/** Undefined leaves, null clears. */
export const TenantUpdate = z.object({
  tenantTitle: Title.optional(),
  tenantDescription: Description,
  /** Somewhere else, or what an upload has set. */
  tenantLogoURL: z
    .union([z.url({ protocol: /^https$/ }), z.string().startsWith(logoPath(''))], {
      error: 'must be an https URL, or what an upload has answered',
    })
    .pipe(z.string().max(2_048))
    .nullish(),
  tenantDBURL: z.never({ error: 'can be given only when the tenant is created' }).optional(),
});

export const TenantList = z.object({
  ...pageQuery(explorerPage),
  search: z.string().max(255).optional(),
});

export const Tenant = z.object({
  id: z.uuid(),
  tenantID: z.uuid(),
  tenantTitle: z.string(),
  tenantDescription: z.string().nullable(),
  tenantLogoURL: z.string().nullable(),
  /** The mask when there is one. */
  tenantDBURL: z.string().nullable(),
  creatorID: z.uuid(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});

/** Of a tenant that is created with a database: whether a worker got through to it. */
export const DatabaseConnection = z.object({ connected: z.boolean(), message: z.string().optional() });

/** As its member sees it in the list. */
export const OwnTenant = Tenant.extend({
  role: Relationship,
  roles: z.array(z.object({ roleID: z.uuid(), roleName: z.string() })),
});

/** With what the caller is in it; who else is there is another permission's matter. */
export const CountedTenant = OwnTenant.extend({
  relationships: z.array(z.object({ tenantID: z.uuid(), userID: z.uuid(), role: Relationship })),
  ...AssetCounts.shape,
});

export const OwnTenants = z.object({ tenants: z.array(OwnTenant), ...pageFields });
