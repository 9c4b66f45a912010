import { expect, test } from 'vitest';
import { readRetryAfter } from '#workers/outbound/retry-after.ts';

const NOW = Date.UTC(2026, 10, 28, 12);

test.each([
  ['120', 120_000],
  ['0', 0],
  [' 7 ', 7_000],
  ['Sat, 28 Nov 2026 12:00:30 GMT', 30_000],
  ['Saturday, 28-Nov-26 12:00:30 GMT', 30_000],
  ['Sat Nov 28 12:00:30 2026', 30_000],
  ['Tue Dec  1 12:00:00 2026', 3 * 86_400_000],
  ['Sat, 28 Nov 2026 11:00:00 GMT', 0],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
  ['5, 60', 60_000],
  ['Sat, 28 Nov 2026 12:00:30 GMT, 5', 30_000],
])('%j is a wait', (header, ms) => {
  expect(readRetryAfter(header, NOW)).toBe(ms);
});

test.each([
  '',
  '-1',
  '+2',
  '1.5',
  '1e3',
  '0x10',
  '5, soon',
  '2026-11-28T12:00:30Z',
  'Sat, 28 Nov 2026 12:00:30 +0200',
  'Sat, 28 Nov 2026 12:00:30 EST',
  'Sat Nov 28 12:00:30 2026 PST',
  'Mon, 30 Feb 2026 12:00:30 GMT',
  'Sat, 28 Nov 2026 25:00:30 GMT',
])('%j is none', (header) => {
  expect(readRetryAfter(header, NOW)).toBeUndefined();
});

test('dates of asctime are in GMT in every zone', () => {
  const zone = process.env.TZ;
  process.env.TZ = 'America/New_York';
  try {
    expect(readRetryAfter('Sat Nov 28 12:00:30 2026', NOW)).toBe(30_000);
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
});
