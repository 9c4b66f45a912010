import { expect, test } from 'vitest';
import { barsOf } from '#ops/console/home/bars.ts';

const hour = (hour: string, counts: object) => ({
  ...{ hour, completed: 0, failed: 0, cancelled: 0, waiting: 0, running: 0, pending: 0 },
  ...counts,
});
const now = new Date(2026, 2, 10, 15, 30).getTime();

test('runs of 24 hours have a bar for each hour, also for those without runs', () => {
  const at = new Date(Math.floor(now / 3_600_000) * 3_600_000 - 3_600_000).toISOString();

  const bars = barsOf([hour(at, { completed: 3, failed: 1, waiting: 1, running: 1, pending: 1 })], 'day', now);

  expect(bars).toHaveLength(24);
  expect(bars.at(-2)).toEqual({
    ...{ at: Date.parse(at), accepted: 7, completed: 3, failed: 1, cancelled: 0, open: 3 },
  });
  expect(bars.at(-1)?.accepted).toBe(0);
});

test('runs of 14 days have a bar for each day of the reader, also when a clock changes', () => {
  const morning = new Date(2026, 2, 9, 1).toISOString();
  const evening = new Date(2026, 2, 9, 22).toISOString();

  const bars = barsOf([hour(morning, { completed: 1 }), hour(evening, { cancelled: 2 })], 'fortnight', now);

  expect(bars.map(({ at }) => new Date(at).getHours())).toEqual(bars.map(() => 0));
  expect(bars.map(({ at }) => new Date(at).getDate()).slice(-14)).toEqual([
    ...[25, 26, 27, 28, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  ]);
  expect(bars.filter(({ accepted }) => accepted > 0)).toMatchObject([
    { at: new Date(2026, 2, 9).getTime(), completed: 1, cancelled: 2 },
  ]);
});
