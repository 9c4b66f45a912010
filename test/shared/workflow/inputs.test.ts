import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '#shared/core/errors.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { quote } from '#shared/core/quote.ts';
import { definitionIssues, InputDefinition, InputType, resolveInputs } from '#shared/workflow/inputs.ts';

/** The resolved value of one input of a type, or the error message. */
function given(type: string | undefined, value: Json, more: JsonObject = {}): unknown {
  try {
    return resolveInputs([InputDefinition.parse({ key: 'a', type, ...more })], { a: value }, { field: 'args' }).a;
  } catch (error) {
    return error instanceof AppError ? error.message : error;
  }
}

function resolve(definitions: unknown[], values: JsonObject): JsonObject {
  return resolveInputs(
    definitions.map((definition) => InputDefinition.parse(definition)),
    values,
    { field: 'args' },
  );
}

describe('inputs', () => {
  test.each(['__proto__', 'prototype', 'constructor'])('are not saved as %s, which templates cannot read', (key) => {
    const definitions = [{ key: 'a' }, JSON.parse(`{"key":"${key}"}`)].map((one) => InputDefinition.parse(one));

    expect(definitionIssues(definitions)).toEqual([{ path: [1, 'key'], message: 'is a reserved name' }]);
  });

  test('that are choices are saved with options alone, and with a default that is one of them', () => {
    const issuesOf = (more: JsonObject) =>
      definitionIssues([InputDefinition.parse({ key: 'a', type: 'choice', ...more })]);
    const optionsWanted = 'expected 1 to 500 different texts that are not empty, received';

    expect(issuesOf({ options: ['x', 'y'], default: 'y' })).toEqual([]);
    expect(issuesOf({})).toEqual([{ path: [0, 'options'], message: `${optionsWanted} nothing` }]);
    for (const options of [[], ['x', 'x'], [''], ['x', 5], Array.from({ length: 501 }, (_, n) => `${n}`)])
      expect(issuesOf({ options })[0]?.message).toContain(optionsWanted);
    expect(issuesOf({ options: ['x'], default: 'z' })).toEqual([
      { path: [0, 'default'], message: 'expected one of "x", received "z"' },
    ]);
  });

  test('whose options were saved before they had a meaning are read, and mean nothing without the type', () => {
    expect(resolve([{ key: 'a', type: 'string', options: 'anything' }], { a: 'b' })).toEqual({ a: 'b' });
    expect(definitionIssues([InputDefinition.parse({ key: 'a', type: 'string', options: 7 })])).toEqual([]);
  });

  test('all pass when none are declared', () => {
    expect(resolve([], { a: 1, b: { c: 2 } })).toEqual({ a: 1, b: { c: 2 } });
  });

  test('that are not declared are dropped', () => {
    expect(resolve([{ key: 'a' }], { a: 1, b: 2 })).toEqual({ a: 1 });
  });

  test('that are missing and optional are null', () => {
    expect(resolve([{ key: 'a', type: 'string' }, { key: 'b' }], {})).toEqual({ a: null, b: null });
  });

  test('that are missing have their default, under either name, in the declared type', () => {
    const definitions = [
      { key: 'a', type: 'number', default: '5' },
      { key: 'b', defaultValue: [1] },
      { key: 'c', required: true, default: 1, defaultValue: 2 },
    ];

    expect(resolve(definitions, {})).toEqual({ a: 5, b: [1], c: 1 });
    expect(resolve(definitions, { b: 0, c: false })).toEqual({ a: 5, b: 0, c: false });
  });

  test('whose default does not fit are refused with that reason', () => {
    expect(() => resolve([{ key: 'a', type: 'number', default: 'zzz' }], {})).toThrow(
      'args.a: the declared default does not fit: expected a number, received "zzz"',
    );
  });

  test('that are null stay null, with or without a default, and required ones count as missing', () => {
    expect(resolve([{ key: 'a', default: 5 }], { a: null })).toEqual({ a: null });
    expect(() => resolve([{ key: 'a', default: 5, required: true }], { a: null })).toThrow('args.a: is required');
  });

  test('that are missing and required are all named', () => {
    const missing = () =>
      resolve([{ key: 'a', required: true }, { key: 'b', type: 'number', required: true }, { key: 'c' }], { b: ' ' });

    expect(missing).toThrow(
      expect.objectContaining({
        code: 'VALIDATION_ERROR',
        message: 'args.a: is required; args.b: is required',
        details: {
          issues: [
            { path: ['args', 'a'], message: 'is required', type: 'custom' },
            { path: ['args', 'b'], message: 'is required', type: 'custom' },
          ],
        },
      }),
    );
  });

  test('that are wrong are named together with those that are missing', () => {
    const wrong = () =>
      resolve(
        [
          { key: 'a', type: 'number' },
          { key: 'b', required: true },
        ],
        { a: 'many' },
      );

    expect(wrong).toThrow('args.a: expected a number, received "many"; args.b: is required');
  });

  test('are own properties, under any name', () => {
    expect(resolve([{ key: 'toString' }, { key: 'valueOf' }], {})).toEqual({ toString: null, valueOf: null });
  });
});

describe('a value becomes', () => {
  test('a number from a text, null from an empty one', () => {
    expect(given('number', '4.5')).toBe(4.5);
    expect(given('number', 4)).toBe(4);
    expect(given('number', ' 7 ')).toBe(7);
    expect(given('number', '')).toBeNull();
    expect(given('number', '  ')).toBeNull();
    for (const wrong of ['four', 'NaN', 'Infinity', true, [], {}])
      expect(given('number', wrong)).toBe(`args.a: expected a number, received ${quote(wrong)}`);
  });

  test('a number only where a number holds every digit of the text', () => {
    for (const text of [
      '9007199254740992',
      '-9007199254740993',
      '12345678901234567890.5',
      '0.12345678901234567',
      '1e-400',
    ])
      expect(given('number', text)).toBe(text);
    for (const text of ['9007199254740991', '1234567890123456', '0.1234567890123456', '1.100000000000000000'])
      expect(given('number', text)).toBe(Number(text));
    expect(given('number', '1000000000000000000000')).toBe('1000000000000000000000');
  });

  test('an object or a list from JSON, with its numbers as they are written', () => {
    expect(given('object', '{"n":12345678901234567890.5,"m":1.10}')).toEqual({ n: '12345678901234567890.5', m: 1.1 });
    expect(given('array', '[1e400]')).toEqual(['1e400']);
  });

  test('a whole number, also one with more digits than a number holds', () => {
    expect(given('integer', '7')).toBe(7);
    expect(given('integer', 2.0)).toBe(2);
    expect(given('integer', '12345678901234567890')).toBe('12345678901234567890');
    expect(given('integer', '')).toBeNull();
    for (const wrong of [1.5, '1.5', '12345678901234567890.5', true, 'one'])
      expect(given('integer', wrong)).toBe(`args.a: expected a whole number, received ${quote(wrong)}`);
  });

  test('a date, or a moment with its zone, as it is written', () => {
    expect(given('date', ' 2028-02-29 ')).toBe('2028-02-29');
    expect(given('datetime', '2026-01-31T09:00:00Z')).toBe('2026-01-31T09:00:00Z');
    expect(given('datetime', '2026-01-31T09:00:00.5+01:00')).toBe('2026-01-31T09:00:00.5+01:00');
    for (const type of ['date', 'datetime']) expect(given(type, '')).toBeNull();
    for (const wrong of ['2026-02-29', '31.1.2026', '2026-01-31T09:00:00Z', 20_260_131])
      expect(given('date', wrong)).toBe(`args.a: expected a date such as 2026-01-31, received ${quote(wrong)}`);
    for (const wrong of ['2026-01-31', '2026-01-31T09:00:00', 1_769_850_000_000])
      expect(given('datetime', wrong)).toMatch(/^args\.a: expected a date and a time with its zone, such as /);
  });

  test('one of the options', () => {
    const options = ['small', 'large', '7'];
    expect(given('choice', 'large', { options })).toBe('large');
    expect(given('choice', 7, { options })).toBe('7');
    expect(given('choice', '', { options })).toBeNull();
    expect(given('choice', 'huge', { options })).toBe('args.a: expected one of "small", "large", "7", received "huge"');
    const many = Array.from({ length: 12 }, (_, n) => `${n}`);
    expect(given('choice', 'x', { options: many })).toContain('"9", or another of 12, received "x"');
  });

  test('true or false', () => {
    for (const yes of [true, 'true', 'TRUE', 1, '1']) expect(given('boolean', yes)).toBe(true);
    for (const no of [false, 'false', 0, '0', '']) expect(given('boolean', no)).toBe(false);
    for (const wrong of ['yes', 2, [], {}])
      expect(given('boolean', wrong)).toBe(`args.a: expected true or false, received ${quote(wrong)}`);
  });

  test('an object or a list from JSON text, null from an empty one', () => {
    expect(given('object', '{"b": 1}')).toEqual({ b: 1 });
    expect(given('object', { b: 1 })).toEqual({ b: 1 });
    expect(given('array', '[1]')).toEqual([1]);
    expect(given('array', [1])).toEqual([1]);
    for (const type of ['object', 'array']) {
      expect(given(type, '')).toBeNull();
      expect(given(type, 'null')).toBeNull();
      for (const wrong of ['{', '5', '"x"', 5, true])
        expect(given(type, wrong)).toMatch(/^args\.a: expected an? .*, received /);
    }
    expect(given('object', [1])).toBe('args.a: expected an object, or one as JSON text, received a list of 1 item');
    expect(given('array', '{}')).toBe('args.a: expected a list, or one as JSON text, received "{}"');
  });

  test('a text', () => {
    expect(given('string', 'x')).toBe('x');
    expect(given('string', '')).toBe('');
    expect(given('string', 5)).toBe('5');
    expect(given('string', false)).toBe('false');
    expect(given('string', { b: [1] })).toBe('{"b":[1]}');
  });

  test('no other type when none is declared', () => {
    for (const value of ['5', 5, true, [1], { b: 1 }, '']) expect(given(undefined, value)).toEqual(value);
  });
});

test('resolved inputs do not change when resolved again', () => {
  const definition = fc.record({
    key: fc.constantFrom('a', 'b', 'c'),
    type: fc.constantFrom(undefined, ...InputType.options),
    options: fc.constant(['5', 'x']),
    default: fc.constantFrom(undefined, 5, 'x', '[]', null),
  });
  const definitions = fc.uniqueArray(definition, { selector: ({ key }) => key, minLength: 1 });
  const values = fc.dictionary(
    fc.constantFrom('a', 'b', 'c', 'd'),
    fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>,
  );
  fc.assert(
    fc.property(definitions, values, (declared, args) => {
      let once: JsonObject;
      try {
        once = resolve(declared, args);
      } catch (error) {
        expect(error).toBeInstanceOf(AppError);
        return;
      }
      expect(resolve(declared, once)).toEqual(once);
      expect(Object.keys(once)).toEqual(declared.map(({ key }) => key));
    }),
    { numRuns: 1_000 },
  );
});
