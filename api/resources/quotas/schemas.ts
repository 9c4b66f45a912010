import { z } from 'zod';
import { type QuotaName, quotaNamesOf } from '#shared/access/quotas.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import { pageFields, pageQuery, standardPage } from '../../http/fields/paging.ts';
import { exampleListedTenant, exampleQuotas } from './examples.ts';

export const TenantID = z.object({ tenantID: idOf('tenant') });
export const UserID = z.object({ userID: idOf('user') });

const Quota = z
  .object({
    max: z.int().meta({ description: 'The most that there may be' }),
    used: z.int().meta({ description: 'How much there is' }),
    isDefault: z.boolean().meta({ description: 'False if an operator has set it' }),
  })
  .meta({ id: 'Quota', examples: [exampleQuotas.workflows] });

/** One field for each quota of the owner. */
function each<S extends z.ZodType>(names: readonly QuotaName[], schema: S) {
  return z.object(Object.fromEntries(names.map((name) => [name, schema])));
}

const Max = z.int().min(0).nullable().optional().meta({ description: 'Null sets the default again' });

const tenantQuotas = quotaNamesOf('tenant');
const userQuotas = quotaNamesOf('user');

export const TenantQuotas = each(tenantQuotas, Quota).meta({ id: 'TenantQuotas', examples: [exampleQuotas] });
export const TenantQuotasUpdate = each(tenantQuotas, Max).meta({
  id: 'TenantQuotasUpdate',
  examples: [{ workflows: 2_000, files: null }],
});
export const UserQuotas = each(userQuotas, Quota).meta({
  id: 'UserQuotas',
  examples: [{ tenants: { max: 200, used: 3, isDefault: true } }],
});
export const UserQuotasUpdate = each(userQuotas, Max).meta({ id: 'UserQuotasUpdate', examples: [{ tenants: 500 }] });

export const TenantList = z.object({ ...pageQuery(standardPage), search: z.string().max(255).optional() });

const ListedTenant = z
  .object({
    tenantID: z.uuid(),
    tenantTitle: z.string(),
    creatorID: z.uuid(),
    createdAt: z.iso.datetime(),
    isDeleting: z.boolean(),
  })
  .meta({ id: 'ListedTenant', examples: [exampleListedTenant] });

export const ListedTenants = z.object({ tenants: z.array(ListedTenant), ...pageFields });
