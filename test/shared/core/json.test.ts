import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { findUnstorable } from '#api/http/storable.ts';
import { Json } from '#shared/core/json.ts';
import { parseValue } from '#shared/core/schema/parse.ts';
import { leastCostOf } from '../../support/event-loop.ts';

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

const SIZE = 5_000_000;
const list = (unit: string) => `[${`${unit},`.repeat(SIZE / (unit.length + 1))}${unit}]`;

describe('five megabytes', () => {
  test.each(['1', '{}', '[]', '"a"', '{"a":1}'])(
    'of %s are checked in less time than parsing and writing takes',
    (unit) => {
      const text = list(unit);
      const value: unknown = JSON.parse(text);
      const baseline = leastCostOf(() => JSON.stringify(JSON.parse(text)));

      const cost = leastCostOf(() => {
        expect(findUnstorable(value)).toBeNull();
        expect(parseValue(Json, value).success).toBe(true);
      });

      expect(cost).toBeLessThan(3 * baseline);
    },
  );

  test('of wrong elements are refused with the first issue', () => {
    const text = list('1');
    const value: unknown = JSON.parse(text);
    const baseline = leastCostOf(() => JSON.stringify(JSON.parse(text)));

    const cost = leastCostOf(() => {
      const issues = [{ path: [0], message: 'expected a text, received 1' }];
      expect(parseValue(z.array(z.string()), value)).toMatchObject({ success: false, issues, count: 1 });
    });

    expect(cost).toBeLessThan(baseline);
  });
});
