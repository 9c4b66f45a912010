import { expect, test } from 'vitest';
import { createByteAccount } from '#shared/concurrency/memory-budget.ts';
import { createLane } from '#shared/concurrency/semaphore.ts';
import { bytesOfWork, Place } from '#shared/concurrency/work-context.ts';

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
  const account = createByteAccount({ maxBytes: 100 });
  using work = account.open(ann);
  await work.draw(50);

  await expect(work.draw(1)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE', message: /50 bytes.*HELD_MAX_BYTES/ });
  expect(account.used).toBe(50);
});

test('never more than all of it is held, and works that wait for each other all come to their end', async () => {
  const account = createByteAccount({ maxBytes: 100 });
  let most = 0;
  const work = async (tenantID: string) => {
    using held = account.open({ tenantID });
    for (let n = 0; n < 4; n += 1) {
      await held.draw(10);
      most = Math.max(most, account.used);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };

  await Promise.all(Array.from({ length: 20 }, (_, n) => work(`tenant-${n % 5}`)));

  expect(most).toBeLessThanOrEqual(100);
  expect({ used: account.used, waiting: account.waiting }).toEqual({ used: 0, waiting: 0 });
});

test('a creator who takes all that is left does not keep the next one from it', async () => {
  const account = createByteAccount({ maxBytes: 200 });
  const greedy = Array.from({ length: 20 }, () => account.open(ann));
  for (const held of greedy) held.draw(10).catch(() => undefined);

  using other = account.open(bob);
  expect(await isFulfilled(other.draw(10))).toBe(true);
  for (const held of greedy) held[Symbol.dispose]();
});

test('large draws of one creator leave as much as they take', async () => {
  const account = createByteAccount({ maxBytes: 200 });
  const greedy = Array.from({ length: 5 }, () => account.open(ann));
  for (const held of greedy) held.draw(40).catch(() => undefined);

  // One of them is in the common half, and one in the half for one.
  expect(account.used).toBe(80);
  using other = account.open(bob);
  expect(await isFulfilled(other.draw(40))).toBe(true);
  for (const held of greedy) held[Symbol.dispose]();
});

test('who waits too long is told to try again, and what ends gives everything back', async () => {
  const account = createByteAccount({ maxBytes: 100, maxWaitMs: 20 });
  using one = account.open(ann);
  using two = account.open(bob);
  using three = account.open({ tenantID: 'c' });
  await one.draw(50);
  await two.draw(50);

  await expect(three.draw(10)).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 5 });
  one[Symbol.dispose]();
  await three.draw(10);
  expect(account.used).toBe(60);
});

test('work that waits for bytes gives its place back, and takes it again before it goes on', async () => {
  const account = createByteAccount({ maxBytes: 100 });
  const lane = createLane({ places: 1 });
  using other = account.open(bob);
  await other.draw(50);
  using rest = account.open({ tenantID: 'c' });
  await rest.draw(50);
  expect(lane.take(ann)).toBe(true);
  using place = new Place(lane, ann, account.open(ann));
  const drawing = place.run(() => bytesOfWork()?.draw(10)) ?? Promise.resolve();
  expect(await isFulfilled(drawing)).toBe(false);

  expect(lane.take(bob)).toBe(true);
  rest[Symbol.dispose]();
  expect(await isFulfilled(drawing)).toBe(false);
  lane.leave(bob);
  await drawing;

  expect([lane.used, account.used]).toEqual([1, 60]);
});
