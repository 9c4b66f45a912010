import type { loop } from '#shared/workflow/nodes/kinds/loop.ts';
import type { Executor } from '../executor.ts';
import { listOf } from '../list-of.ts';

export const runLoop: Executor<typeof loop> = async ({ config, waitResult }) => {
  const { itemVariable, indexVariable, outputVariable, delayBetweenItems, errorHandling } = config;
  if (waitResult?.kind === 'iterations') {
    const { results, total, failed } = waitResult;
    return { output: { [outputVariable]: results, totalItems: total, success: failed === 0 }, exit: 'completed' };
  }
  const items = listOf(config.sourceVariable, config);
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
