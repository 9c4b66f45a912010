import { expect, test } from 'vitest';
import type { JsonObject } from '#shared/core/json.ts';
import { parseValue } from '#shared/core/schema/parse.ts';
import { readFormSchema } from '#shared/workflow/form-schema.ts';

const form: JsonObject = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 2, default: 'Ann' },
    age: { type: 'integer', minimum: 18 },
    pattern: { enum: ['dots', 'stripes'] },
    address: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
  required: ['age'],
};

function issuesOf(value: JsonObject): string[] {
  const read = readFormSchema(form);
  if (!('schema' in read)) return expect.fail(read.message);
  const parsed = parseValue(read.schema, value);
  return parsed.success ? [] : parsed.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
}

test('answers are checked, each fault with its path', () => {
  expect(issuesOf({ age: 18, more: 1 })).toEqual([]);
  expect(issuesOf({ name: 'A', age: 17.5, pattern: 'dots', address: {} }).map((issue) => issue.split(':')[0])).toEqual([
    'name',
    'age',
    'address.city',
  ]);
  expect(issuesOf({})).toHaveLength(1);
});

test.each<[JsonObject, string]>([
  [{ properties: { a: { type: 'string', pattern: '^(a+)+$' } } }, 'properties.a.pattern'],
  [{ patternProperties: { '^(a+)+$': {} } }, 'patternProperties'],
  [{ anyOf: [{}, { items: { $ref: '#' } }] }, 'anyOf.1.items.$ref'],
  [JSON.parse('{"properties":{"a":{"properties":{"__proto__":{}}}}}'), 'properties.a.properties.__proto__'],
  [{ type: 'nonsense' }, ''],
  [{ title: 'x'.repeat(100_001) }, ''],
])('%# a form that cannot be checked safely is refused, with the path of the keyword', (schema, path) => {
  const read = readFormSchema(schema);

  expect(read).toMatchObject({ message: expect.any(String) });
  expect('path' in read && read.path.join('.')).toBe(path);
});
