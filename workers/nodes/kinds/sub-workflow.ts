import { AppError } from '#shared/core/errors.ts';
import { isJsonObject } from '#shared/core/json.ts';
import type { subWorkflow } from '#shared/workflow/nodes/kinds/sub-workflow.ts';
import { causedBy } from '#shared/workflow/run-error.ts';
import type { ChildError, Executor } from '../executor.ts';

export const runSubWorkflow: Executor<typeof subWorkflow> = async ({ config, fact, run }) => {
  if (fact?.kind !== 'child') {
    const { childWorkflowID: workflowID, inputMapping: input, maxDepth } = config;
    return { park: 'child', workflowID, input, maxDepth, timeoutMs: run.timeoutMs };
  }
  if (fact.status !== 'COMPLETED')
    throw new AppError('NODE_FAILED', `The sub-workflow ended as ${fact.status}${whyOf(fact.error)}`, {
      ...(fact.error && { details: causedBy({ ...fact.error, instanceID: fact.instanceID }) }),
    });
  const merged = config.mergeOutputs && isJsonObject(fact.output) ? fact.output : {};
  return {
    output: {
      ...merged,
      [config.outputVariable]: fact.output,
      childInstanceID: fact.instanceID,
      childStatus: fact.status,
      success: true,
    },
    exit: 'success',
  };
};

function whyOf(error: ChildError | null): string {
  if (!error) return '';
  const { code, message, nodeID } = error;
  return `${nodeID ? ` at node "${nodeID}"` : ''}: ${code}: ${message}`;
}
