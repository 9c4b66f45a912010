import { expect, test } from 'vitest';
import { consumersFor, RunPermits } from '#workers/engine/claim/run-permits.ts';

const LONG_MS = 60_000;

/** Settled promises have told so after this. */
const nextRound = () => new Promise((resolve) => setImmediate(resolve));

/** Collects names of promises in the order in which they resolve. */
function inOrder() {
  const done: string[] = [];
  return { done, watch: (name: string, promise: Promise<unknown>) => void promise.then(() => done.push(name)) };
}

test('as many places are taken as are free', async () => {
  const permits = new RunPermits(5);

  expect(await permits.acquire(3, LONG_MS)).toBe(3);
  expect(await permits.acquire(3, LONG_MS)).toBe(2);
});

test('who waits for a place gets those that become free, in the order of asking', async () => {
  const permits = new RunPermits(1);
  const { done, watch } = inOrder();
  await permits.acquire(1, LONG_MS);
  watch('first', permits.acquire(4, LONG_MS));
  watch('second', permits.acquire(1, LONG_MS));
  await nextRound();
  expect(done).toEqual([]);

  permits.release();
  await nextRound();
  expect(done).toEqual(['first']);
  permits.release();
  await nextRound();
  expect(done).toEqual(['first', 'second']);
});

test('a wait for a place ends without one, and the next place goes to another', async () => {
  const permits = new RunPermits(1);
  await permits.acquire(1, LONG_MS);

  expect(await permits.acquire(1, 0)).toBe(0);
  expect(await permits.acquire(1, 1)).toBe(0);
  permits.release();

  expect(await permits.acquire(1, 0)).toBe(1);
});

test('a consumer asks for a job only while there are more free places than consumers that ask', async () => {
  const slots = 10;
  const permits = new RunPermits(slots);
  const { done, watch } = inOrder();
  const consumers = consumersFor(slots);
  // Each has got a job; together the jobs take all places but one.
  for (let n = 0; n < consumers; n += 1) permits.fetchedJob();
  await permits.acquire(slots - 1, LONG_MS);

  watch('one', permits.untilMayFetch());
  watch('two', permits.untilMayFetch());
  await nextRound();
  expect(done).toEqual(['one']);

  permits.release();
  await nextRound();
  expect(done).toEqual(['one', 'two']);
});

test('a place goes to a job that has come before a further job is asked for', async () => {
  const permits = new RunPermits(1);
  const { done, watch } = inOrder();
  permits.fetchedJob();
  await permits.acquire(1, LONG_MS);
  watch('ask', permits.untilMayFetch());
  watch('claim', permits.acquire(1, LONG_MS));

  permits.release();
  await nextRound();
  expect(done).toEqual(['claim']);
  permits.release();
  await nextRound();
  expect(done).toEqual(['claim', 'ask']);
});

test('after the close nothing waits, and no place is given', async () => {
  const permits = new RunPermits(1);
  await permits.acquire(1, LONG_MS);
  permits.fetchedJob();
  const waiting = [permits.acquire(1, LONG_MS), permits.untilMayFetch(), permits.untilMayFetch()];

  permits.close();

  expect(await Promise.all(waiting)).toEqual([0, undefined, undefined]);
  await permits.untilMayFetch();
  permits.release();
  expect(await permits.acquire(1, LONG_MS)).toBe(0);
});

test('a process has no more consumers than slots', () => {
  expect([1, 3, 50].map(consumersFor)).toEqual([1, 3, 8]);
});

test('while the memory is full no place is given, and afterwards those that wait get theirs', async () => {
  const permits = new RunPermits(2, 1);
  const { done, watch } = inOrder();
  permits.fetchedJob();
  permits.setFull(true);
  watch('claim', permits.acquire(1, LONG_MS));
  watch('ask', permits.untilMayFetch());
  expect(await permits.acquire(1, 0)).toBe(0);
  await nextRound();
  expect(done).toEqual([]);
  // A run that ends may leave the memory full.
  permits.release();
  await nextRound();
  expect(done).toEqual([]);

  permits.setFull(false);
  await nextRound();

  expect(done).toEqual(['claim', 'ask']);
});
