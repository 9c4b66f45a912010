import { AppError } from '#shared/core/errors.ts';
import { isJsonObject } from '#shared/core/json.ts';
import type { subWorkflow } from '#shared/workflow/nodes/kinds/sub-workflow.ts';
import { causedBy } from '#shared/workflow/run-error.ts';
import type { ChildError, Executor } from '../executor.ts';

export const runSubWorkflow: Executor<typeof subWorkflow> = async ({ config, waitResult }) => {
  if (waitResult?.kind !== 'child') {
    const { childWorkflowID: workflowID, inputMapping: input, maxDepth } = config;
    return { park: 'child', workflowID, input, maxDepth };
  }
  if (waitResult.status !== 'COMPLETED')
    throw new AppError('NODE_FAILED', `The sub-workflow ended as ${waitResult.status}${whyOf(waitResult.error)}`, {
      ...(waitResult.error && { details: causedBy({ ...waitResult.error, instanceID: waitResult.instanceID }) }),
    });
  const merged = config.mergeOutputs && isJsonObject(waitResult.output) ? waitResult.output : {};
  return {
    output: {
      ...merged,
      [config.outputVariable]: waitResult.output,
      childInstanceID: waitResult.instanceID,
      childStatus: waitResult.status,
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
