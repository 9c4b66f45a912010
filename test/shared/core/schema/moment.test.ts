import { expect, test } from 'vitest';
import { z } from 'zod';
import { Moment } from '#shared/core/schema/moment.ts';
import { NumberText } from '#shared/core/schema/number-text.ts';

test.each([
  ['2026-02-28T12:00:00Z', '2026-02-28T12:00:00.000Z'],
  ['2026-02-28T12:00:00.123456+05:45', '2026-02-28T06:15:00.123Z'],
  ['2028-02-29T00:00:00-12:00', '2028-02-29T12:00:00.000Z'],
  ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59.000Z'],
])('%s is a moment', (text, iso) => {
  expect(Moment.parse(text).toISOString()).toBe(iso);
});

test.each([
  null,
  true,
  false,
  0,
  1_767_225_600_000,
  '',
  '0',
  '1',
  '2026',
  '2026-01-01',
  '2026-01-01T00:00:00',
  '2026-01-01T00:00Z',
  '2026-01-01 00:00:00Z',
  '2026-02-30T00:00:00Z',
  '2026-02-29T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-01-01T24:00:00Z',
  '2026-01-01T00:00:60Z',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59-01:00',
  'Thu, 01 Jan 2026 00:00:00 GMT',
  'tomorrow',
  ['2026-01-01T00:00:00Z'],
  {},
  new Date(),
])('%j is none', (value) => {
  expect(Moment.safeParse(value).success).toBe(false);
});

test('a number in a text is read as JSON writes it, and nothing else is a number', () => {
  const Count = NumberText(z.number().min(-10).max(1_000));
  const read = (value: unknown) => Count.safeParse(value).data;

  expect(['0', '5', ' 5 ', '05', '-1', '2.5', '1e2', 7].map(read)).toEqual([0, 5, 5, 5, -1, 2.5, 100, 7]);
  const others = ['', ' ', '0x10', '+5', '1_0', 'Infinity', 'NaN', 'five', '5,5', '1001', null, true, ['5'], {}];
  expect(others.map(read)).toEqual(others.map(() => undefined));
});
