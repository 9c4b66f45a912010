import { Workflow } from '#shared/db/entities/workflow.ts';
import { WorkflowVersion } from '#shared/db/entities/workflow-version.ts';
import type { EntityManager } from '#shared/db/orm.ts';
import { AppError } from '#shared/errors.ts';
import { newID } from '#shared/ids.ts';
import { compileGraph } from '#shared/workflow/graph.ts';
import { resolveInputs } from '#shared/workflow/inputs.ts';
import { runTimeoutMs } from '#shared/workflow/options.ts';
import { tenantRoute } from '../../http/route.ts';
import { callerAccess, graphOf, isDraft } from './graph.ts';
import { ExecuteQuery, Execution, runSpellings, WorkflowExecute, WorkflowID } from './schemas.ts';

export const executeWorkflow = tenantRoute({
  name: 'executeWorkflow',
  method: 'post',
  path: '/workflows/:workflowID/execute',
  summary: 'Execute a workflow',
  description:
    'Starts a run and returns its `instanceID`. With `wait`, the answer has the result too if the run ends within that many seconds.',
  permission: 'workflow.execute',
  object: ({ params }) => `workflow:${params.workflowID}`,
  params: WorkflowID,
  query: ExecuteQuery,
  body: WorkflowExecute,
  spellings: runSpellings,
  response: Execution,
  idempotent: 'handler',

  async handle({ params, query, body, caller, em, tenantID, require, idempotency, signal }, { runs, awaitedRuns }) {
    const { workflow, graph } = await findExecutable(em, params.workflowID);
    // The bound queries are not checked here: the right to execute a workflow includes the queries it was saved with.
    await require(callerAccess(graph.nodes));

    const id = newID();
    using expected = query.wait > 0 ? awaitedRuns.expect({ tenantID, instanceID: id }) : undefined;
    const { instanceID } = await runs.accept(
      {
        id,
        tenantID,
        workflowID: workflow.id,
        versionID: workflow.versionID,
        caller: { ...caller, origin: 'direct' },
        input: resolveInputs(graph.options.inputDefinitions, body.args, { field: 'args' }),
        timeoutMs: runTimeoutMs(graph.options),
        class: caller.type === 'apiKey' ? 'batch' : 'interactive',
        ...(expected && { awaitedBy: awaitedRuns.channel }),
      },
      idempotency,
    );
    if (!expected) return { instanceID };

    // The run of an earlier request with the same key may have ended long ago, so it is read at once.
    using earlier = instanceID === id ? undefined : awaitedRuns.expect({ tenantID, instanceID });
    earlier?.look();
    return { instanceID, ...(await (earlier ?? expected).outcome(query.wait * 1_000, signal)) };
  },
});

async function findExecutable(em: EntityManager, id: string) {
  const workflow = await em.findOne(Workflow, { id });
  if (!workflow) throw new AppError('NOT_FOUND', 'Workflow not found');
  if (workflow.isDisabled) throw new AppError('CONFLICT', 'Workflow is disabled');

  const graph = graphOf(await em.findOneOrFail(WorkflowVersion, { id: workflow.versionID }));
  // The graph was checked when it was saved; a draft gets the list of its faults here.
  if (isDraft(graph)) compileGraph(graph.nodes, graph.edges);
  return { workflow, graph };
}
