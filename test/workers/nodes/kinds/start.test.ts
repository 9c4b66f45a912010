import { expect, test } from 'vitest';
import { start } from '#shared/workflow/nodes/kinds/start.ts';
import { aNodeRun } from '#test/support/node-run.ts';
import type { NodeContext } from '#workers/nodes/executor.ts';
import { runStart } from '#workers/nodes/kinds/start.ts';

test.each([
  [{ input: { a: 1 } }, { a: 1 }],
  [{}, {}],
])('of %j the output shows the input, %j', async (scope, inputReceived) => {
  const task = { config: start.config.parse({}), run: aNodeRun({ scope }), signal: new AbortController().signal };

  expect(await runStart(task, {} as NodeContext)).toEqual({
    output: { started: true, inputReceived },
    exit: 'output',
  });
});
