import { setImmediate as nextRound } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLoopTurns } from '#shared/concurrency/event-loop-scheduler.ts';
import { eventually } from '../../support/settle.ts';

const busy = { tenantID: 'a', creatorID: 'busy' };
const other = { tenantID: 'b', creatorID: 'other' };

test('work that finds the loop idle goes on at once', () => {
  expect(createLoopTurns().enter(busy)).toBeUndefined();
});

test('long work of one creator goes on one part a round, and that of another has the next round but one', async () => {
  const turns = createLoopTurns();
  const parts: string[] = [];
  const long = async (turn: typeof busy, count: number) => {
    for (let n = 0; n < count; n += 1) {
      await turns.goOn(turn);
      parts.push(turn.creatorID);
    }
  };
  const works = Array.from({ length: 50 }, () => long(busy, 4));

  const before = parts.length;
  await nextRound();
  await nextRound();
  expect(parts.length - before).toBeLessThanOrEqual(2);
  const already = parts.length;
  await long(other, 3);

  // Between two parts of the other creator there is one of the busy creator.
  expect(parts.slice(already).lastIndexOf('other')).toBeLessThanOrEqual(6);
  await Promise.all(works);
  expect(parts).toHaveLength(203);
});

test('a request does not wait for all that have arrived before it', async () => {
  const turns = createLoopTurns();
  const gone: string[] = [];
  const begin = async ({ turn, bytes }: { turn: typeof busy; bytes?: number }) => {
    await turns.enter(turn, bytes);
    gone.push(turn.creatorID);
  };
  const all = Array.from({ length: 100 }, () => begin({ turn: busy, bytes: 400_000 }));

  await begin({ turn: other });

  expect(gone.indexOf('other')).toBeLessThan(5);
  await Promise.all(all);
});

test('small requests go on by sixteen a round', async () => {
  const turns = createLoopTurns();
  let gone = 0;
  for (let n = 0; n < 100; n += 1) void Promise.resolve(turns.enter(busy)).then(() => (gone += 1));

  await Promise.resolve();
  await Promise.resolve();
  expect(gone).toBe(16);
  await eventually(() => expect(gone).toBe(100));
});
