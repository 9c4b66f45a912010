import type { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { Tenant } from '#shared/entities/tables/tenant.ts';
import { accountFor } from '#shared/runs/accounting.ts';
import { completeSince } from '#shared/runs/retention.ts';
import { retentionSeconds } from '#shared/triggers/listeners/event-states.ts';
import type { ApiContext } from '../../context/context.ts';
import { operatorRoute, tenantRoute } from '../../context/routes.ts';
import { Accounting, Period, TenantID } from './schemas.ts';

const explained =
  'Of the runs accepted in a period, how many have completed, failed, been cancelled or are in flight, by the hour of their acceptance and their origin; and of the events that listeners received, what has become of them. Counted from the runs and the events themselves.';

export const accountingRoutes = [
  tenantRoute({
    name: 'getAccounting',
    method: 'get',
    path: '/accounting',
    summary: 'Account for the runs and events of a tenant',
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
    summary: 'Account for the runs and events of all tenants',
    description: explained,
    query: Period,
    response: Accounting,

    handle: ({ query }, context) => answer(context, query),
  }),

  operatorRoute({
    name: 'getTenantAccounting',
    method: 'get',
    path: '/tenants/:tenantID/accounting',
    summary: 'Account for the runs and events of any tenant',
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
  const scope = tenantID === undefined ? {} : { tenantID };
  const { runs, events } = await accountFor(pool, { from, to, ...scope }).catch(explain);
  const total = totalOf(RUN_COUNTS, runs);
  const ofEvents = totalOf(EVENT_COUNTS, events);
  if (total.difference !== 0)
    logger.error({ tenantID, from, to, ...total }, 'accounting of runs has a difference: nothing continues some runs');
  if (ofEvents.difference !== 0)
    logger.error(
      { tenantID, from, to, ...ofEvents },
      'accounting of events has a difference: some have an unknown state',
    );
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    completeSince: (await completeSince(pool, { ...config.worker.retention, ...scope })).toISOString(),
    total,
    hours: runs.map((row) => ({ ...row, hour: row.hour.toISOString() })),
    events: {
      completeSince: new Date(Date.now() - retentionSeconds('done') * 1_000).toISOString(),
      total: ofEvents,
      hours: events.map((row) => ({ ...row, hour: row.hour.toISOString() })),
    },
  };
}

const RUN_COUNTS = ['accepted', 'completed', 'failed', 'cancelled', 'inFlight', 'difference'] as const;
const EVENT_COUNTS = [
  'received',
  'done',
  'filtered',
  'duplicate',
  'dead',
  'replaced',
  'pending',
  'difference',
] as const;

function totalOf<Name extends string>(
  names: readonly Name[],
  hours: readonly Readonly<Record<NoInfer<Name>, number>>[],
): Record<Name, number> {
  const sums = names.map((name) => [name, hours.reduce((sum, hour) => sum + hour[name], 0)]);
  // The names are those of the parameter.
  return Object.fromEntries(sums) as Record<Name, number>;
}

/** A statement that takes too long is cancelled by Postgres. */
function explain(error: unknown): never {
  if (error instanceof Error && 'code' in error && error.code === '57014')
    throw new AppError('UNAVAILABLE', 'There are too many runs to count in this period: ask for fewer hours', {
      cause: error,
    });
  throw error;
}
