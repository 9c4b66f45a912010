import { setImmediate as nextRound } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createEventLoopScheduler } from '#shared/concurrency/event-loop-scheduler.ts';
import { eventually } from '../../support/settle.ts';

const busy = { tenantID: 'a', creatorID: 'busy' };
const other = { tenantID: 'b', creatorID: 'other' };

test('work that finds the loop idle starts at once', () => {
  expect(createEventLoopScheduler().start(busy)).toBeUndefined();
});

test('long work of one creator goes on one part a round, and that of another has the next round but one', async () => {
  const scheduler = createEventLoopScheduler();
  const parts: string[] = [];
  const long = async (flow: typeof busy, count: number) => {
    for (let n = 0; n < count; n += 1) {
      await scheduler.yield(flow);
      parts.push(flow.creatorID);
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
  const scheduler = createEventLoopScheduler();
  const started: string[] = [];
  const begin = async ({ flow, bytes }: { flow: typeof busy; bytes?: number }) => {
    await scheduler.start(flow, bytes);
    started.push(flow.creatorID);
  };
  const all = Array.from({ length: 100 }, () => begin({ flow: busy, bytes: 400_000 }));

  await begin({ flow: other });

  expect(started.indexOf('other')).toBeLessThan(5);
  await Promise.all(all);
});

test('small requests start by sixteen a round', async () => {
  const scheduler = createEventLoopScheduler();
  let started = 0;
  for (let n = 0; n < 100; n += 1) void Promise.resolve(scheduler.start(busy)).then(() => (started += 1));

  await Promise.resolve();
  await Promise.resolve();
  expect(started).toBe(16);
  await eventually(() => expect(started).toBe(100));
});

test('twenty deliveries start in a round, by round robin over the tenants, and none waits after the burst', async () => {
  const scheduler = createEventLoopScheduler(20);
  const started: string[] = [];
  const begin = async (tenantID: string) => {
    await scheduler.start({ tenantID });
    started.push(tenantID);
  };
  const many = Array.from({ length: 200 }, () => begin('many'));
  await nextRound();
  const before = started.length;
  expect(before).toBeLessThanOrEqual(60);

  await Promise.all(Array.from({ length: 3 }, () => begin('few')));

  expect(started.slice(before).filter((tenantID) => tenantID === 'many').length).toBeLessThanOrEqual(40);
  await Promise.all(many);
  await nextRound();
  await nextRound();
  for (let n = 0; n < 20; n += 1) expect(scheduler.start({ tenantID: 'few' })).toBeUndefined();
});
