import type { start } from '#shared/workflow/nodes/kinds/start.ts';
import type { Executor } from '../executor.ts';

export const runStart: Executor<typeof start> = ({ run }) => ({
  output: { started: true, inputReceived: run.scope.input ?? {} },
  exit: 'output',
});
