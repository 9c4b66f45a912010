import { tenantRoute } from '../../../context/routes.ts';
import { chooseVersion } from '../../../runs/choose-version.ts';
import { directRun } from '../../../runs/direct-run.ts';
import { runAliases } from '../../../runs/run-inputs.ts';
import { WorkflowID } from '../../../runs/run-schemas.ts';
import { ExecuteQuery, Execution, WorkflowExecute } from './schemas.ts';

export const executeWorkflow = tenantRoute({
  name: 'executeWorkflow',
  method: 'post',
  path: '/workflows/:workflowID/execute',
  summary: 'Execute a workflow',
  description:
    'Starts a run of the published version, or of the named one, and returns its `instanceID`. With `wait`, the answer has the result too if the run ends within that many seconds.',
  permission: 'workflow.execute',
  object: ({ params }) => `workflow:${params.workflowID}`,
  params: WorkflowID,
  withWorkflow: true,
  query: ExecuteQuery,
  takesData: true,
  body: WorkflowExecute,
  aliases: runAliases,
  response: Execution,
  idempotent: 'handler',
  writesEntry: true,

  async handle(input, context) {
    const { params, query, body, caller, tenantID, idempotency, entry, signal } = input;
    const { runs } = context;
    const { versionID, version } = await chooseVersion(input, context, query.version);

    const { workflowID } = params;
    const run = directRun(version, { tenantID, workflowID, versionID, caller, args: body.args, asked: body });
    const { id } = run;
    using expected = query.wait > 0 ? runs.awaited.expect({ tenantID, instanceID: id }) : undefined;
    const { instanceID } = await runs.accept(
      {
        ...run,
        tags: body.tags,
        entry: entry.take(),
        ...(body.startAt && { startAt: body.startAt }),
        ...(expected && { awaitedBy: runs.awaited.channel }),
      },
      idempotency,
    );
    if (!expected) return { instanceID };

    // The run of an earlier request with the same key may have ended long ago, so it is read at once.
    using earlier = instanceID === id ? undefined : runs.awaited.expect({ tenantID, instanceID });
    earlier?.poll();
    return { instanceID, ...(await (earlier ?? expected).outcome(query.wait * 1_000, signal)) };
  },
});
