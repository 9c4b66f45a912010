import type { z } from 'zod';
import { accountFor, type HourOfRuns } from '#shared/db/accounting.ts';
import { Tenant } from '#shared/db/entities/tenant.ts';
import { AppError } from '#shared/errors.ts';
import type { ApiContext } from '../../context.ts';
import { operatorRoute, tenantRoute } from '../../http/route.ts';
import { Accounting, Period, TenantID } from './schemas.ts';

const explained =
  'Of the runs accepted in a period, how many have completed, failed, been cancelled or are in flight, by the hour of their acceptance and their origin. Counted from the runs themselves.';

export const accountingRoutes = [
  tenantRoute({
    name: 'getAccounting',
    method: 'get',
    path: '/accounting',
    summary: 'Account for the runs of a tenant',
    description: explained,
    permission: 'workflow.list',
    object: () => 'workflow:*',
    query: Period,
    response: Accounting,

    handle: ({ query, tenantID }, context) => answer(context, query, tenantID),
  }),
];

export const operatorAccountingRoutes = [
  operatorRoute({
    name: 'getDeploymentAccounting',
    method: 'get',
    path: '/accounting',
    summary: 'Account for the runs of all tenants',
    description: explained,
    query: Period,
    response: Accounting,

    handle: ({ query }, context) => answer(context, query),
  }),

  operatorRoute({
    name: 'getTenantAccounting',
    method: 'get',
    path: '/tenants/:tenantID/accounting',
    summary: 'Account for the runs of any tenant',
    description: explained,
    params: TenantID,
    query: Period,
    response: Accounting,
    errors: ['404'],

    async handle({ em, query, params: { tenantID } }, context) {
      if (!(await em.findOne(Tenant, { id: tenantID }))) throw new AppError('NOT_FOUND', 'Tenant not found');
      return answer(context, query, tenantID);
    },
  }),
];

async function answer(
  { pool, config, logger }: ApiContext,
  { from, to }: z.output<typeof Period>,
  tenantID?: string,
): Promise<z.input<typeof Accounting>> {
  const hours = await accountFor(pool, { from, to, ...(tenantID !== undefined && { tenantID }) }).catch(explain);
  const total = totalOf(hours);
  if (total.difference !== 0)
    logger.error({ tenantID, from, to, ...total }, 'accounting of runs has a difference: nothing continues some runs');
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    completeSince: new Date(Date.now() - config.worker.retention.runsMs).toISOString(),
    total,
    hours: hours.map((row) => ({ ...row, hour: row.hour.toISOString() })),
  };
}

function totalOf(hours: readonly HourOfRuns[]) {
  const total = { accepted: 0, completed: 0, failed: 0, cancelled: 0, inFlight: 0, difference: 0 };
  for (const name of ['accepted', 'completed', 'failed', 'cancelled', 'inFlight', 'difference'] as const)
    for (const hour of hours) total[name] += hour[name];
  return total;
}

/** A statement that takes too long is cancelled by Postgres. */
function explain(error: unknown): never {
  if (error instanceof Error && 'code' in error && error.code === '57014')
    throw new AppError('UNAVAILABLE', 'There are too many runs to count in this period: ask for fewer hours', {
      cause: error,
    });
  throw error;
}
