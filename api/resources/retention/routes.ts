import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import { inTransaction } from '#shared/db/pool.ts';
import { onClient } from '#shared/db/query.ts';
import { readRetention, setRetention } from '#shared/runs/retention.ts';
import { recordUpdate } from '../../audit/changes.ts';
import type { ApiContext } from '../../context/context.ts';
import { tenantRoute } from '../../context/routes.ts';
import { lockTenant } from '../../tenant/lock.ts';
import { RunRetention, RunRetentionUpdate, TenantID, WorkflowID } from './schemas.ts';

const Answer = z.object({ retention: RunRetention });
const lost = 'Runs that are no longer kept are deleted within minutes, with their events, logs and answers.';

export const retentionRoutes = [
  tenantRoute({
    name: 'getRunRetention',
    method: 'get',
    path: '/retention',
    summary: 'Get how long runs are kept',
    description: 'Returns how long ended runs of the tenant are kept, and how many of each workflow.',
    permission: 'tenant.read',
    object: ({ params }) => `tenant:${params.tenantID}`,
    params: TenantID,
    response: Answer,

    handle: ({ tenantID }, context) => answer(context, { tenantID, workflowID: null }),
  }),

  tenantRoute({
    name: 'updateRunRetention',
    method: 'patch',
    path: '/retention',
    summary: 'Set how long runs are kept',
    description: `Sets how long ended runs of the tenant are kept, and how many of each workflow, for workflows that have no value of their own. ${lost}`,
    permission: 'tenant.update',
    object: ({ params }) => `tenant:${params.tenantID}`,
    params: TenantID,
    body: RunRetentionUpdate,
    response: Answer,

    handle: ({ tenantID, body }, context) => update(context, { tenantID, workflowID: null }, body),
  }),

  tenantRoute({
    name: 'getWorkflowRunRetention',
    method: 'get',
    path: '/workflows/:workflowID/retention',
    summary: 'Get how long runs of a workflow are kept',
    description: 'Returns how long ended runs of the workflow are kept, and how many.',
    permission: 'workflow.read',
    object: ({ params }) => `workflow:${params.workflowID}`,
    params: WorkflowID,
    response: Answer,

    handle: ({ tenantID, params: { workflowID } }, context) => answer(context, { tenantID, workflowID }),
  }),

  tenantRoute({
    name: 'updateWorkflowRunRetention',
    method: 'patch',
    path: '/workflows/:workflowID/retention',
    summary: 'Set how long runs of a workflow are kept',
    description: `Sets how long ended runs of the workflow are kept, and how many, in place of what is set for the tenant. ${lost}`,
    permission: 'workflow.update',
    object: ({ params }) => `workflow:${params.workflowID}`,
    params: WorkflowID,
    body: RunRetentionUpdate,
    response: Answer,

    handle: ({ tenantID, params: { workflowID }, body }, context) => update(context, { tenantID, workflowID }, body),
  }),
];

interface Which {
  tenantID: string;
  workflowID: string | null;
}

const DAY_MS = 86_400_000;

async function answer({ pool, config }: ApiContext, which: Which): Promise<z.input<typeof Answer>> {
  const found = await readRetention(pool, which);
  if (!found) throw new AppError('NOT_FOUND', which.workflowID === null ? 'Tenant not found' : 'Workflow not found');
  const { runsMs, maxRunsMs } = config.worker.retention;
  const { own, ofTenant } = found;
  const days = own.days ?? ofTenant.days;
  const maxDays = maxRunsMs / DAY_MS;
  return {
    retention: {
      ...own,
      inForce: { days: days === null ? runsMs / DAY_MS : Math.min(days, maxDays), runs: own.runs ?? ofTenant.runs },
      maxDays,
    },
  };
}

async function update(context: ApiContext, which: Which, changes: z.output<typeof RunRetentionUpdate>) {
  const maxDays = context.config.worker.retention.maxRunsMs / DAY_MS;
  if ((changes.days ?? 0) > maxDays) throw invalidField('days', `must be at most ${maxDays} in this deployment`);
  await inTransaction(context.pool, async (client) => {
    await lockTenant(onClient(client), which.tenantID);
    const before = await readRetention(client, which);
    await setRetention(client, which, changes);
    const after = await readRetention(client, which);
    const { tenantID, workflowID } = which;
    const [assetType, assetID] = workflowID === null ? ['tenant', tenantID] : ['workflow', workflowID];
    const sides = { before: before && { runRetention: before.own }, after: after && { runRetention: after.own } };
    await recordUpdate(onClient(client), tenantID, { assetType, assetID, ...sides });
  });
  return await answer(context, which);
}
