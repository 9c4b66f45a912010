import type { Caller } from '#shared/caller.ts';
import { AppError } from '#shared/errors.ts';
import type { JsonObject } from '#shared/json.ts';
import type { dataQuery } from '#shared/nodes/data-query.ts';
import type { Executor, NodeContext, NodeRun } from './executor.ts';

export const runDataQuery: Executor<typeof dataQuery> = async ({ config, run, signal }, context) => {
  const { dataQueryID, inputValues: inputs, outputVariable } = config;
  if (!(await mayRun(run, dataQueryID, context)))
    throw new AppError('NODE_FAILED', 'The data query does not exist, or whoever started this run may not execute it', {
      retry: false,
    });
  const { dataQueryResult, truncated } = await context.queries.run({
    tenantID: run.tenantID,
    caller: callerOf(run),
    query: { kind: 'stored', dataQueryID },
    inputs,
    mode: 'run',
    isFresh: false,
    isPaged: false,
    signal,
    idempotencyKey: run.idempotencyKey,
  });
  const output: JsonObject = { [outputVariable]: dataQueryResult, success: true };
  return { output: truncated ? { ...output, truncated } : output, exit: 'success' };
};

/**
 * Whoever may execute the query, and whoever may execute the workflow where the query is named in the saved graph: that was
 * written by somebody who could. An id that a template has made nobody has vouched for.
 */
async function mayRun(run: NodeRun, dataQueryID: string, { rights }: NodeContext): Promise<boolean> {
  if (await rights.mayExecute(run, `dataquery:${dataQueryID}`)) return true;
  const { dataQueryID: saved } = run.saved;
  const isNamed = typeof saved === 'string' && saved.toLowerCase() === dataQueryID;
  return isNamed && run.workflowID !== null && (await rights.mayExecute(run, `workflow:${run.workflowID}`));
}

function callerOf({ caller, workflowID }: NodeRun): Caller {
  const { originID: _before, ...who } = caller;
  return { ...who, origin: 'workflow', ...(workflowID !== null && { originID: workflowID }) };
}
