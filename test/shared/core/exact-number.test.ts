import { expect, test } from 'vitest';
import { exactNumber, isUnsafeInteger, losesPrecision } from '#shared/core/exact-number.ts';

test.each([
  ['9007199254740991', false],
  ['9007199254740993', true],
  ['-9007199254740993', true],
  ['0.1234567890123456789', false],
  ['1e308', false],
  ['1e400', true],
])('%s loses its precision as a double: %s', (written, expected) => {
  expect(losesPrecision(Number(written), written)).toBe(expected);
});

test('an integer that a double does not hold becomes its text', () => {
  expect([exactNumber(5n), exactNumber(2n ** 53n + 1n)]).toEqual([5, '9007199254740993']);
  expect([isUnsafeInteger(2 ** 53), isUnsafeInteger(2 ** 53 - 1), isUnsafeInteger(0.5)]).toEqual([true, false, false]);
});
