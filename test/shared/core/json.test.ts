import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { Json, JsonObject } from '#shared/core/json.ts';
import { recordOf } from '#shared/core/record.ts';
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

  test.each([
    ['Json', Json],
    ['JsonObject', JsonObject],
    ['JsonObject with metadata and a default', JsonObject.describe('Values').default({})],
    ['in a union', z.union([z.string(), JsonObject.optional()])],
  ])('keeps the key __proto__, however deep (%s)', (_name, schema) => {
    const text = '{"b":[{"__proto__":1,"c":2}],"__proto__":{"a":1}}';
    const given: unknown = JSON.parse(text);

    const value = JsonObject.parse(schema.parse(given));

    expect(Object.entries(value).toSorted()).toEqual(Object.entries(given as object).toSorted());
    expect(JSON.stringify(value.b)).toBe('[{"__proto__":1,"c":2}]');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect({}).not.toHaveProperty('a');
  });

  test('reports a value of the key __proto__ that is not JSON', () => {
    const value = Object.defineProperty({}, '__proto__', { value: 1n, enumerable: true });

    expect(JsonObject.safeParse(value).error?.issues).toMatchObject([{ path: ['__proto__'] }]);
    expect(recordOf(z.int()).safeParse(JSON.parse('{"a":1,"__proto__":"x"}')).error?.issues).toMatchObject([
      { path: ['__proto__'], code: 'invalid_type' },
    ]);
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
