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
  /** An external address, or the address of an uploaded logo. */
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
  /** The mask if a URL is stored. */
  tenantDBURL: z.string().nullable(),
  creatorID: z.uuid(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});

/** For a tenant that is created with a database URL: whether a worker could connect. */
export const DatabaseConnection = z.object({ connected: z.boolean(), message: z.string().optional() });

/** A tenant in a member's list. */
export const OwnTenant = Tenant.extend({
  role: Relationship,
  roles: z.array(z.object({ roleID: z.uuid(), roleName: z.string() })),
});

/** With the caller's own role; other members need another permission. */
export const CountedTenant = OwnTenant.extend({
  relationships: z.array(z.object({ tenantID: z.uuid(), userID: z.uuid(), role: Relationship })),
  ...AssetCounts.shape,
});

export const OwnTenants = z.object({ tenants: z.array(OwnTenant), ...pageFields });
