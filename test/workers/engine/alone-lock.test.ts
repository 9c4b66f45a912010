import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createAloneLock } from '#workers/engine/alone-lock.ts';

test('a run that leaves twice counts once: the others are still inside', async () => {
  const lock = createAloneLock();
  const [first, second, suspect] = [await lock.enter(), await lock.enter(), await lock.enter()];
  first();
  first();
  let began = false;
  const alone = lock.alone(suspect, async (isAlone) => {
    began = true;
    expect(isAlone).toBe(true);
  });
  suspect();
  await nextTurn();
  expect(began).toBe(false);

  second();
  await alone;

  expect(began).toBe(true);
});

test('while a run is alone no other enters, and a second one waits until it can be alone', async () => {
  const lock = createAloneLock();
  const order: string[] = [];
  const { promise: work, resolve: finish } = Promise.withResolvers<void>();
  const [suspect, other] = [await lock.enter(), await lock.enter()];

  const first = lock.alone(suspect, async () => {
    order.push('first begins');
    await work;
    order.push('first ends');
  });
  const second = lock.alone(other, async (isAlone) => {
    order.push(`second is ${isAlone ? 'alone' : 'not alone'}`);
  });
  const late = lock.enter().then((leave) => {
    order.push('late enters');
    leave();
  });
  await nextTurn();
  finish();
  await Promise.all([first, second, late]);

  expect(order.slice(0, 2)).toEqual(['first begins', 'first ends']);
  expect(order.slice(2).sort()).toEqual(['late enters', 'second is alone']);
});
