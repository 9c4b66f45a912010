import { expect, test } from 'vitest';
import { AppError, type ErrorCode } from '#shared/core/errors.ts';
import type { NodePolicy } from '#shared/workflow/options.ts';
import { isRepeatable, retryDelay } from '#workers/engine/state/outcome.ts';

const delays = (failures: number, retryAfter?: number) =>
  Array.from({ length: 200 }, () => retryDelay(1_000, failures, retryAfter));

test.each([
  [1, 1_000],
  [2, 2_000],
  [3, 4_000],
  [9, 256_000],
  [10, 300_000],
  [11, 300_000],
])('the pause after %i failures is about %i ms, and seldom the same twice', (failures, ms) => {
  const all = delays(failures);
  expect(Math.min(...all)).toBeGreaterThanOrEqual(ms * 0.75);
  expect(Math.max(...all)).toBeLessThanOrEqual(ms * 1.25);
  // Runs that failed together must not come back together.
  expect(new Set(all).size).toBeGreaterThan(50);
});

test('the pause is never shorter than the server has asked for', () => {
  expect(delays(1, 60)).toEqual(Array<number>(200).fill(60_000));
  expect(Math.max(...delays(9, 1))).toBeGreaterThan(1_000);
});

test('an error is repeated if it may be temporary and is of a class that the node names', () => {
  const repeatable = (code: ErrorCode, retryOn?: NodePolicy['retryOn'], retry?: boolean) =>
    isRepeatable(new AppError(code, 'no', retry === undefined ? {} : { retry }), {
      timeoutMs: 1,
      timeoutSetBy: 'a test',
      retryLimit: 1,
      retryDelayMs: 1,
      retryOn,
      errorHandling: undefined,
      afterFailedItems: undefined,
    });
  const mayPass = ['NODE_TIMEOUT', 'UPSTREAM_TIMEOUT', 'UPSTREAM_FAILED', 'UNAVAILABLE', 'NODE_FAILED'] as const;

  expect(mayPass.filter((code) => repeatable(code))).toEqual(mayPass);
  expect(mayPass.filter((code) => repeatable(code, ['timeout']))).toEqual(['NODE_TIMEOUT', 'UPSTREAM_TIMEOUT']);
  expect(mayPass.filter((code) => repeatable(code, ['upstream']))).toEqual(['UPSTREAM_FAILED', 'UNAVAILABLE']);
  expect(mayPass.filter((code) => repeatable(code, ['code', 'timeout'])).sort()).toEqual([
    'NODE_FAILED',
    'NODE_TIMEOUT',
    'UPSTREAM_TIMEOUT',
  ]);
  // Deterministic: a ReferenceError in code, a wrong input, a missing permission.
  expect(mayPass.filter((code) => repeatable(code, ['timeout', 'upstream', 'code'], false))).toEqual([]);
  for (const code of [
    'VALIDATION_ERROR',
    'PERMISSION_DENIED',
    'NOT_FOUND',
    'OUTPUT_TOO_LARGE',
    'INVALID_OUTPUT',
  ] as const)
    expect(repeatable(code, ['timeout', 'upstream', 'code'])).toBe(false);
});
