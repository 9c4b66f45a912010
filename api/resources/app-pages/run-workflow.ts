import { tenantRoute } from '../../context/routes.ts';
import { newPageRun } from './new-run.ts';
import { PageExecution, PageInputs, runAliases, WaitQuery, WorkflowAlias } from './run-schemas.ts';

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
  takesData: true,
  body: PageInputs,
  aliases: runAliases,
  response: PageExecution,
  idempotent: 'handler',

  async handle({ params, query, body: given, em, tenantID, caller, idempotency, signal }, context) {
    const { runs } = context;
    const wanted = { appPageID: params.appPageID, alias: params.workflowAlias, given };
    const run = await newPageRun({ em, tenantID, caller }, context, wanted);
    using expected = query.wait > 0 ? runs.awaited.expect({ tenantID, instanceID: run.id }) : undefined;
    const { instanceID } = await runs.accept(
      { ...run, ...(expected && { awaitedBy: runs.awaited.channel }) },
      idempotency,
    );
    if (!expected) return { instanceID };

    // The run of an earlier request with the same key may have ended long ago, so it is read at once.
    using earlier = instanceID === run.id ? undefined : runs.awaited.expect({ tenantID, instanceID });
    earlier?.poll();
    return { instanceID, ...(await (earlier ?? expected).outcome(query.wait * 1_000, signal)) };
  },
});
