import { AppError } from '#shared/core/errors.ts';
import { operatorRoute } from '../../context/routes.ts';
import { presentFleet, presentFound, presentTenantState } from './present.ts';
import { FleetAnswer, FoundTenants, TenantAnswer, TenantID, TenantSearch } from './schemas.ts';

export const operatorFleetRoutes = [
  operatorRoute({
    name: 'getFleet',
    method: 'get',
    path: '/fleet',
    summary: 'Get what waits, works and fails',
    description:
      'Returns the backlog by queue and class, the tenants that wait longest, the workers, the slowest nodes, the failures by their codes, how long runs have waited and taken, and how many were accepted and have ended in each hour. Each part says when it was read: it is read once in some seconds for all who ask. Everything is counted from rows, and within bounds that the answer tells.',
    response: FleetAnswer,

    handle: async (_request, { runs: { fleet } }) => presentFleet(await fleet.read()),
  }),

  operatorRoute({
    name: 'findFleetTenants',
    method: 'get',
    path: '/fleet/tenants',
    summary: 'Find tenants by a part of their title',
    description: 'Returns up to 20 tenants, with the runs that workers have of them. Case does not count.',
    query: TenantSearch,
    response: FoundTenants,

    handle: async ({ query: { search } }, { runs: { fleet } }) => presentFound(await fleet.tenants(search)),
  }),

  operatorRoute({
    name: 'getTenantBacklog',
    method: 'get',
    path: '/fleet/tenants/:tenantID',
    summary: 'Get what of a tenant waits, and why',
    description: 'Returns the backlog of the tenant, and its oldest runs that no worker has, each with the reason.',
    params: TenantID,
    response: TenantAnswer,
    errors: ['404'],

    async handle({ params: { tenantID } }, { runs: { fleet } }) {
      const state = await fleet.tenant(tenantID);
      if (!state) throw new AppError('NOT_FOUND', 'Tenant not found');
      return presentTenantState(state);
    },
  }),
];
