import type { JsonObject } from '#shared/core/json.ts';
import type { end } from '#shared/workflow/nodes/kinds/end.ts';
import type { Executor } from '../executor.ts';

export const runEnd: Executor<typeof end> = ({ config }) => {
  const workflowOutput: JsonObject = {};
  for (const { name, sourceVariable } of config.outputParameters) workflowOutput[name] = sourceVariable;
  const { status, message, cancelOthers = status !== 'success' } = config;
  const output = { status, workflowOutput, ...(message !== undefined && { message }) };
  return { output: { ...output, completedAt: new Date().toISOString() }, exit: null, cancelsOthers: cancelOthers };
};
