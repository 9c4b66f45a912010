import { expect, test } from 'vitest';
import { z } from 'zod';
import { looseObject, recordOf, withOthers } from '#shared/core/record.ts';

const given = JSON.parse('{"a":1,"b":"x","__proto__":{"c":2}}') as unknown;

test.each<[string, z.ZodType]>([
  ['a record', recordOf(z.unknown())],
  ['a loose object', looseObject({ a: z.number() })],
  ['one without fields of its own', looseObject({})],
  ['one with others of a schema', withOthers({ a: z.number() }, z.unknown())],
  [
    'one that is described, optional and refined',
    looseObject({ a: z.number() })
      .superRefine(() => undefined)
      .meta({})
      .nullish(),
  ],
  ['one that is extended', looseObject({ a: z.number() }).extend({ b: z.string() })],
  ['one in a union', z.union([z.object({ d: z.string() }).strict(), looseObject({ a: z.number() })])],
])('%s keeps the key __proto__', (_what, schema) => {
  const parsed = schema.parse(given) as object;
  expect(JSON.stringify(parsed)).toBe(JSON.stringify(given));
  expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
});

test('the value of the key __proto__ is checked by the schema of the others', () => {
  const { error } = withOthers({ a: z.number() }, z.union([z.number(), z.string()])).safeParse(given);
  expect(error?.issues.map(({ path }) => path)).toEqual([['__proto__']]);
});
