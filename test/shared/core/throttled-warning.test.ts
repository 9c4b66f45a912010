import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Logger } from '#shared/core/logger.ts';
import { createThrottledWarning, type Warn } from '#shared/core/throttled-warning.ts';

let lines: object[];
let warn: Warn;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  lines = [];
  const logger = { warn: (about: object, text: string) => void lines.push({ ...about, text }) };
  // Safe: only `warn` is called.
  warn = createThrottledWarning(logger as unknown as Logger);
});
afterEach(() => {
  vi.useRealTimers();
});

const refused = new Error('connect ECONNREFUSED');

test('the same error is written once in 30 s, and the next line says how many were left out', () => {
  for (let n = 0; n < 500; n += 1) warn(refused, 'a queue does not work', { queue: 'a' });
  expect(lines).toEqual([{ err: refused, queue: 'a', text: 'a queue does not work' }]);

  vi.advanceTimersByTime(30_000);
  for (let n = 0; n < 3; n += 1) warn(refused, 'a queue does not work', { queue: 'a' });

  expect(lines.slice(1)).toEqual([{ err: refused, queue: 'a', suppressed: 499, text: 'a queue does not work' }]);
});

test('another error, another text and another queue are written at once', () => {
  warn(refused, 'a queue does not work', { queue: 'a' });
  warn(new Error('value is not an integer'), 'a queue does not work', { queue: 'a' });
  warn(refused, 'a queue does not work', { queue: 'b' });
  warn(refused, 'a consumer does not work', { queue: 'a' });

  expect(lines).toHaveLength(4);
});
