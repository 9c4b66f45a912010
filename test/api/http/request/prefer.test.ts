import { expect, test } from 'vitest';
import { readPreferences } from '#api/http/request/prefer.ts';

test.each<[string, Record<string, string>]>([
  ['handling=strict', { handling: 'strict' }],
  ['Handling = Strict', { handling: 'Strict' }],
  ['handling="strict"', { handling: 'strict' }],
  ['handling="str\\ict"', { handling: 'strict' }],
  ['respond-async, wait=10, handling=strict', { 'respond-async': '', wait: '10', handling: 'strict' }],
  ['handling=strict; by="a; b, c", return=minimal', { handling: 'strict', return: 'minimal' }],
  ['foo="a, handling=strict", bar', { foo: 'a, handling=strict', bar: '' }],
  ['foo="say \\"handling=strict\\", then"', { foo: 'say "handling=strict", then' }],
  ['handling=lenient, handling=strict', { handling: 'lenient' }],
  ['handling, handling=strict', { handling: '' }],
  [' , handling=strict ,, ', { handling: 'strict' }],
  ['handling', { handling: '' }],
  ['handling=', { handling: '' }],
  ['handling=""', { handling: '' }],
  ['handling=strict lenient', {}],
  ['handling="strict', {}],
  ['=strict', {}],
  ['', {}],
])('%s', (header, expected) => {
  expect(Object.fromEntries(readPreferences(header))).toEqual(expected);
});

test('an absent header has no preferences', () => {
  expect(readPreferences(undefined).size).toBe(0);
});

test('parses a hostile header', () => {
  for (const hard of [
    '"'.repeat(16_000),
    '\\"'.repeat(8_000),
    'a='.repeat(8_000),
    ' '.repeat(16_000),
    ','.repeat(16_000),
  ])
    expect(readPreferences(hard).size).toBeLessThan(2);
});
