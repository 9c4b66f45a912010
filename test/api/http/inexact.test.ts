import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { findInexact } from '#api/http/inexact.ts';

const LOST = '12345678901234567890';

/** Texts around the length of a portion, so that each part of them stands at its border once. */
test.each([
  ['the index of a number', (filler: string) => `{"a":["${filler}",${LOST}]}`, `1: ${LOST}`],
  ['the key of a number', (filler: string) => `{"${filler}":1,"id":${LOST}}`, `id: ${LOST}`],
  ['no number in a text', (filler: string) => `{"${filler}":"${LOST}","b":1}`, undefined],
  ['no number in a text with escapes', (filler: string) => `{"a":"${filler}\\\\\\"${LOST}"}`, undefined],
])('finds %s in a text that is read in portions', async (_name, make, expected) => {
  for (let length = 399_970; length <= 400_005; length += 1)
    expect(await findInexact(Buffer.from(make('x'.repeat(length))))).toBe(expected);
});

test('a large text is read in portions that are short before the compiler has seen the code too', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--no-opt',
    '--no-sparkplug',
    join(import.meta.dirname, '../../support/hold-of-scan.ts'),
  ]);

  const { json, hold } = JSON.parse(stdout);
  expect(hold).toBeLessThan(3 * json);
});
