import { PostgreSqlPlatform } from '@mikro-orm/postgresql';
import { expect, test } from 'vitest';
import { escapeLiteral } from '#shared/db/escape-literal.ts';

test.each([
  '',
  'plain',
  "'",
  "O'Brien''s",
  '\\',
  "\\'; drop table tenant; --",
  '{"a":"line\\nbreak \\"quoted\\""}',
  '$1 ? ?? \u{1F600}',
])('%j is the same literal as that of the entity manager', (text) => {
  expect(escapeLiteral(text)).toBe(new PostgreSqlPlatform().escape(text));
});
