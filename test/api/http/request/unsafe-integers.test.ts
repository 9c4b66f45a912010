import { expect, test, vi } from 'vitest';
import { findUnsafeInteger } from '#api/http/request/unsafe-integers.ts';
import { eventLoop } from '#shared/concurrency/event-loop-scheduler.ts';

const LOST = '12345678901234567890';

/** Texts around the length of a portion, so that each part of them stands at its border once. */
test.each([
  ['the index of a number', (filler: string) => `{"a":["${filler}",${LOST}]}`, `1: ${LOST}`],
  ['the key of a number', (filler: string) => `{"${filler}":1,"id":${LOST}}`, `id: ${LOST}`],
  ['no number in a text', (filler: string) => `{"${filler}":"${LOST}","b":1}`, undefined],
  ['no number in a text with escapes', (filler: string) => `{"a":"${filler}\\\\\\"${LOST}"}`, undefined],
])('finds %s in a text that is read in portions', async (_name, make, expected) => {
  for (let length = 399_970; length <= 400_005; length += 1)
    expect(await findUnsafeInteger(Buffer.from(make('x'.repeat(length))))).toBe(expected);
});

test.each([
  ['1e400', 'a: 1e400'],
  ['1E+308', undefined],
  ['2E+308', 'a: 2E+308'],
  ['1e-400', undefined],
  ['-123456789012345', undefined],
  ['9007199254740993', 'a: 9007199254740993'],
])('of %s', async (number, expected) => {
  expect(await findUnsafeInteger(Buffer.from(`{"a":${number}}`))).toBe(expected);
});

test.each([15, 16])(
  'a large text of numbers of %i digits is read in portions, between which the event loop turns',
  async (digits) => {
    const text = `[${`${'1234567890123456'.slice(0, digits)},`.repeat(290_000)}1]`;
    using yields = vi.spyOn(eventLoop, 'yield');

    await findUnsafeInteger(Buffer.from(text));

    // The body has 400 kB; numbers of sixteen digits are looked for once more, by their values.
    expect(yields).toHaveBeenCalledTimes(digits === 15 ? 12 : 14);
  },
);
