import { expect, test } from 'vitest';
import { compareKeys, sortKeyOf } from '#ops/console/ui/row-order.ts';

test('rows are sorted by numbers, also those that are texts, and then by words; NULL has no place among them', () => {
  const values = ['b10', '9.90', 'B2', -5, '120', '9007199254740993', '9007199254740992', 1e3, 'äther', true];
  const keys = values.flatMap((value) => sortKeyOf(value) ?? []);

  expect(keys.toSorted(compareKeys).map(({ text }) => text)).toEqual([
    ...['-5', '9.90', '120', '1000', '9007199254740992', '9007199254740993'],
    ...['äther', 'B2', 'b10', 'true'],
  ]);
  const exact = [
    '12345678901234567890.5',
    '12345678901234567890.25',
    '-12345678901234567890.5',
    '-12345678901234567890.25',
  ];
  const large = [...exact, '1e401', '2e400', '-1e400'].flatMap((value) => sortKeyOf(value) ?? []);
  expect(large.toSorted(compareKeys).map(({ text }) => text)).toEqual([
    ...['-1e400', '-12345678901234567890.5', '-12345678901234567890.25'],
    ...['12345678901234567890.25', '12345678901234567890.5', '2e400', '1e401'],
  ]);
  expect([sortKeyOf(null), sortKeyOf(undefined)]).toEqual([undefined, undefined]);
});
