import { AppError } from '#shared/errors.ts';
import { isJsonObject } from '#shared/json.ts';
import type { subWorkflow } from '#shared/nodes/sub-workflow.ts';
import type { Executor } from './executor.ts';

export const runSubWorkflow: Executor<typeof subWorkflow> = async ({ config, fact, run }) => {
  if (fact?.kind !== 'child') {
    const { childWorkflowID: workflowID, inputMapping: input, maxDepth } = config;
    return { park: 'child', workflowID, input, maxDepth, timeoutMs: run.timeoutMs };
  }
  if (fact.status !== 'COMPLETED')
    throw new AppError(
      'NODE_FAILED',
      `The sub-workflow ended as ${fact.status}${fact.message ? `: ${fact.message}` : ''}`,
    );
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
