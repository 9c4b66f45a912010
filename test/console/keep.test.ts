/** Texts that the console keeps in the browser. */
import { expect, test } from 'vitest';
import { keep } from '#ops/console/client/keep.ts';

test('a text that the browser refuses to keep is forgotten, and the page goes on', () => {
  const stored = new Map<string, string>();
  const storage = {
    setItem(key: string, text: string) {
      if (text.length > 3) throw new DOMException('full', 'QuotaExceededError');
      stored.set(key, text);
    },
  } as unknown as Storage;

  keep('short', 'abc', storage);
  expect(() => keep('long', 'abcd', storage)).not.toThrow();

  expect(Object.fromEntries(stored)).toEqual({ short: 'abc' });
});
