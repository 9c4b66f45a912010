import { expect, test } from 'vitest';
import { z } from 'zod';
import { lenientPolicy } from '#api/http/request/unknown-field-policy.ts';
import { validation } from '#api/http/request/validate.ts';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { JsonObject, ofParsedJSON, Settings, settingsWith } from '#shared/core/json.ts';

test('of a large body that its schema refuses, no further part is read', () => {
  const schema = z.object({ list: z.array(z.object({ a: z.string() })) });
  const unread = new Proxy({}, { ownKeys: () => expect.unreachable() });
  const check = { part: 'body', schema, value: { list: [{ a: 1 }, unread] }, unstorable: null } as const;

  expect(() => runSync(validation([check], lenientPolicy()))).toThrow(/list\.0\.a: expected a text/);
});

test('an object that was parsed from JSON is not copied by schemas with a description or a limit', () => {
  const value = { a: 1 };
  const schemas = [JsonObject, JsonObject.describe('x'), Settings, Settings.optional()];

  for (const schema of schemas) {
    expect(ofParsedJSON(() => schema.parse(value))).toBe(value);
    expect(schema.parse(value)).not.toBe(value);
  }
});

test('a setting has at most 20,000 elements and fields, over all its levels', () => {
  const list = (length: number) => Array.from({ length }, () => ({}));

  expect(Settings.safeParse({ a: [list(9_000), list(9_000)] }).success).toBe(true);
  expect(Settings.safeParse({ a: [list(11_000), list(11_000)] }).error?.issues).toMatchObject([
    { code: 'custom', path: [], message: expect.stringMatching(/^must not have more than 20,000 values/) },
  ]);
});

test('settings with some known fields check these, keep the others, and are counted first', () => {
  const known = { id: z.string().transform((id) => id.length), none: z.string().optional() };
  const schema = z.object({ options: settingsWith(known).meta({ description: 'x' }) });
  const options = JSON.parse('{"id":"abc","other":{"x":1},"__proto__":{"y":2}}');

  for (const parsed of [schema.parse({ options }), ofParsedJSON(() => schema.parse({ options }))])
    expect(JSON.stringify(parsed)).toBe('{"options":{"id":3,"other":{"x":1},"__proto__":{"y":2}}}');
  expect(ofParsedJSON(() => schema.parse({ options })).options.other).toBe(options.other);
  expect(ofParsedJSON(() => schema.safeParse({ options: { id: 1 } })).error?.issues[0]?.path).toEqual([
    'options',
    'id',
  ]);
  const many = { id: 1, list: Array.from({ length: 20_000 }, () => 1) };
  expect(schema.safeParse({ options: many }).error?.issues).toMatchObject([{ code: 'custom', path: ['options'] }]);
});
