import { AppError } from '#shared/errors.ts';
import type { Json } from '#shared/json.ts';
import type { loop } from '#shared/nodes/loop.ts';
import type { Executor } from './executor.ts';

export const runLoop: Executor<typeof loop> = async ({ config, fact }) => {
  const { itemVariable, indexVariable, outputVariable, maxIterations, delayBetweenItems, errorHandling } = config;
  if (fact?.kind === 'iterations') {
    const { results, total, failed } = fact;
    return { output: { [outputVariable]: results, totalItems: total, success: failed === 0 }, exit: 'completed' };
  }
  const items = listOf(config.sourceVariable);
  if (items.length > maxIterations) {
    const message = `The list has ${items.length} items, more than maxIterations (${maxIterations})`;
    throw new AppError('NODE_FAILED', message, { retry: false });
  }
  const onFailure = { continue: 'keep', skip_item: 'skip', fail_workflow: 'fail' } as const;
  return {
    park: 'iterations',
    items,
    itemVariable,
    indexVariable,
    delayMs: delayBetweenItems,
    failedItems: onFailure[errorHandling ?? 'fail_workflow'],
  };
};

function listOf(value: Json): Json[] {
  if (Array.isArray(value)) return value;
  return value === null ? [] : [value];
}
