import fc from 'fast-check';
import { expect, test } from 'vitest';
import { exactNumber, isExact, isUnsafeInteger, numberIn } from '#shared/core/exact-number.ts';

test.each([
  '0',
  '-0',
  '0.000',
  '0e999',
  '1.10',
  '0.1',
  '1e3',
  '1E+308',
  '100e-2',
  '0.00012e4',
  '9007199254740991',
  '0.30000000000000004',
  '1.7976931348623157e308',
  '5e-324',
  '1e20',
  '12345678901234567000.0',
  '1230000000000000000000000.00e-3',
])('a double holds %s', (written) => {
  expect(isExact(written)).toBe(true);
});

test.each([
  '9007199254740992',
  '9007199254740993',
  '-9007199254740993',
  '100000000000000000000',
  '12345678901234567890.5',
  '0.1234567890123456789',
  '0.10000000000000001',
  '9007199254740993.0',
  '1e400',
  '-1e400',
  '1e-400',
  '4.9e-324',
])('a double does not hold %s', (written) => {
  expect(isExact(written)).toBe(false);
});

test('a double holds every number that JSON writes for it', () => {
  const double = fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .filter((value): boolean => !isUnsafeInteger(value));
  fc.assert(
    fc.property(double, (value) => {
      expect(isExact(JSON.stringify(value))).toBe(true);
      expect(isExact(value.toExponential())).toBe(true);
    }),
  );
});

test('an integer that a double does not hold becomes its text', () => {
  expect([exactNumber(5n), exactNumber(2n ** 53n + 1n)]).toEqual([5, '9007199254740993']);
  expect([isUnsafeInteger(2 ** 53), isUnsafeInteger(2 ** 53 - 1), isUnsafeInteger(0.5)]).toEqual([true, false, false]);
});

test('the number of a text is that text where a double does not hold it', () => {
  expect([numberIn(' 4.50 '), numberIn('0x10'), numberIn('12345678901234567890.5'), numberIn('1e-400')]).toEqual([
    4.5,
    16,
    '12345678901234567890.5',
    '1e-400',
  ]);
  for (const text of ['', ' ', 'four', '1e400', 'Infinity']) expect(numberIn(text)).toBeUndefined();
});
