import { expect, test } from 'vitest';
import { join } from '#shared/workflow/nodes/kinds/join.ts';
import { aNodeRun } from '#test/support/node-run.ts';
import type { NodeContext } from '#workers/nodes/executor.ts';
import { runJoin } from '#workers/nodes/kinds/join.ts';

const scope = { input: {}, a: 1, b: null };

function run(given: object) {
  const config = join.config.parse(given);
  return runJoin({ config, run: aNodeRun({ scope }), signal: new AbortController().signal }, {} as NodeContext);
}

test('collects keys of ctx under one name', () => {
  expect(run({ sourceVariables: ['a', 'b'], outputVariable: 'all' })).toEqual({
    output: { all: { a: 1, b: null }, success: true },
    exit: 'output',
  });
  expect(run({})).toEqual({ output: { joined: {}, success: true }, exit: 'output' });
});

test('fails for keys that ctx does not have, and names them; without requireAll they are null', () => {
  const sourceVariables = ['a', 'missing', 'toString'];

  expect(() => run({ sourceVariables })).toThrow(
    expect.objectContaining({ code: 'NODE_FAILED', retry: false, message: expect.stringContaining('"missing"') }),
  );
  expect(run({ sourceVariables, requireAll: false })).toEqual({
    output: { joined: { a: 1, missing: null, toString: null }, success: true },
    exit: 'output',
  });
});
