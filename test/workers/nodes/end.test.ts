import { expect, test } from 'vitest';
import { end } from '#shared/nodes/end.ts';
import { aNodeRun } from '#test/support/node-run.ts';
import { runEnd } from '#workers/nodes/end.ts';
import type { NodeContext } from '#workers/nodes/executor.ts';

test('the output names the parameters, the status and the time, and there is no exit', async () => {
  const parameters = [
    { name: 'a', sourceVariable: { b: [1] } },
    { name: 'a', sourceVariable: null },
  ];
  const config = end.config.parse({ status: 'failure', outputParameters: parameters });
  const task = { config, run: aNodeRun(), signal: new AbortController().signal };

  const done = await runEnd(task, {} as NodeContext);

  expect(done).toEqual({
    output: { status: 'failure', workflowOutput: { a: null }, completedAt: expect.stringMatching(/^\d{4}-.*Z$/) },
    exit: null,
  });
});
