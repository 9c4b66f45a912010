import { expect, test } from 'vitest';
import { log } from '#shared/workflow/nodes/kinds/log.ts';
import { aNodeRun } from '#test/support/node-run.ts';
import type { NodeContext } from '#workers/nodes/executor.ts';
import { runLog } from '#workers/nodes/kinds/log.ts';

test.each([
  [{ message: 'Hello' }, { level: 'info', message: 'Hello', success: true }],
  [
    { level: 'warn', message: { a: 1 }, data: [1] },
    { level: 'warn', message: '{"a":1}', data: [1], success: true },
  ],
])('of %j the output is a line of the timeline', (given, output) => {
  const config = log.config.parse(given);
  const task = { config, run: aNodeRun(), signal: new AbortController().signal };

  expect(runLog(task, {} as NodeContext)).toEqual({ output, exit: 'output' });
});
