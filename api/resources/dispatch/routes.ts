import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import { inTransaction } from '#shared/db/pool.ts';
import { onClient } from '#shared/db/query.ts';
import {
  type DispatchChanges,
  readDispatch,
  setDispatch,
  type TenantDispatch,
} from '#shared/runs/dispatch/tenant-settings.ts';
import { recordUpdate } from '../../audit/changes.ts';
import type { ApiContext } from '../../context/context.ts';
import { operatorRoute, tenantRoute } from '../../context/routes.ts';
import { lockTenant } from '../../tenant/lock.ts';
import { Dispatch, DispatchGrant, DispatchUpdate, TenantID } from './schemas.ts';

const Answer = z.object({ dispatch: Dispatch });

export const dispatchRoutes = [
  tenantRoute({
    name: 'getDispatch',
    method: 'get',
    path: '/dispatch',
    summary: 'Get the share and the limit of a tenant',
    description: 'Returns how many runs of the tenant workers may have at once, and its share of them.',
    permission: 'tenant.read',
    object: ({ params }) => `tenant:${params.tenantID}`,
    params: TenantID,
    response: Answer,

    handle: ({ tenantID }, context) => answer(context, tenantID),
  }),

  tenantRoute({
    name: 'updateDispatch',
    method: 'patch',
    path: '/dispatch',
    summary: 'Set the limit of a tenant',
    description:
      'Sets how many runs of the tenant workers may have at once, within what operators grant. Counts from the next admission on; runs that have begun go on. A single workflow has a limit of its own in `workflowOptions.maxRunsAtOnce`.',
    permission: 'tenant.update',
    object: ({ params }) => `tenant:${params.tenantID}`,
    params: TenantID,
    body: DispatchUpdate,
    response: Answer,

    async handle({ tenantID, body: { maxRuns } }, context) {
      const { grantedRuns } = await found(context, tenantID);
      if (grantedRuns !== null && (maxRuns ?? 0) > grantedRuns)
        throw invalidField('maxRuns', `must be at most ${grantedRuns}, which operators of this deployment grant`);
      if (maxRuns !== undefined) await change(context, tenantID, { ownRuns: maxRuns });
      return await answer(context, tenantID);
    },
  }),
];

export const operatorDispatchRoutes = [
  operatorRoute({
    name: 'getTenantDispatch',
    method: 'get',
    path: '/tenants/:tenantID/dispatch',
    summary: 'Get the share and the limit of any tenant',
    description: 'Returns how many runs of the tenant workers may have at once, and its share of them.',
    params: TenantID,
    response: Answer,
    errors: ['404'],

    handle: ({ params: { tenantID } }, context) => answer(context, tenantID),
  }),

  operatorRoute({
    name: 'updateTenantDispatch',
    method: 'patch',
    path: '/tenants/:tenantID/dispatch',
    summary: 'Set the share and the limit of a tenant',
    description:
      'Sets the weight of the tenant among others, and how many of its runs workers may have at once. Counts from the next admission on; runs that have begun go on.',
    params: TenantID,
    body: DispatchGrant,
    response: Answer,
    errors: ['404'],

    async handle({ params: { tenantID }, body: { weight, maxRuns } }, context) {
      await found(context, tenantID);
      await change(context, tenantID, {
        ...(weight !== undefined && { weight }),
        ...(maxRuns !== undefined && { grantedRuns: maxRuns }),
      });
      return await answer(context, tenantID);
    },
  }),
];

async function change({ pool }: ApiContext, tenantID: string, changes: DispatchChanges): Promise<void> {
  await inTransaction(pool, async (client) => {
    await lockTenant(onClient(client), tenantID);
    const before = await readDispatch(client, tenantID);
    await setDispatch(client, tenantID, changes);
    const after = await readDispatch(client, tenantID);
    const asset = { assetType: 'tenant', assetID: tenantID };
    await recordUpdate(onClient(client), tenantID, { ...asset, before, after });
  });
}

async function found({ pool }: ApiContext, tenantID: string): Promise<TenantDispatch> {
  const dispatch = await readDispatch(pool, tenantID);
  if (!dispatch) throw new AppError('NOT_FOUND', 'Tenant not found');
  return dispatch;
}

async function answer(context: ApiContext, tenantID: string): Promise<z.input<typeof Answer>> {
  const { weight, maxRuns, grantedRuns, ownRuns } = await found(context, tenantID);
  return { dispatch: { weight, maxRuns, grantedMaxRuns: grantedRuns, ownMaxRuns: ownRuns } };
}
