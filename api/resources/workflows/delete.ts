import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { Workflow } from '#shared/entities/tables/workflow.ts';
import { WorkflowInstance } from '#shared/entities/tables/workflow-instance.ts';
import type { Runs } from '#shared/runs/runs.ts';
import { deleteAsset } from '../../assets/assets.ts';
import { announceOffered } from '../../assets/offered-tools.ts';
import { findStarters, type Starters } from '../../assets/starters.ts';
import { tenantRoute } from '../../context/routes.ts';
import { Flag } from '../../http/fields/flag.ts';
import { Message } from '../../http/fields/response-parts.ts';
import { WorkflowID } from '../../runs/run-schemas.ts';

export const deleteWorkflow = tenantRoute({
  name: 'deleteWorkflow',
  method: 'delete',
  path: '/workflows/:workflowID',
  summary: 'Delete a workflow',
  description:
    'Deletes a workflow and cancels its runs in flight. The records of past runs stay. While an active listener, an enabled cron job or a published app page starts it, that is a CONFLICT that names them; with `force` it is deleted all the same. Workflows that call it fail from then on: `GET …/usage` names them.',
  permission: 'workflow.delete',
  object: ({ params }) => `workflow:${params.workflowID}`,
  params: WorkflowID,
  query: z.object({ force: Flag.describe('Deletes it although something starts it') }),
  response: z.object({ message: Message }),
  errors: ['409'],

  async handle({ params, query, em, tenantID, visible }, { pool, runs, messaging }) {
    const workflow = await em.findOne(Workflow, { id: params.workflowID });
    if (!workflow) throw new AppError('NOT_FOUND', 'Workflow not found');
    if (!query.force) refuseStarted(await findStarters({ em, pool, tenantID, visible }, workflow.id));

    const which = { tenantID, workflowID: workflow.id };
    // Runs are cancelled before, so that an interrupted request can be repeated, and after, for runs accepted meanwhile.
    await cancelRuns(em, runs, which);
    await deleteAsset(em, 'workflow', workflow);
    announceOffered({ messaging }, { em, tenantID, isOffered: workflow.isOfferedAsTool });
    await cancelRuns(em, runs, which);
    return { message: 'Workflow deleted' };
  },
});

function refuseStarted({ listeners, cronJobs, appPages, otherStarters }: Starters): void {
  const count = listeners.length + cronJobs.length + appPages.length + otherStarters;
  if (count === 0) return;
  const words = count === 1 ? '1 listener, cron job or page starts' : `${count} listeners, cron jobs or pages start`;
  throw new AppError('CONFLICT', `${words} this workflow; force=true deletes it all the same`, {
    details: { listeners, cronJobs, appPages, others: otherStarters },
  });
}

const AT_ONCE = 20;

async function cancelRuns(
  em: EntityManager,
  runs: Runs,
  which: { tenantID: string; workflowID: string },
): Promise<void> {
  const options = {
    fields: ['id' as const],
    limit: AT_ONCE,
    orderBy: { id: 'asc' as const },
    disableIdentityMap: true,
  };
  let after: string | undefined;
  for (;;) {
    const going = { workflowID: which.workflowID, completedAt: null, ...(after && { id: { $gt: after } }) };
    const found = await em.find(WorkflowInstance, going, options);
    after = found.at(-1)?.id;
    if (!after) return;
    await Promise.all(found.map(({ id }) => runs.stop(which.tenantID, id)));
  }
}
