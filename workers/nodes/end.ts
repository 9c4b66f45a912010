import type { JsonObject } from '#shared/json.ts';
import type { end } from '#shared/nodes/end.ts';
import type { Executor } from './executor.ts';

export const runEnd: Executor<typeof end> = ({ config }) => {
  const workflowOutput: JsonObject = {};
  for (const { name, sourceVariable } of config.outputParameters) workflowOutput[name] = sourceVariable;
  return { output: { status: config.status, workflowOutput, completedAt: new Date().toISOString() }, exit: null };
};
