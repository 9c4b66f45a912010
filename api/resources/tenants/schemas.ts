import { z } from 'zod';
import { DatabaseURL } from '#shared/database-url.ts';
import { ID } from '../../http/id.ts';
import { explorerPage, pageFields, pageQuery } from '../../http/paging.ts';

export const TenantID = z.object({ tenantID: ID });

const Title = z.string().min(1).max(255);
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
  /** An upload has set it already; a client that sends it back changes nothing. */
  tenantLogoURL: z.string().max(2_048).nullish(),
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

/** As its member sees it in the list. */
export const OwnTenant = Tenant.extend({ role: z.enum(['ADMIN', 'MEMBER']) });

export const CountedTenant = Tenant.extend({
  tenantUserCount: z.int(),
  tenantWorkflowCount: z.int(),
  tenantDatasourceCount: z.int(),
  tenantDataQueryCount: z.int(),
});

export const OwnTenants = z.object({ tenants: z.array(OwnTenant), ...pageFields });
