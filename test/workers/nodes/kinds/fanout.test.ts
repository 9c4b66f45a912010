import { expect, test } from 'vitest';
import { fanout } from '#shared/workflow/nodes/kinds/fanout.ts';
import { aNodeRun } from '#test/support/node-run.ts';
import type { NodeContext } from '#workers/nodes/executor.ts';
import { runFanout } from '#workers/nodes/kinds/fanout.ts';

test('names its branches, and leaves by the exit that takes all of them', () => {
  const config = fanout.config.parse({ branches: [{ id: 'b', name: 'B' }, { id: 'a' }] });
  const task = { config, run: aNodeRun(), signal: new AbortController().signal };

  expect(runFanout(task, {} as NodeContext)).toEqual({
    output: { branches: ['b', 'a'], success: true },
    exit: 'output',
  });
});
