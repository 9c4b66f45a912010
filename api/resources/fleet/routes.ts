import { AppError } from '#shared/errors.ts';
import { operatorRoute } from '../../http/route.ts';
import { presentFleet, presentTenantState } from './present.ts';
import { FleetAnswer, TenantAnswer, TenantID } from './schemas.ts';

export const operatorFleetRoutes = [
  operatorRoute({
    name: 'getFleet',
    method: 'get',
    path: '/fleet',
    summary: 'Get what waits, works and fails',
    description:
      'Returns the backlog by queue and class, the tenants that wait longest, the workers, the slowest nodes, and the failures by their codes. Each part says when it was read: it is read once in some seconds for all who ask. Everything is counted from rows, and within bounds that the answer tells.',
    response: FleetAnswer,

    handle: async (_request, { fleet }) => presentFleet(await fleet.read()),
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

    async handle({ params: { tenantID } }, { fleet }) {
      const state = await fleet.tenant(tenantID);
      if (!state) throw new AppError('NOT_FOUND', 'Tenant not found');
      return presentTenantState(state);
    },
  }),
];
