import type { JsonObject } from '#shared/core/json.ts';
import type { set } from '#shared/workflow/nodes/kinds/set.ts';
import type { Executor } from '../executor.ts';

export const runSet: Executor<typeof set> = ({ config }) => {
  const values: JsonObject = Object.fromEntries(config.assignments.map(({ name, value }) => [name, value]));
  return { output: { [config.outputVariable]: values, success: true }, exit: 'output' };
};
