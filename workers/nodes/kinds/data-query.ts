import type { Caller } from '#shared/core/caller.ts';
import type { dataQuery } from '#shared/workflow/nodes/kinds/data-query.ts';
import type { Executor, NodeRun } from '../executor.ts';
import { maskOutput } from '../mask.ts';

export const runDataQuery: Executor<typeof dataQuery> = async ({ config, run, signal }, { queries }) => {
  const { dataQueryID, inputValues: inputs, outputVariable, exactlyOnce: isOnce } = config;
  const { dataQueryResult, truncated } = await queries.run({
    tenantID: run.tenantID,
    caller: callerOf(run),
    query: { kind: 'stored', dataQueryID },
    inputs,
    mode: 'run',
    isFresh: false,
    isPaged: false,
    signal,
    idempotencyKey: run.idempotencyKey,
    isDryRun: run.isDryRun,
    // A dry run leaves nothing in the tenant's database.
    isOnce: isOnce && !run.isDryRun,
  });
  const output = maskOutput({ [outputVariable]: dataQueryResult, success: true }, run.variables.secrets);
  return { output: truncated ? { ...output, truncated } : output, exit: 'success' };
};

function callerOf({ caller, workflowID }: NodeRun): Caller {
  // A cron job that executes a query has no workflow, so the job remains the origin.
  if (workflowID === null && caller.origin === 'cron') return caller;
  const { originID: _before, ...who } = caller;
  return { ...who, origin: 'workflow', ...(workflowID !== null && { originID: workflowID }) };
}
