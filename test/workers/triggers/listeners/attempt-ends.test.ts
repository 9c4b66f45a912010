import { expect, test } from 'vitest';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import { failureOf, type OpenEvent } from '#workers/triggers/listeners/attempt-ends.ts';

const event = (more: Partial<OpenEvent>) =>
  ({
    id: newID(),
    tenantID: newID(),
    listenerID: newID(),
    attempts: 0,
    attemptsBefore: 0,
    breaker: null,
    ...more,
  }) as OpenEvent;
const passing = new AppError('UPSTREAM_TIMEOUT', 'No answer', { retry: true });

test('an error that may be temporary has eight attempts, of which each waits about twice as long as the one before', () => {
  const ends = Array.from({ length: 8 }, (_, attempts) => failureOf(event({ attempts }), passing));

  expect(ends.map(({ state }) => state)).toEqual([...Array(7).fill('pending'), 'dead']);
  for (const [n, { waitSeconds = 0 }] of ends.entries()) {
    expect(waitSeconds).toBeGreaterThanOrEqual(0.75 * 2 ** n);
    expect(waitSeconds).toBeLessThanOrEqual(1.25 * 2 ** n);
  }
  // Operators see where it failed, once it is given up.
  expect(ends.map(({ stack }) => stack !== null)).toEqual([...Array(7).fill(false), true]);
});

test('one that was given to workers again has eight more, and any other error has one', () => {
  expect(failureOf(event({ attempts: 8, attemptsBefore: 8 }), passing)).toMatchObject({ state: 'pending' });
  expect(failureOf(event({ attempts: 15, attemptsBefore: 8 }), passing)).toMatchObject({ state: 'dead' });
  const lasting = new AppError('VALIDATION_ERROR', 'Not JSON');
  expect(failureOf(event({}), lasting)).toMatchObject({ state: 'dead', error: { code: 'VALIDATION_ERROR' } });
});
