import { type FilterQuery, raw } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { onEntities } from '#shared/db/query.ts';
import { Tenant as TenantEntity } from '#shared/entities/tables/tenant.ts';
import { tenantRoute, userRoute } from '../../context/routes.ts';
import { containing, findPage } from '../../http/fields/paging.ts';
import { countAssets } from './count.ts';
import { createTenant } from './create.ts';
import { deleteTenant } from './delete.ts';
import { readLogo } from './logo.ts';
import { readTenantMemberships } from './memberships.ts';
import { presentTenant } from './present.ts';
import { CountedTenant, OwnTenants, TenantID, TenantList } from './schemas.ts';
import { testDatabase } from './test-database.ts';
import { updateTenant } from './update.ts';
import { uploadLogo } from './upload-logo.ts';

export const tenantRoutes = [
  userRoute({
    name: 'listTenants',
    method: 'get',
    path: '/api/v1/tenants',
    summary: 'List tenants',
    description: 'Returns the tenants the current user is a member of, newest first.',
    query: TenantList,
    response: OwnTenants,

    async handle({ query, identity: { userID }, em }) {
      const isMember = raw(
        (alias) => `exists (select from membership m where m.tenant_id = ${alias}.id and m.user_id = ?)`,
        [userID],
      );
      const where: FilterQuery<TenantEntity> = {
        [isMember.key]: [],
        deletingAt: null,
        ...(query.search && { tenantTitle: containing(query.search) }),
      };
      const { rows, fields } = await findPage(em, TenantEntity, { where, query });
      const memberships = await readTenantMemberships(
        onEntities(em),
        userID,
        rows.map(({ id }) => id),
      );
      return {
        tenants: rows.map((tenant) => ({ ...presentTenant(tenant), ...memberships.get(tenant.id) })),
        ...fields,
      };
    },
  }),

  createTenant,
  testDatabase,

  tenantRoute({
    name: 'getTenant',
    method: 'get',
    path: '',
    summary: 'Get a tenant',
    description: 'Returns a tenant, the role of the caller in it, and how many assets of each kind it has.',
    permission: 'tenant.read',
    object: ({ params }) => `tenant:${params.tenantID}`,
    params: TenantID,
    response: z.object({ tenant: CountedTenant }),

    async handle({ tenantID, identity: { userID }, em }) {
      const tenant = await em.findOneOrFail(TenantEntity, { id: tenantID });
      const query = onEntities(em);
      const [{ role, roles }, counts] = [
        (await readTenantMemberships(query, userID, [tenantID])).get(tenantID),
        await countAssets(query, tenantID),
      ];
      const relationships = [{ tenantID, userID, role }];
      return { tenant: { ...presentTenant(tenant), role, roles, relationships, ...counts } };
    },
  }),

  updateTenant,
  uploadLogo,
  readLogo,
  deleteTenant,
];
