import type { FilterQuery } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { DataQuery } from '#shared/db/entities/data-query.ts';
import { Datasource } from '#shared/db/entities/datasource.ts';
import { Membership } from '#shared/db/entities/membership.ts';
import { Tenant as TenantEntity } from '#shared/db/entities/tenant.ts';
import { Workflow } from '#shared/db/entities/workflow.ts';
import { containing, findPage } from '../../http/paging.ts';
import { tenantRoute, userRoute } from '../../http/route.ts';
import { createTenant } from './create.ts';
import { deleteTenant } from './delete.ts';
import { readLogo } from './logo.ts';
import { presentTenant } from './present.ts';
import { CountedTenant, OwnTenants, TenantID, TenantList } from './schemas.ts';
import { testDatabase } from './test-database.ts';
import { updateTenant } from './update.ts';
import { uploadLogo } from './upload-logo.ts';

export const tenantRoutes = [
  userRoute({
    method: 'get',
    path: '/api/v1/tenants',
    summary: 'The tenants the current user belongs to, newest first',
    query: TenantList,
    response: OwnTenants,

    async handle({ query, identity: { userID }, em }) {
      const memberships = await em.find(Membership, { userID }, { filters: { tenant: false } });
      const roles = new Map(memberships.map(({ tenantID, role }) => [tenantID, role]));
      const where: FilterQuery<TenantEntity> = {
        id: { $in: [...roles.keys()] },
        deletingAt: null,
        ...(query.search && { tenantTitle: containing(query.search) }),
      };
      const { rows, fields } = await findPage(em, TenantEntity, { where, query });
      const tenants = rows.map((tenant) => ({
        ...presentTenant(tenant),
        role: roles.get(tenant.id) === 'ADMIN' ? ('ADMIN' as const) : ('MEMBER' as const),
      }));
      return { tenants, ...fields };
    },
  }),

  createTenant,
  testDatabase,

  tenantRoute({
    method: 'get',
    path: '',
    summary: 'A tenant, with what it has of each kind',
    permission: 'tenant.read',
    object: ({ params }) => `tenant:${params.tenantID}`,
    params: TenantID,
    response: z.object({ tenant: CountedTenant }),

    async handle({ tenantID, em }) {
      const tenant = await em.findOneOrFail(TenantEntity, { id: tenantID });
      const tenantUserCount = await em.count(Membership, {});
      const tenantWorkflowCount = await em.count(Workflow, {});
      const tenantDatasourceCount = await em.count(Datasource, {});
      const tenantDataQueryCount = await em.count(DataQuery, {});
      const counts = { tenantUserCount, tenantWorkflowCount, tenantDatasourceCount, tenantDataQueryCount };
      return { tenant: { ...presentTenant(tenant), ...counts } };
    },
  }),

  updateTenant,
  uploadLogo,
  readLogo,
  deleteTenant,
];
