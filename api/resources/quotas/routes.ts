import type { FilterQuery } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { type QuotaName, type QuotaOwner, quotaNamesOf, readQuotas, setQuota } from '#shared/access/quotas.ts';
import { AppError } from '#shared/core/errors.ts';
import { inEntityTransaction, onEntities } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Tenant } from '#shared/entities/tables/tenant.ts';
import { User } from '#shared/entities/tables/user.ts';
import { recordUpdate } from '../../audit/changes.ts';
import { operatorRoute, tenantRoute } from '../../context/routes.ts';
import { containing, findPage } from '../../http/fields/paging.ts';
import { lockTenant } from '../../tenant/lock.ts';
import {
  ListedTenants,
  TenantID,
  TenantList,
  TenantQuotas,
  TenantQuotasUpdate,
  UserID,
  UserQuotas,
  UserQuotasUpdate,
} from './schemas.ts';

export const quotaRoutes = [
  tenantRoute({
    name: 'getQuotas',
    method: 'get',
    path: '/quotas',
    summary: 'Get the quotas of a tenant',
    description:
      'Returns how much of everything the tenant may have, and has. Beyond it, requests are refused with QUOTA_EXCEEDED. Operators of the deployment raise quotas.',
    permission: 'tenant.read',
    object: ({ params }) => `tenant:${params.tenantID}`,
    params: TenantID,
    response: z.object({ quotas: TenantQuotas }),

    async handle({ em, tenantID }) {
      return { quotas: await quotasOf(em, 'tenant', tenantID) };
    },
  }),
];

export const operatorQuotaRoutes = [
  operatorRoute({
    name: 'listAllTenants',
    method: 'get',
    path: '/tenants',
    summary: 'List all tenants',
    description: 'Returns the tenants of the deployment, newest first, those that are being deleted included.',
    query: TenantList,
    response: ListedTenants,

    async handle({ em, query }) {
      const where: FilterQuery<Tenant> = query.search ? { tenantTitle: containing(query.search) } : {};
      const { rows, fields } = await findPage(em, Tenant, { where, query });
      return { tenants: rows.map(presentListed), ...fields };
    },
  }),

  operatorRoute({
    name: 'getTenantQuotas',
    method: 'get',
    path: '/tenants/:tenantID/quotas',
    summary: 'Get the quotas of any tenant',
    description: 'Returns how much of everything the tenant may have, and has.',
    params: TenantID,
    response: z.object({ quotas: TenantQuotas }),
    errors: ['404'],

    async handle({ em, params: { tenantID } }) {
      await requireTenant(em, tenantID);
      return { quotas: await quotasOf(em, 'tenant', tenantID) };
    },
  }),

  operatorRoute({
    name: 'updateTenantQuotas',
    method: 'patch',
    path: '/tenants/:tenantID/quotas',
    summary: 'Set quotas of a tenant',
    description: 'Sets the given quotas. What the tenant has beyond a lower quota stays.',
    params: TenantID,
    body: TenantQuotasUpdate,
    response: z.object({ quotas: TenantQuotas }),
    errors: ['404'],

    async handle({ em, params: { tenantID }, body }) {
      await requireTenant(em, tenantID);
      await setQuotas(em, tenantID, body);
      return { quotas: await quotasOf(em, 'tenant', tenantID) };
    },
  }),

  operatorRoute({
    name: 'getUserQuotas',
    method: 'get',
    path: '/users/:userID/quotas',
    summary: 'Get the quotas of a user',
    description: 'Returns how many tenants the user may create, and has created.',
    params: UserID,
    response: z.object({ quotas: UserQuotas }),
    errors: ['404'],

    async handle({ em, params: { userID } }) {
      await requireUser(em, userID);
      return { quotas: await quotasOf(em, 'user', userID) };
    },
  }),

  operatorRoute({
    name: 'updateUserQuotas',
    method: 'patch',
    path: '/users/:userID/quotas',
    summary: 'Set quotas of a user',
    description: 'Sets the given quotas. Tenants beyond a lower quota stay.',
    params: UserID,
    body: UserQuotasUpdate,
    response: z.object({ quotas: UserQuotas }),
    errors: ['404'],

    async handle({ em, params: { userID }, body }) {
      await requireUser(em, userID);
      await setQuotas(em, userID, body);
      return { quotas: await quotasOf(em, 'user', userID) };
    },
  }),
];

async function quotasOf(em: EntityManager, owner: QuotaOwner, ownerID: string) {
  const states = await readQuotas(onEntities(em), quotaNamesOf(owner), ownerID);
  return Object.fromEntries(states.map(({ quota, max, used, isSet }) => [quota, { max, used, isDefault: !isSet }]));
}

async function setQuotas(
  em: EntityManager,
  ownerID: string,
  changes: Readonly<Record<string, number | null | undefined>>,
): Promise<void> {
  await inEntityTransaction(em, async () => {
    // Safe: the schema of the body has the names of quotas alone.
    const given = Object.entries(changes).flatMap(([name, max]) =>
      max === undefined ? [] : [{ quota: name as QuotaName, max }],
    );
    if (given.length === 0) return;
    const query = onEntities(em);
    const names = given.map(({ quota }) => quota);
    await lockTenant(query, ownerID);
    const before = maxima(await readQuotas(query, names, ownerID));
    for (const { quota, max } of given) await setQuota(query, { quota, ownerID, max });
    const after = maxima(await readQuotas(query, names, ownerID));
    await recordUpdate(query, ownerID, { assetType: 'tenant', assetID: ownerID, before, after });
  });
}

function maxima(states: Awaited<ReturnType<typeof readQuotas>>) {
  return Object.fromEntries(states.map(({ quota, max }) => [quota, max]));
}

function presentListed({ id, tenantTitle, creatorID, createdAt, deletingAt }: Tenant) {
  return {
    tenantID: id,
    tenantTitle,
    creatorID,
    createdAt: createdAt.toISOString(),
    isDeleting: deletingAt !== null && deletingAt !== undefined,
  };
}

async function requireTenant(em: EntityManager, id: string): Promise<void> {
  if (!(await em.findOne(Tenant, { id }))) throw new AppError('NOT_FOUND', 'Tenant not found');
}

async function requireUser(em: EntityManager, id: string): Promise<void> {
  if (!(await em.findOne(User, { id }))) throw new AppError('NOT_FOUND', 'User not found');
}
