import { z } from 'zod';
import { idOf } from '#shared/core/schema/reference.ts';
import { DatabaseURL } from '#shared/datasources/tenant-database/url.ts';
import { explorerPage, pageFields, pageQuery } from '../../http/fields/paging.ts';
import { RoleReference } from '../../http/fields/response-parts.ts';
import { Title } from '../../http/fields/text.ts';
import { AssetCounts } from './count.ts';
import {
  exampleCountedTenant,
  exampleOwnTenant,
  exampleTenant,
  exampleTenantCreate,
  exampleTenantUpdate,
} from './examples.ts';
import { logoPath } from './logo-path.ts';

const Relationship = z.enum(['ADMIN', 'MEMBER']);

export const TenantID = z.object({ tenantID: idOf('tenant') });

const Description = z.string().max(10_000).nullish();

export const TenantCreate = z
  .object({
    tenantTitle: Title,
    tenantDescription: Description,
    tenantDBURL: DatabaseURL.nullish(),
  })
  .meta({ id: 'TenantCreate', examples: [exampleTenantCreate] });

export const DatabaseTest = z
  .object({ tenantDBURL: DatabaseURL })
  .meta({ id: 'TenantDatabaseTest', examples: [{ tenantDBURL: exampleTenantCreate.tenantDBURL }] });

/** Absent fields stay as they are, null clears a field. */
export const TenantUpdate = z
  .object({
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
  })
  .meta({ id: 'TenantUpdate', examples: [exampleTenantUpdate] });

export const TenantList = z.object({
  ...pageQuery(explorerPage),
  search: z.string().max(255).optional(),
});

export const Tenant = z
  .object({
    id: z.uuid(),
    tenantID: z.uuid(),
    tenantTitle: z.string(),
    tenantDescription: z.string().nullable(),
    tenantLogoURL: z.string().nullable(),
    tenantDBURL: z.string().nullable().describe('The mask if the tenant has a database of its own'),
    pausedAt: z.iso
      .datetime()
      .nullable()
      .describe('Since when runs of all workflows are kept and none begins; null: not paused'),
    creatorID: z.uuid(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Tenant', examples: [exampleTenant] });

/** Whether a worker could connect to the database of a tenant that is created with a database URL. */
export const DatabaseConnection = z.object({ connected: z.boolean(), message: z.string().optional() }).meta({
  id: 'TenantDatabaseConnection',
  examples: [{ connected: true }],
});

/** A tenant in a member's list. */
export const OwnTenant = Tenant.extend({
  role: Relationship,
  roles: z.array(RoleReference),
}).meta({ id: 'OwnTenant', examples: [exampleOwnTenant] });

const Membership = z
  .object({ tenantID: z.uuid(), userID: z.uuid(), role: Relationship })
  .meta({ id: 'TenantMembership' });

/** A tenant with the membership of the caller only: to see other members needs another permission. */
export const CountedTenant = OwnTenant.extend({
  relationships: z.array(Membership),
  ...AssetCounts.shape,
}).meta({ id: 'CountedTenant', examples: [exampleCountedTenant] });

export const OwnTenants = z.object({ tenants: z.array(OwnTenant), ...pageFields }).meta({ id: 'TenantPage' });
