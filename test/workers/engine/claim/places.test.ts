import { expect, test } from 'vitest';
import { consumersFor, Places } from '#workers/engine/claim/places.ts';

const LONG_MS = 60_000;

/** Settled promises have told so after this. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Collects names of promises in the order in which they resolve. */
function inOrder() {
  const done: string[] = [];
  return { done, watch: (name: string, promise: Promise<unknown>) => void promise.then(() => done.push(name)) };
}

test('as many places are taken as are free', async () => {
  const places = new Places(5);

  expect(await places.take(3, LONG_MS)).toBe(3);
  expect(await places.take(3, LONG_MS)).toBe(2);
});

test('who waits for a place gets those that become free, in the order of asking', async () => {
  const places = new Places(1);
  const { done, watch } = inOrder();
  await places.take(1, LONG_MS);
  watch('first', places.take(4, LONG_MS));
  watch('second', places.take(1, LONG_MS));
  await turn();
  expect(done).toEqual([]);

  places.leave();
  await turn();
  expect(done).toEqual(['first']);
  places.leave();
  await turn();
  expect(done).toEqual(['first', 'second']);
});

test('a wait for a place ends without one, and the next place goes to another', async () => {
  const places = new Places(1);
  await places.take(1, LONG_MS);

  expect(await places.take(1, 0)).toBe(0);
  expect(await places.take(1, 1)).toBe(0);
  places.leave();

  expect(await places.take(1, 0)).toBe(1);
});

test('a consumer asks for a job only while there are more free places than consumers that ask', async () => {
  const slots = 10;
  const places = new Places(slots);
  const { done, watch } = inOrder();
  const consumers = consumersFor(slots);
  // Each has got a job; together the jobs take all places but one.
  for (let n = 0; n < consumers; n += 1) places.gotJob();
  await places.take(slots - 1, LONG_MS);

  watch('one', places.untilMayAsk());
  watch('two', places.untilMayAsk());
  await turn();
  expect(done).toEqual(['one']);

  places.leave();
  await turn();
  expect(done).toEqual(['one', 'two']);
});

test('a place goes to a job that has come before a further job is asked for', async () => {
  const places = new Places(1);
  const { done, watch } = inOrder();
  places.gotJob();
  await places.take(1, LONG_MS);
  watch('ask', places.untilMayAsk());
  watch('claim', places.take(1, LONG_MS));

  places.leave();
  await turn();
  expect(done).toEqual(['claim']);
  places.leave();
  await turn();
  expect(done).toEqual(['claim', 'ask']);
});

test('after the close nothing waits, and no place is given', async () => {
  const places = new Places(1);
  await places.take(1, LONG_MS);
  places.gotJob();
  const waiting = [places.take(1, LONG_MS), places.untilMayAsk(), places.untilMayAsk()];

  places.close();

  expect(await Promise.all(waiting)).toEqual([0, undefined, undefined]);
  await places.untilMayAsk();
  places.leave();
  expect(await places.take(1, LONG_MS)).toBe(0);
});

test('a process has no more consumers than slots', () => {
  expect([1, 3, 50].map(consumersFor)).toEqual([1, 3, 8]);
});

test('while the memory is full no place is given, and afterwards those that wait get theirs', async () => {
  const places = new Places(2, 1);
  const { done, watch } = inOrder();
  places.gotJob();
  places.setFull(true);
  watch('claim', places.take(1, LONG_MS));
  watch('ask', places.untilMayAsk());
  expect(await places.take(1, 0)).toBe(0);
  await turn();
  expect(done).toEqual([]);
  // A run that ends may leave the memory full.
  places.leave();
  await turn();
  expect(done).toEqual([]);

  places.setFull(false);
  await turn();

  expect(done).toEqual(['claim', 'ask']);
});
