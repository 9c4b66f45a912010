import { expect, test } from 'vitest';
import { linesOf, longestOf, type Seen, withReading } from '#ops/console/fleet/waits.ts';

const second = (n: number) => new Date(Date.UTC(2026, 10, 26, 14, 0, n)).toISOString();
const row = (kind: string | null, oldest: number, state = 'queued') => ({
  ...{ queue: 'workflow.runs', class: kind, state, count: 1, oldest: second(oldest), isCut: false },
});
const readings = (...all: Parameters<typeof withReading>[1][]) =>
  all.reduce<readonly Seen[]>((seen, reading) => withReading(seen, reading), []);

test('of each class the oldest work counts that nothing holds back, and the longest wait that was seen stays known', () => {
  const seen = readings(
    { at: second(10), rows: [row('cron', 4), row('cron', 1, 'handed over'), row('batch', 0, 'paused')] },
    { at: second(12), rows: [{ ...row(null, 11), queue: 'cron.ticks' }] },
  );

  const never = { now: 0, longest: 0, at: Date.parse(second(12)) };
  expect(longestOf(seen)).toEqual([
    { name: 'interactive', ...never },
    { name: 'webhook', ...never },
    { name: 'cron', now: 0, longest: 9_000, at: Date.parse(second(10)) },
    { name: 'batch', ...never },
    { name: 'listener.events', ...never },
    { name: 'cron.ticks', now: 1_000, longest: 1_000, at: Date.parse(second(12)) },
  ]);
});

test('the line of a class has its age at each reading, in their order, and zero where nothing waited', () => {
  const seen = readings(
    { at: second(10), rows: [row('cron', 4), row('batch', 9)] },
    { at: second(12), rows: [row('cron', 4)] },
    { at: second(14), rows: [row('batch', 0)] },
  );

  expect(linesOf(seen).map(({ name, values }) => [name, ...values])).toEqual([
    ['interactive', 0, 0, 0],
    ['webhook', 0, 0, 0],
    ['cron', 6_000, 8_000, 0],
    ['batch', 1_000, 0, 14_000],
    ['listener.events', 0, 0, 0],
  ]);
});

test('a reading counts once, and only the last ones are kept', () => {
  const all = Array.from({ length: 500 }, (_, n) => ({ at: second(n), rows: [row('cron', 0)] }));

  const seen = readings(...all, { at: second(499), rows: [] });

  expect(seen).toHaveLength(450);
  expect(seen.at(-1)?.ages.get('cron')).toBe(499_000);
});
