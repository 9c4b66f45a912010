import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Json } from '#shared/core/json.ts';
import { parseValue } from '#shared/core/schema/parse.ts';
import { findUnstorable } from '#shared/core/unstorable.ts';

describe('a JSON value', () => {
  test.each([null, true, 0, 'a', [], [1, [null]], { a: { b: [1] } }])('may be %j', (value) => {
    expect(Json.safeParse(value)).toEqual({ success: true, data: value });
  });

  test.each([undefined, Number.NaN, Number.POSITIVE_INFINITY, 1n, new Date(0), () => 1, [undefined], { a: undefined }])(
    'may not be %s',
    (value) => {
      expect(Json.safeParse(value).success).toBe(false);
    },
  );

  test('loses keys that would change a prototype, however deep', () => {
    const value = JSON.parse('{"__proto__":{"a":1},"b":[{"__proto__":1,"c":2}]}');

    expect(JSON.stringify(Json.parse(value))).toBe('{"b":[{"c":2}]}');
  });
});

describe('a large list', () => {
  const list = (unit: string): unknown => JSON.parse(`[${`${unit},`.repeat(100_000)}${unit}]`);

  test.each(['1', '{}', '[]', '"a"', '{"a":1}'])('of %s is found to be right', (unit) => {
    expect(findUnstorable(list(unit))).toBeNull();
    expect(parseValue(Json, list(unit)).success).toBe(true);
  });

  test('of wrong elements is refused with the first issue', () => {
    const issues = [{ path: [0], message: 'expected a text, received 1' }];
    expect(parseValue(z.array(z.string()), list('1'))).toMatchObject({ success: false, issues, count: 1 });
  });
});
