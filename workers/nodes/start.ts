import type { start } from '#shared/nodes/start.ts';
import type { Executor } from './executor.ts';

export const runStart: Executor<typeof start> = ({ run }) => ({
  output: { started: true, inputReceived: run.scope.input ?? {} },
  exit: 'output',
});
