import { expect, test, vi } from 'vitest';
import { findLossyNumber } from '#api/http/request/lossy-numbers.ts';
import { eventLoop } from '#shared/concurrency/event-loop-scheduler.ts';

const LOST = '12345678901234567890';
const WHY = 'is more than a JSON number holds: send it as a text';

/** Texts around the length of a portion, so that each part of them stands at its border once. */
test.each([
  ['the index of a number', (filler: string) => `{"a":["${filler}",${LOST}]}`, `a.1: ${LOST} ${WHY}`],
  ['the key of a number', (filler: string) => `{"${filler}":1,"id":${LOST}}`, `id: ${LOST} ${WHY}`],
  ['a fraction', (filler: string) => `["${filler}",1234567.890123456789]`, `1: 1234567.890123456789 ${WHY}`],
  ['an exponent', (filler: string) => `["${filler}",12e400]`, `1: 12e400 ${WHY}`],
  ['no number in a text', (filler: string) => `{"${filler}":"${LOST}","b":1}`, undefined],
  ['no number in a text with escapes', (filler: string) => `{"a":"${filler}\\\\\\"${LOST}"}`, undefined],
])('finds %s in a text that is read in portions', async (_name, make, expected) => {
  for (let length = 399_970; length <= 400_005; length += 1)
    expect(await findLossyNumber(make('x'.repeat(length)))).toBe(expected);
});

test.each([
  ['1e400', true],
  ['1E+308', false],
  ['2E+308', true],
  ['1e-400', true],
  ['-123456789012345', false],
  ['9007199254740993', true],
  ['12345678901234567890.5', true],
  ['0.10000000000000000000', false],
  ['0.30000000000000004', false],
])('of %s', async (number, isLossy) => {
  expect(await findLossyNumber(`{"a":${number}}`)).toBe(isLossy ? `a: ${number} ${WHY}` : undefined);
});

test.each([15, 16])(
  'a large text of numbers of %i digits is read in portions, between which the event loop turns',
  async (digits) => {
    const text = `[${`${'1234567890123456'.slice(0, digits)},`.repeat(290_000)}1]`;
    using yields = vi.spyOn(eventLoop, 'yield');

    await findLossyNumber(text);

    // The body has 400 kB; numbers of sixteen digits are looked for once more, by their values.
    expect(yields).toHaveBeenCalledTimes(digits === 15 ? 12 : 14);
  },
);
