import { expect, test } from 'vitest';
import { z } from 'zod';
import { lenientPolicy } from '#api/http/request/unknown-field-policy.ts';
import { validation } from '#api/http/request/validate.ts';
import { runSync } from '#shared/concurrency/cooperative.ts';
import { JsonObject, ofParsedJSON, Settings } from '#shared/core/json.ts';

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

test('a setting has at most 50,000 elements and fields, over all its levels', () => {
  const list = (length: number) => Array.from({ length }, () => ({}));

  expect(Settings.safeParse({ a: [list(24_000), list(24_000)] }).success).toBe(true);
  expect(Settings.safeParse({ a: [list(26_000), list(26_000)] }).error?.issues).toMatchObject([
    { code: 'custom', path: [], message: expect.stringMatching(/^must not have more than 50,000 values/) },
  ]);
});
