import { expect, test } from 'vitest';
import { runSync } from '#shared/concurrency/cooperative.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { compileGraph } from '#shared/workflow/graph/graph.ts';
import { set } from '#shared/workflow/nodes/kinds/set.ts';
import { contextPatch } from '#shared/workflow/resolve-config.ts';
import { aNodeRun } from '#test/support/node-run.ts';
import type { NodeContext } from '#workers/nodes/executor.ts';
import { runSet } from '#workers/nodes/kinds/set.ts';

const data = {
  assignments: [
    { name: 'customer', value: { id: 7 } },
    { name: 'total', value: 12.5 },
  ],
} satisfies JsonObject;

test('its value is an object of all values, and each is a key of ctx as well', async () => {
  const config = set.config.parse(data);
  const values = { customer: { id: 7 }, total: 12.5 };
  const task = { config, run: aNodeRun(), signal: new AbortController().signal };
  const outcome = await runSet(task, {} as NodeContext);
  expect(outcome).toEqual({ output: { values, success: true }, exit: 'output' });

  const start = { id: 's', type: 'start', data: {} };
  const edges = [{ id: 'e', source: 's', target: 'n' }];
  const { nodes } = runSync(compileGraph([start, { id: 'n', type: 'set', data }], edges));
  const [, node = expect.fail()] = nodes;
  expect(contextPatch(node, config, { values, success: true })).toEqual({ values, ...values });
});
