import { z } from 'zod';
import { ID } from '../../http/id.ts';
import { explorerPage, pageFields, pageQuery } from '../../http/paging.ts';

export const TenantID = z.object({ tenantID: ID });

const Title = z.string().min(1).max(255);
const Description = z.string().max(10_000).nullish();

export const TenantCreate = z.object({
  tenantTitle: Title,
  tenantDescription: Description,
  /** Accepted, and not kept: the tenant database manager is what will use it. */
  tenantDBURL: z.string().max(2_048).optional(),
});

/** Undefined leaves, null clears. */
export const TenantUpdate = z.object({ tenantTitle: Title.optional(), tenantDescription: Description });

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
  creatorID: z.uuid(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});

/** As its member sees it in the list. */
export const OwnTenant = Tenant.extend({ role: z.enum(['ADMIN', 'MEMBER']) });

export const CountedTenant = Tenant.extend({ tenantUserCount: z.int(), tenantWorkflowCount: z.int() });

export const OwnTenants = z.object({ tenants: z.array(OwnTenant), ...pageFields });
