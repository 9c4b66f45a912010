import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { storable, storableJSON } from '#shared/db/storable.ts';

const texts = fc.string({ unit: 'binary' });
/** Half pairs and NUL among other characters, and texts that look like their escapes. */
const broken = fc
  .array(fc.oneof(texts, fc.constantFrom('\0', '\ud83d', '\ude00', '\\u0000', '\\', '"', '\u001f', 'ud83d')))
  .map((parts) => parts.join(''));

test('a text without NUL and half pairs is stored as it is', () => {
  const whole = broken.map((text) => text.toWellFormed().replaceAll('\0', ''));
  fc.assert(
    fc.property(whole, (text) => {
      expect(storable(text)).toBe(text);
      expect(JSON.parse(storableJSON(JSON.stringify({ [text]: text })))).toEqual({ [text]: text });
    }),
    { seed: 1 },
  );
});

test('every NUL and half pair becomes U+FFFD, in a text and in JSON alike', () => {
  fc.assert(
    fc.property(broken, (text) => {
      const stored = storable(text);
      expect(stored.isWellFormed()).toBe(true);
      expect(stored).not.toContain('\0');
      expect(JSON.parse(storableJSON(JSON.stringify(text)))).toBe(stored);
    }),
    { seed: 2 },
  );
  expect(storable('cut \ud83d')).toBe('cut \uFFFD');
});

test('other escapes, of which a text may have a million, are passed over', () => {
  using replace = vi.spyOn(String.prototype, 'replace');
  const json = JSON.stringify('\u0001\\u0000'.repeat(1_000));
  expect(storableJSON(json)).toBe(json);
  expect(replace).not.toHaveBeenCalled();
});
