import { describe, expect, test } from 'vitest';
import { type Decision, decideDue, type JobState } from '#workers/triggers/cron/decide.ts';

const at = (text: string) => Date.parse(`2026-03-02T${text}Z`);
const LATE_MS = 60_000;

/** A job of every ten minutes, whose tick of 9:00 is the next. */
const job = (more: Partial<JobState> = {}): JobState => ({
  id: '01990d3e-5c00-7a10-8000-000000000011',
  cronJobSchedule: '*/10 * * * *',
  timezone: 'UTC',
  jitterSeconds: 0,
  overlapPolicy: 'allow',
  missedRunPolicy: 'skip',
  missedRunWindowSeconds: 1_800,
  isPaused: false,
  nextAt: at('09:00'),
  isBusy: false,
  waiting: 0,
  isFilling: false,
  ...more,
});

function decide(more: Partial<JobState>, now: string) {
  const { ticks, replacesEarlier, nextAt } = decideDue(job(more), at(now), LATE_MS);
  return { ticks: ticks.map(shown), replacesEarlier, nextAt: nextAt?.toISOString().slice(11, 16) };
}

const shown = ({ scheduledAt, outcome }: Decision) => `${new Date(scheduledAt).toISOString().slice(11, 16)} ${outcome}`;

describe('by the clock', () => {
  test('nothing is due before its time, and a tick is started once its time has come', () => {
    expect(decide({}, '08:59:59.999')).toMatchObject({ ticks: [], nextAt: '09:00' });
    expect(decide({}, '09:00')).toMatchObject({ ticks: ['09:00 fired'], nextAt: '09:10' });
    expect(decide({}, '09:01')).toMatchObject({ ticks: ['09:00 fired'], nextAt: '09:10' });
  });

  test('a clock that is set forward makes ticks late; one that is set back has no second ones', () => {
    expect(decide({}, '09:25')).toMatchObject({
      ticks: ['09:00 missed', '09:10 missed', '09:20 missed'],
      nextAt: '09:30',
    });
    expect(decide({ nextAt: at('09:30') }, '08:25')).toMatchObject({ ticks: [], nextAt: '09:30' });
  });

  test('the night in which an hour is repeated has one tick of a named time, wherever the clock stands when it is polled', () => {
    const nightly = {
      cronJobSchedule: '30 2 * * *',
      timezone: 'Europe/Berlin',
      nextAt: Date.parse('2026-10-25T00:30Z'),
    };
    const first = decideDue(job(nightly), Date.parse('2026-10-25T00:30:01Z'), LATE_MS);
    expect([first.ticks.length, first.nextAt?.toISOString()]).toEqual([1, '2026-10-26T01:30:00.000Z']);
    const second = decideDue(
      job({ ...nightly, nextAt: first.nextAt?.getTime() ?? 0 }),
      Date.parse('2026-10-25T01:30:01Z'),
      LATE_MS,
    );
    expect(second.ticks).toEqual([]);
  });

  test('a tick with jitter is due later, and before the next', () => {
    const jittered = { jitterSeconds: 300 };
    const delays = [0, 1, 2, 3].map((n) => {
      const nextAt = at('09:00') + n * 600_000;
      return (decideDue(job({ ...jittered, nextAt }), nextAt, LATE_MS).dueAt?.getTime() ?? 0) - nextAt;
    });
    expect(new Set(delays).size).toBe(4);
    for (const delay of delays) expect(delay).toBeGreaterThan(0);
    expect(Math.max(...delays)).toBeLessThan(300_000);
    expect(decideDue(job(jittered), at('09:05'), LATE_MS).ticks).toHaveLength(1);
  });
});

describe('ticks that were missed', () => {
  test('are left out by `skip`, also when the newest is in time', () => {
    expect(decide({}, '09:30:30').ticks).toEqual(['09:00 missed', '09:10 missed', '09:20 missed', '09:30 fired']);
  });

  test('are started as one by `last`, if the newest is in the window', () => {
    const last = { missedRunPolicy: 'last' as const };
    expect(decide(last, '09:25').ticks).toEqual(['09:00 missed', '09:10 missed', '09:20 caughtUp']);
    expect(decide(last, '09:30:30').ticks.at(-1)).toBe('09:30 fired');
    expect(decide({ ...last, missedRunWindowSeconds: 60 }, '09:25').ticks.at(-1)).toBe('09:20 missed');
  });

  test('are started one by one by `all`, as far as the window reaches', () => {
    const all = { missedRunPolicy: 'all' as const };
    expect(decide(all, '09:25').ticks).toEqual(['09:00 caughtUp', '09:10 caughtUp', '09:20 caughtUp']);
    expect(decide(all, '09:40:30').ticks).toEqual([
      '09:00 missed',
      '09:10 missed',
      '09:20 caughtUp',
      '09:30 caughtUp',
      '09:40 fired',
    ]);
  });

  test('wait for one another, in their order, if the job has one at a time', () => {
    for (const overlapPolicy of ['skip', 'queue-one'] as const) {
      const one = { missedRunPolicy: 'all' as const, overlapPolicy };
      expect(decide(one, '09:20:30').ticks).toEqual(['09:00 caughtUp', '09:10 queued', '09:20 queued']);
      expect(decide({ ...one, isBusy: true }, '09:15').ticks).toEqual(['09:00 queued', '09:10 queued']);
    }
    const newest = { missedRunPolicy: 'all' as const, overlapPolicy: 'cancel-old' as const };
    expect(decide(newest, '09:20:30').ticks).toEqual(['09:00 skipped', '09:10 skipped', '09:20 fired']);
  });

  test('over a long time share a record, and the newest 500 have their own', () => {
    const long = job({ cronJobSchedule: '* * * * *', nextAt: at('00:00') - 30 * 86_400_000 });
    const { ticks } = decideDue(long, at('09:00:30'), LATE_MS);

    expect(ticks).toHaveLength(501);
    expect(ticks[0]).toMatchObject({
      scheduledAt: long.nextAt,
      until: (ticks[1]?.scheduledAt ?? 0) - 60_000,
      outcome: 'missed',
    });
    expect(ticks.at(-1)).toMatchObject({ scheduledAt: at('09:00'), outcome: 'fired' });
  });
});

describe('while work goes on', () => {
  const busy = (overlapPolicy: JobState['overlapPolicy'], waiting = 0) =>
    decide({ overlapPolicy, isBusy: true, waiting }, '09:00');

  test('the policy decides', () => {
    expect(busy('allow')).toMatchObject({ ticks: ['09:00 fired'], replacesEarlier: false });
    expect(busy('skip')).toMatchObject({ ticks: ['09:00 skipped'], replacesEarlier: false });
    expect(busy('queue-one')).toMatchObject({ ticks: ['09:00 queued'], replacesEarlier: false });
    expect(busy('queue-one', 1)).toMatchObject({ ticks: ['09:00 skipped'] });
    expect(busy('cancel-old')).toMatchObject({ ticks: ['09:00 fired'], replacesEarlier: true });
    expect(decide({ overlapPolicy: 'cancel-old' }, '09:00')).toMatchObject({ replacesEarlier: false });
  });
});

test('a tick waits for the work of a backfill, unless several may run', () => {
  for (const overlapPolicy of ['skip', 'queue-one', 'cancel-old'] as const)
    expect(decide({ overlapPolicy, isFilling: true }, '09:00')).toMatchObject({
      ticks: ['09:00 queued'],
      replacesEarlier: false,
    });
  expect(decide({ isFilling: true }, '09:00').ticks).toEqual(['09:00 fired']);
});

test('a second tick during a backfill waits in place of the first, waits behind it, or is skipped: none begins beside it', () => {
  const second = (overlapPolicy: JobState['overlapPolicy'], isBusy = false) =>
    decide({ overlapPolicy, isFilling: true, waiting: 1, isBusy }, '09:10');
  expect(second('cancel-old')).toMatchObject({ ticks: ['09:00 missed', '09:10 queued'], replacesEarlier: true });
  expect(second('cancel-old', true)).toMatchObject({ ticks: ['09:00 missed', '09:10 queued'], replacesEarlier: true });
  expect(second('skip')).toMatchObject({ ticks: ['09:00 missed', '09:10 skipped'], replacesEarlier: false });
  expect(second('queue-one')).toMatchObject({ ticks: ['09:00 missed', '09:10 skipped'], replacesEarlier: false });
  expect(second('allow')).toMatchObject({ ticks: ['09:00 missed', '09:10 fired'], replacesEarlier: false });
});

test('a pause skips every tick that is due, and says so', () => {
  const { ticks } = decideDue(job({ isPaused: true, missedRunPolicy: 'all' }), at('09:10:30'), LATE_MS);
  expect(ticks.map(({ outcome, reason }) => [outcome, reason])).toEqual([
    ['skipped', 'The job was paused'],
    ['skipped', 'The job was paused'],
  ]);
});
