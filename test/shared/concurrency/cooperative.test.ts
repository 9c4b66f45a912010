import { setImmediate as nextRound } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createTimeSlice, runCooperatively } from '#shared/concurrency/cooperative.ts';

test('calculations that follow each other in one round of the event loop share a time slice', async () => {
  const first = createTimeSlice();
  while (!first.isOver);

  expect(createTimeSlice().isOver, 'in the same round').toBe(true);
  await nextRound();
  expect(createTimeSlice().isOver, 'in the next round').toBe(false);
});

test('a calculation whose slice was used up by others goes on by one step a round at least', async () => {
  const first = createTimeSlice();
  while (!first.isOver);
  const done: string[] = [];
  function* steps() {
    for (let step = 1; step <= 3; step += 1) {
      done.push(`step ${step}`);
      yield;
    }
    return 'result';
  }
  const running = runCooperatively(steps());
  done.push('other work');

  expect(await running).toBe('result');
  expect(done.slice(0, 3)).toEqual(['step 1', 'other work', 'step 2']);
});
