import { expect, test } from 'vitest';
import type { Json } from '#shared/core/json.ts';
import { Operator, type PlainOperator } from '#shared/workflow/nodes/operators.ts';
import { compare } from '#workers/nodes/compare.ts';

const cases: [PlainOperator, Json, Json | undefined, boolean][] = [
  ['equals', 'a', 'a', true],
  ['equals', 'a', 'A', false],
  ['equals', 1, '1', true],
  ['equals', '1.0', 1, false],
  ['equals', true, 'true', true],
  ['equals', null, '', true],
  ['equals', null, 'null', false],
  ['equals', null, undefined, true],
  ['equals', 0, '', false],
  ['equals', [1, 2], '1,2', true],
  ['equals', { a: 1 }, { a: 1 }, true],
  ['equals', { a: 1 }, { a: 2 }, false],
  ['equals', { a: 1 }, '{"a":1}', true],
  ['not_equals', 'a', 'b', true],
  ['not_equals', 5, '5', false],
  ['contains', 'haystack', 'st', true],
  ['contains', 'haystack', 'needle', false],
  ['contains', ['admin', 'user'], 'admin', true],
  ['contains', 12345, 234, true],
  ['contains', null, 'nul', false],
  ['not_contains', 'haystack', 'needle', true],
  ['not_contains', 'haystack', 'hay', false],
  ['starts_with', 'haystack', 'hay', true],
  ['starts_with', 'haystack', 'stack', false],
  ['starts_with', 42, 4, true],
  ['ends_with', 'haystack', 'stack', true],
  ['ends_with', 'haystack', 'hay', false],
  ['greater_than', 2, 1, true],
  ['greater_than', 1, 1, false],
  ['greater_than', '10', '9', true],
  ['greater_than', 'ten', 1, false],
  ['greater_than', 1, undefined, false],
  ['less_than', '9', '10', true],
  ['less_than', 'nine', 10, false],
  ['less_than', null, 1, true],
  ['greater_or_equal', '1', 1, true],
  ['greater_or_equal', 0.5, 1, false],
  ['less_or_equal', 1, '1', true],
  ['less_or_equal', 2, 1, false],
  ['less_or_equal', {}, 1, false],
  // Texts hold the digits of numbers that a double does not.
  ['greater_than', '9007199254740993', '9007199254740992', true],
  ['greater_than', '12345678901234567890.5', '12345678901234567890.25', true],
  ['less_than', '-12345678901234567890.5', '-12345678901234567890.25', true],
  ['less_than', '-12345678901234567890.5', '12345678901234567890.5', true],
  ['less_than', 0.1, '0.10000000000000001', true],
  ['greater_or_equal', '0.1', '0.10000000000000001', false],
  ['less_or_equal', '9007199254740993', '9007199254740992', false],
  ['less_or_equal', '12345678901234567890.50', '12345678901234567890.5', true],
  ['greater_or_equal', ' 12345678901234567890.5 ', '+12345678901234567890.5', true],
  ['greater_than', '1e401', '1e400', true],
  ['greater_than', '10e400', '1e401', false],
  ['greater_than', '1e-400', 0, true],
  ['greater_than', '-1e-400', 0, false],
  ['less_than', 1e21, '1000000000000000000001', true],
  ['less_or_equal', '', null, true],
  ['less_or_equal', '0x10', 16, true],
  ['less_or_equal', 'Infinity', '1e400', true],
  ['equals', '12345678901234567890.5', '12345678901234567890.25', false],
  ['is_empty', null, undefined, true],
  ['is_empty', '', undefined, true],
  ['is_empty', [], undefined, true],
  ['is_empty', 0, undefined, false],
  ['is_empty', false, undefined, false],
  ['is_empty', ' ', undefined, false],
  ['is_empty', {}, undefined, false],
  ['is_empty', [null], undefined, false],
  ['is_not_empty', 'x', undefined, true],
  ['is_not_empty', 0, undefined, true],
  ['is_not_empty', null, undefined, false],
  ['is_not_empty', [], undefined, false],
];

test.each(cases)('%s of %j and %j is %j', (operator, left, right, expected) => {
  expect(compare(operator, left, right)).toBe(expected);
});

test('every operator but the two for the sandbox has cases that hold and cases that do not', () => {
  const plain = Operator.options.filter((operator) => operator !== 'matches_regex' && operator !== 'expression');

  for (const operator of plain) {
    const answers = cases.filter(([each]) => each === operator).map(([, , , expected]) => expected);
    expect([operator, new Set(answers)]).toEqual([operator, new Set([true, false])]);
  }
});

test('values that cannot be compared do not match', () => {
  let deep: Json = [];
  for (let i = 0; i < 100_000; i += 1) deep = [deep];

  expect(compare('equals', deep, deep)).toBe(false);
  expect(compare('not_equals', deep, 'x')).toBe(false);
});
