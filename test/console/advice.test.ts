import { expect, test } from 'vitest';
import { adviceOf, fieldsOf } from '#ops/console/run/advice.ts';
import { failedStepOf, hasStepError } from '#ops/console/run/failed-step.ts';
import { WireError } from '#shared/core/errors.ts';

/** Answers to requests of clients, which no run gets. */
const ofRequests = new Set([
  'USER_AUTH_TOKEN_NOT_FOUND',
  'USER_AUTH_TOKEN_EXPIRED',
  'INVALID_API_KEY',
  'INVALID_LOGIN',
  'PRECONDITION_FAILED',
]);

test('every code that a run can fail with has words and advice of its own', () => {
  const codes = [...WireError.shape.code.options, 'CONCURRENCY_LIMIT', 'SUPERSEDED'];
  const other = adviceOf('A_CODE_OF_LATER');
  expect(codes.filter((code) => !ofRequests.has(code) && adviceOf(code) === other)).toEqual([]);
});

test('an exit that leads nowhere is named as the editor calls it, with what to do about it', () => {
  const message = (exit: string) => `The node left by the exit "${exit}", and nothing is connected to that`;
  expect(adviceOf('NODE_FAILED', message('rejected')).word).toBe('Nothing follows the exit “rejected”');
  expect(adviceOf('NODE_FAILED', message('expired')).advice).toContain('Connect “not in time” to a step');
  expect(adviceOf('NODE_FAILED', 'It failed')).toBe(adviceOf('NODE_FAILED'));
});

test('the fields of an error are those of its issues, each once', () => {
  const issues = [{ path: ['branches', 0, 'id'] }, { path: ['branches', 0, 'id'] }, { path: [] }, null, 'text'];
  expect(fieldsOf({ details: { issues } as never })).toEqual(['branches.0.id']);
  expect(fieldsOf({ details: { line: 3 } })).toEqual([]);
  expect(fieldsOf({})).toEqual([]);
});

test('the step that failed a run is that of its iteration, and may have no error of its own', () => {
  const frame = [{ nodeID: 'loop', iteration: 3 }];
  const error = { code: 'RUN_TIMEOUT', message: 'late', nodeID: 'send', attempt: 1, frame };
  const run = { status: 'FAILED', error } as const;
  expect(failedStepOf(run)).toBe('send@3');
  expect(failedStepOf({ ...run, status: 'CANCELLED' })).toBeUndefined();
  expect(failedStepOf({ ...run, error: { ...error, nodeID: null } })).toBeUndefined();
  const step = (key: string, own: object | null) => ({ key, last: { error: own } });
  const nodes = (own: object | null) => [{ steps: [step('send@2', { code: 'NODE_FAILED' }), step('send@3', own)] }];
  expect(hasStepError(run, nodes(null) as never)).toBe(false);
  expect(hasStepError(run, nodes({ code: 'NODE_TIMEOUT' }) as never)).toBe(true);
});
