import type { fanout } from '#shared/workflow/nodes/kinds/fanout.ts';
import type { Executor } from '../executor.ts';

export const runFanout: Executor<typeof fanout> = ({ config }) => ({
  output: { branches: config.branches.map(({ id }) => id), success: true },
  exit: 'output',
});
