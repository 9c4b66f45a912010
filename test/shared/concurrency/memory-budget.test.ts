import { expect, test } from 'vitest';
import { createMemoryBudget } from '#shared/concurrency/memory-budget.ts';
import { createSemaphore } from '#shared/concurrency/semaphore.ts';
import { currentReservation, Permit } from '#shared/concurrency/work-context.ts';

const [ann, bob] = [{ tenantID: 'a' }, { tenantID: 'b' }];

/** Whether a promise is fulfilled by what has happened so far. */
async function isFulfilled(promise: Promise<unknown>): Promise<boolean> {
  let isDone = false;
  promise.then(
    () => {
      isDone = true;
    },
    () => undefined,
  );
  await new Promise((resolve) => setImmediate(resolve));
  return isDone;
}

test('what one piece of work may hold is half of all, and the error names the limit', async () => {
  const account = createMemoryBudget({ maxBytes: 100 });
  using work = account.openReservation(ann);
  await work.reserve(50);

  await expect(work.reserve(1)).rejects.toMatchObject({
    code: 'PAYLOAD_TOO_LARGE',
    message: /50 bytes.*HELD_MAX_BYTES/,
  });
  expect(account.used).toBe(50);
});

test('never more than all of it is reservation, and works that wait for each other all come to their end', async () => {
  const account = createMemoryBudget({ maxBytes: 100 });
  let most = 0;
  const work = async (tenantID: string) => {
    using reservation = account.openReservation({ tenantID });
    for (let n = 0; n < 4; n += 1) {
      await reservation.reserve(10);
      most = Math.max(most, account.used);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };

  await Promise.all(Array.from({ length: 20 }, (_, n) => work(`tenant-${n % 5}`)));

  expect(most).toBeLessThanOrEqual(100);
  expect({ used: account.used, waiting: account.waiting }).toEqual({ used: 0, waiting: 0 });
});

test('a creator who takes all that is left does not keep the next one from it', async () => {
  const account = createMemoryBudget({ maxBytes: 200 });
  const greedy = Array.from({ length: 20 }, () => account.openReservation(ann));
  for (const reservation of greedy) reservation.reserve(10).catch(() => undefined);

  using other = account.openReservation(bob);
  expect(await isFulfilled(other.reserve(10))).toBe(true);
  for (const reservation of greedy) reservation[Symbol.dispose]();
});

test('large draws of one creator leave as much as they take', async () => {
  const account = createMemoryBudget({ maxBytes: 200 });
  const greedy = Array.from({ length: 5 }, () => account.openReservation(ann));
  for (const reservation of greedy) reservation.reserve(40).catch(() => undefined);

  // One of them is in the common half, and one in the half for one.
  expect(account.used).toBe(80);
  using other = account.openReservation(bob);
  expect(await isFulfilled(other.reserve(40))).toBe(true);
  for (const reservation of greedy) reservation[Symbol.dispose]();
});

test('who waits too long is told to try again, and what ends gives everything back', async () => {
  const account = createMemoryBudget({ maxBytes: 100, maxWaitMs: 20 });
  using one = account.openReservation(ann);
  using two = account.openReservation(bob);
  using three = account.openReservation({ tenantID: 'c' });
  await one.reserve(50);
  await two.reserve(50);

  await expect(three.reserve(10)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 5 });
  one[Symbol.dispose]();
  await three.reserve(10);
  expect(account.used).toBe(60);
});

test('work that waits for bytes gives its permit back, and takes it again before it goes on', async () => {
  const account = createMemoryBudget({ maxBytes: 100 });
  const semaphore = createSemaphore({ permits: 1 });
  using other = account.openReservation(bob);
  await other.reserve(50);
  using rest = account.openReservation({ tenantID: 'c' });
  await rest.reserve(50);
  expect(semaphore.tryAcquire(ann)).toBe(true);
  using permit = new Permit(semaphore, ann, account.openReservation(ann));
  const drawing = permit.run(() => currentReservation()?.reserve(10)) ?? Promise.resolve();
  expect(await isFulfilled(drawing)).toBe(false);

  expect(semaphore.tryAcquire(bob)).toBe(true);
  rest[Symbol.dispose]();
  expect(await isFulfilled(drawing)).toBe(false);
  semaphore.release(bob);
  await drawing;

  expect([semaphore.used, account.used]).toEqual([1, 60]);
});
