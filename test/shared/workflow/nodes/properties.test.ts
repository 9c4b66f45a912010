import { describe, expect, test } from 'vitest';
import { nodes } from '#shared/workflow/nodes/index.ts';
import { condition } from '#shared/workflow/nodes/kinds/condition.ts';
import { dataCollection } from '#shared/workflow/nodes/kinds/data-collection.ts';
import { subWorkflow } from '#shared/workflow/nodes/kinds/sub-workflow.ts';
import { elseExitOf, exitsOf, isPure, isSpread, usualExitOf } from '#shared/workflow/nodes/properties.ts';

const kinds = nodes.map((definition) => [definition.kind, definition] as const);
describe.each(kinds)('%s', (_kind, definition) => {
  const config = definition.config.parse(definition.defaultValue);
  const exits = exitsOf(definition, config);

  test('leaves by one of its exits when it is skipped, unless it ends a branch', () => {
    if (definition.ends) expect([exits, usualExitOf(definition, config)]).toEqual([[], null]);
    else expect(exits).toContain(usualExitOf(definition, config));
  });

  test('has a usual exit that is one of its exits', () => {
    const exit = elseExitOf(definition, config);
    if (exit !== undefined) expect(exits).toContain(exit);
  });
});

test('every property of every kind', () => {
  const table = nodes.map(({ kind, usualExit, begins, ends, pure, clocked }) => [
    kind,
    typeof usualExit === 'function' ? 'by config' : usualExit,
    begins ? 'begins' : ends ? 'ends' : '',
    typeof pure === 'function' ? 'by config' : pure ? 'pure' : '',
    clocked ? 'clocked' : '',
  ]);

  expect(table).toEqual([
    ['start', 'output', 'begins', 'pure', ''],
    ['dataQuery', 'success', '', '', 'clocked'],
    ['http', 'success', '', '', 'clocked'],
    ['javascript', 'success', '', '', ''],
    ['ai', 'success', '', '', 'clocked'],
    ['condition', 'by config', '', 'by config', ''],
    ['switch', 'by config', '', 'by config', ''],
    ['set', 'output', '', 'pure', ''],
    ['fanout', 'output', '', 'pure', ''],
    ['join', 'output', '', 'pure', ''],
    ['loop', 'completed', '', '', ''],
    ['map', 'completed', '', '', ''],
    ['delay', 'output', '', '', ''],
    ['dataCollection', 'output', '', '', ''],
    ['approval', 'approved', '', '', ''],
    ['subWorkflow', 'success', '', '', ''],
    ['waitForEvent', 'received', '', '', ''],
    ['log', 'output', '', 'pure', ''],
    ['end', null, 'ends', 'pure', ''],
  ]);
});

describe('a condition', () => {
  const comparing = (operator: string) => ({ operator, leftValue: 1, rightValue: 1 });
  const config = (...operators: string[]) => ({
    branches: operators.map((operator, at) => ({
      id: `b${at}`,
      conditions: [comparing('equals'), comparing(operator)],
    })),
    defaultBranch: 'rest',
  });

  test('leaves by its default branch when no other matches', () => {
    expect(usualExitOf(condition, config('equals'))).toBe('rest');
    expect(elseExitOf(condition, config('equals'))).toBe('rest');
  });

  test('is pure unless one of its operators runs code of a user', () => {
    expect(isPure(condition, config('equals', 'is_empty'))).toBe(true);
    for (const operator of ['matches_regex', 'expression'])
      expect(isPure(condition, config('equals', operator)), operator).toBe(false);
  });

  test('is not known to be pure when a template decides the operator', () => {
    expect(isPure(condition, config('{{ctx.operator}}'))).toBe(false);
    expect(isPure(condition, { branches: [{ id: 'a', conditions: '{{ctx.conditions}}' }] })).toBe(false);
  });
});

test('a sub-workflow spreads its value when its config says so, and not for the text of a template', () => {
  for (const [mergeOutputs, expected] of [
    [true, true],
    [false, false],
    ['{{ctx.merge}}', false],
  ] as const)
    expect(isSpread(subWorkflow, { mergeOutputs }), String(mergeOutputs)).toBe(expected);
  expect(isSpread(dataCollection, {})).toBe(false);
});
