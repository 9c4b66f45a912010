import { Workflow } from '#shared/db/entities/workflow.ts';
import type { EntityManager } from '#shared/db/orm.ts';
import { AppError } from '#shared/errors.ts';
import { tenantRoute } from '../../http/route.ts';
import { directRun } from '../../runs/direct-run.ts';
import { openBinding } from './open-binding.ts';
import { PageExecution, PageInputs, runSpellings, WaitQuery, WorkflowAlias } from './run-schemas.ts';

export const runPageWorkflow = tenantRoute({
  name: 'executeAppPageWorkflow',
  method: 'post',
  path: '/app-pages/:appPageID/workflows/:workflowAlias/execute',
  summary: 'Execute a workflow of an app page',
  description:
    'Starts a run of the workflow that the page binds under this alias, as the creator of the page. The caller needs the permission to read the page, and may set the parameters whose values are templates in the page. With `wait`, the answer has the result too if the run ends within that many seconds.',
  permission: 'appPage.read',
  object: ({ params }) => `appPage:${params.appPageID}`,
  params: WorkflowAlias,
  query: WaitQuery,
  body: PageInputs,
  spellings: runSpellings,
  response: PageExecution,
  idempotent: 'handler',

  async handle({ params, query, body: given, em, tenantID, caller, idempotency, signal }, context) {
    const { runs, awaitedRuns, executableVersion } = context;
    const wanted = { appPageID: params.appPageID, type: 'workflow' as const, alias: params.workflowAlias, given };
    const binding = await openBinding({ em, tenantID, caller }, context, wanted);
    const { id: workflowID, inputs: args } = binding;
    const versionID = await findPublished(em, workflowID);
    const version = await executableVersion({ tenantID, versionID });
    if (version.isEmpty) throw new AppError('CONFLICT', 'The workflow that the page binds has no nodes');
    for (const { permission, type, id } of version.assets) await binding.requireOfCreator(permission, `${type}:${id}`);

    // A viewer waits for it, whether a user or an API key has created the page.
    const asked = {
      class: caller.type === 'user' ? ('interactive' as const) : ('batch' as const),
      priority: undefined,
    };
    const run = directRun(version, { tenantID, workflowID, versionID, caller: binding.caller, args, asked });
    using expected = query.wait > 0 ? awaitedRuns.expect({ tenantID, instanceID: run.id }) : undefined;
    const { instanceID } = await runs.accept(
      { ...run, ...(expected && { awaitedBy: awaitedRuns.channel }) },
      idempotency,
    );
    if (!expected) return { instanceID };

    // The run of an earlier request with the same key may have ended long ago, so it is read at once.
    using earlier = instanceID === run.id ? undefined : awaitedRuns.expect({ tenantID, instanceID });
    earlier?.look();
    return { instanceID, ...(await (earlier ?? expected).outcome(query.wait * 1_000, signal)) };
  },
});

async function findPublished(em: EntityManager, id: string): Promise<string> {
  const workflow = await em.findOne(Workflow, { id }, { fields: ['versionID', 'isDisabled'] });
  if (!workflow) throw new AppError('NOT_FOUND', 'The workflow that the page binds is gone');
  if (workflow.isDisabled) throw new AppError('CONFLICT', 'Workflow is disabled');
  if (!workflow.versionID) throw new AppError('CONFLICT', 'The workflow that the page binds has drafts only');
  return workflow.versionID;
}
