import { z } from 'zod';
import type { Caller } from '#shared/core/caller.ts';
import { newID } from '#shared/core/ids.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { RunBatch } from '#shared/entities/tables/run-batch.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import type { BatchJob } from '#shared/runs/batches/job.ts';
import type { ApiContext } from '../../../context/context.ts';
import { tenantRoute } from '../../../context/routes.ts';
import type { Demand } from '../../../http/route/input.ts';
import { chooseVersion } from '../../../runs/choose-version.ts';
import { toRunFilter } from '../filters.ts';
import { presentProgress } from './routes.ts';
import { Batch, CancelMany, RerunMany } from './schemas.ts';

export const batchJobRoutes = [
  tenantRoute({
    name: 'rerunWorkflowInstances',
    method: 'post',
    path: '/workflows/batches/rerun',
    summary: 'Re-run many runs',
    description:
      'Re-runs what the filter finds among the runs that have ended, failed ones unless it names another status, as a batch that a worker fills. Without `workflowID` in the filter, the caller needs the permissions on all workflows.',
    access: ({ body: { filter } }) => [
      { permission: 'workflow.execute', object: `workflow:${filter.workflowID ?? '*'}` },
      { permission: 'workflow.read', object: `workflow:${filter.workflowID ?? '*'}` },
    ],
    body: RerunMany,
    response: z.object({ batch: Batch }),
    idempotent: 'transaction',

    async handle(input, context) {
      const { body, em } = input;
      const filter = await toRunFilter(em, body.filter, { field: 'filter.version' });
      const version = await versionOf(input, context, body);
      const { from, label } = body;
      return { batch: await begin(input, context, { asked: { does: 'rerun', filter, from, version }, label }) };
    },
  }),

  tenantRoute({
    name: 'stopWorkflowInstances',
    method: 'post',
    path: '/workflows/batches/cancel',
    summary: 'Stop many runs',
    description:
      'Cancels what the filter finds among the runs that have not ended and were accepted before this request, with the runs they started. A worker does so. Without `workflowID` in the filter, the caller needs the permission on all workflows.',
    access: ({ body: { filter } }) => [
      { permission: 'workflow.execute', object: `workflow:${filter.workflowID ?? '*'}` },
    ],
    body: CancelMany,
    response: z.object({ batch: Batch }),
    idempotent: 'transaction',

    async handle(input, context) {
      const { body, em } = input;
      const filter = await toRunFilter(em, body.filter, { field: 'filter.version' });
      return { batch: await begin(input, context, { asked: { does: 'cancel', filter }, label: body.label }) };
    },
  }),
];

interface Requester {
  em: EntityManager;
  tenantID: string;
  caller: Caller;
}

async function begin(
  { em, tenantID, caller }: Requester,
  { pool }: Pick<ApiContext, 'pool'>,
  { asked, label }: { asked: BatchJob; label: string | undefined },
) {
  const batch = em.create(RunBatch, {
    id: newID(),
    tenantID,
    workflowID: asked.filter.workflowID ?? null,
    kind: asked.does,
    label: label ?? null,
    creatorID: caller.userID ?? caller.id,
    createdByApiKeyID: caller.type === 'apiKey' ? caller.id : null,
    caller,
    asked,
  });
  em.persist(batch);
  await em.flush();
  return presentProgress(pool, batch);
}

type Rerun = Extract<BatchJob, { does: 'rerun' }>;

/** The version that is run. A named version belongs to the workflow that the filter names. */
async function versionOf(
  { em, tenantID, require }: Requester & { require(access: readonly Demand[]): Promise<void> },
  context: ApiContext,
  { version, filter }: z.output<typeof RerunMany>,
): Promise<Rerun['version']> {
  if (version === 'original' || version === 'published') return version;
  const { workflowID } = filter;
  if (workflowID === undefined)
    throw invalidField('version', 'names a version of one workflow: expected filter.workflowID beside it');
  const found = await em.findOne(Workflow, { id: workflowID });
  const workflow = found ? { versionID: found.versionID ?? null, isDisabled: found.isDisabled } : undefined;
  const versionRequest = { params: { workflowID }, tenantID, workflow, em, require };
  return { id: (await chooseVersion(versionRequest, context, version)).versionID };
}
