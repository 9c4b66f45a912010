import type { map } from '#shared/workflow/nodes/kinds/map.ts';
import type { Executor } from '../executor.ts';
import { listOf } from '../list-of.ts';

export const runMap: Executor<typeof map> = async ({ config, waitResult }) => {
  const { itemVariable, indexVariable, outputVariable, concurrency, chunkSize, collectResults } = config;
  if (waitResult?.kind === 'iterations') {
    const { results, total, failed } = waitResult;
    const output = { [outputVariable]: collectResults ? results : null, totalItems: total, failedItems: failed };
    return { output: { ...output, success: failed === 0 }, exit: 'completed' };
  }
  const items = listOf(config.sourceVariable, config);
  const { failurePolicy, toleratedFailures = null } = config;
  return {
    park: 'chunks',
    items,
    itemVariable,
    indexVariable,
    concurrency,
    ...(chunkSize !== undefined && { chunkSize }),
    collectResults,
    failsFast: failurePolicy === 'fail-fast',
    tolerated: failurePolicy === 'fail-fast' ? 0 : toleratedFailures,
  };
};
