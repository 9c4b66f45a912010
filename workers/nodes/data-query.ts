import type { Caller } from '#shared/caller.ts';
import type { JsonObject } from '#shared/json.ts';
import type { dataQuery } from '#shared/nodes/data-query.ts';
import type { Executor, NodeRun } from './executor.ts';

export const runDataQuery: Executor<typeof dataQuery> = async ({ config, run, signal }, { queries }) => {
  const { dataQueryID, inputValues: inputs, outputVariable } = config;
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
  });
  const output: JsonObject = { [outputVariable]: dataQueryResult, success: true };
  return { output: truncated ? { ...output, truncated } : output, exit: 'success' };
};

function callerOf({ caller, workflowID }: NodeRun): Caller {
  const { originID: _before, ...who } = caller;
  return { ...who, origin: 'workflow', ...(workflowID !== null && { originID: workflowID }) };
}
