import { expect, test } from 'vitest';
import { end } from '#shared/workflow/nodes/kinds/end.ts';
import { aNodeRun } from '#test/support/node-run.ts';
import type { NodeContext } from '#workers/nodes/executor.ts';
import { runEnd } from '#workers/nodes/kinds/end.ts';

test.each([
  [{}, false],
  [{ cancelOthers: true }, true],
  [{ status: 'failure' }, true],
  [{ status: 'cancelled' }, true],
  [{ status: 'failure', cancelOthers: false }, false],
])('%j cancels other branches: %j', async (given, cancelsOthers) => {
  const task = { config: end.config.parse(given), run: aNodeRun(), signal: new AbortController().signal };

  expect(await runEnd(task, {} as NodeContext)).toMatchObject({ cancelsOthers });
});

test('the output names the parameters, the status and the time, and there is no exit', async () => {
  const parameters = [
    { name: 'a', sourceVariable: { b: [1] } },
    { name: 'a', sourceVariable: null },
  ];
  const config = end.config.parse({ status: 'failure', message: 'No', outputParameters: parameters });
  const task = { config, run: aNodeRun(), signal: new AbortController().signal };

  const done = await runEnd(task, {} as NodeContext);

  expect(done).toEqual({
    output: {
      status: 'failure',
      message: 'No',
      workflowOutput: { a: null },
      completedAt: expect.stringMatching(/^\d{4}-.*Z$/),
    },
    exit: null,
    cancelsOthers: true,
  });
});
