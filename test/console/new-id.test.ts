import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { newID } from '#ops/console/client/new-id.ts';

test('ids are made by means that pages without TLS have, too', () => {
  const files = globSync('ops/console/**/*.{ts,tsx}');
  const others = files.filter((file) => readFileSync(file, 'utf8').includes('crypto.randomUUID('));

  expect(newID()).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  expect(newID()).not.toBe(newID());
  expect([files.length > 100, others]).toEqual([true, []]);
});
