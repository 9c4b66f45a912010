import { afterAll, describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { createLogger } from '#shared/core/logger.ts';
import { switchNode } from '#shared/workflow/nodes/kinds/switch.ts';
import { aNodeRun } from '#test/support/node-run.ts';
import type { NodeContext } from '#workers/nodes/executor.ts';
import { runSwitch } from '#workers/nodes/kinds/switch.ts';
import { createSandbox } from '#workers/sandbox/pool.ts';

const sandbox = createSandbox({ processes: 1, maxOutputBytes: 1024 * 1024 }, createLogger({ level: 'silent' }));
afterAll(() => sandbox[Symbol.asyncDispose]());

function run(switchValue: Json, cases: object[], scope: JsonObject = {}) {
  const config = switchNode.config.parse({ switchValue, cases });
  return runSwitch({ config, run: aNodeRun({ scope }), signal: new AbortController().signal }, {
    sandbox,
  } as NodeContext);
}

function matched(id: string, value: Json, label = id) {
  return { output: { matched: id, label, value, success: true }, exit: id };
}

function unmatched(value: Json) {
  return { output: { matched: null, label: null, value, success: true }, exit: 'default' };
}

describe('a switch', () => {
  test('leaves by the first case that matches, with its label and the value', () => {
    const cases = [
      { id: 'small', operator: 'less_than', matchValue: 10 },
      { id: 'big', label: 'Big', operator: 'greater_than', matchValue: 10 },
      { id: 'bigger', operator: 'greater_than', matchValue: 11 },
    ];

    expect(run(12, cases)).toEqual(matched('big', 12, 'Big'));
    expect(run(9, cases)).toEqual(matched('small', 9));
    expect(run(10, cases)).toEqual(unmatched(10));
  });

  test('compares for equality unless the case says otherwise, and answers at once', () => {
    expect(
      run('b', [
        { id: 'x', matchValue: 'a' },
        { id: 'y', matchValue: 'b' },
      ]),
    ).toEqual(matched('y', 'b'));
    expect(run(null, [{ id: 'x', operator: 'is_empty' }])).toEqual(matched('x', null));
  });

  test('matches patterns and evaluates expressions in the sandbox, in the order of the cases', async () => {
    const cases = [
      { id: 'pattern', operator: 'matches_regex', matchValue: '^order-\\d+$' },
      { id: 'broken', operator: 'expression', matchValue: 'ctx.missing.deeper' },
      { id: 'vip', operator: 'expression', matchValue: 'ctx.input.vip' },
      { id: 'plain', matchValue: 'x' },
    ];

    expect(await run('order-7', cases)).toEqual(matched('pattern', 'order-7'));
    expect(await run('x', cases, { input: { vip: true } })).toEqual(matched('vip', 'x'));
    expect(await run('x', cases, { input: { vip: false } })).toEqual(matched('plain', 'x'));
    expect(await run('y', cases, {})).toEqual(unmatched('y'));
  });
});
