import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { calendarOf, faultOfExpression, isTimezone, newestTicks, ticksBetween } from '#shared/core/cron-calendar.ts';
import { describeSchedule } from '#shared/triggers/cron/describe.ts';
import { dueTime, nextTick } from '#shared/triggers/cron/next-tick.ts';

const Berlin = 'Europe/Berlin';

/** Ticks in UTC, as `MM-DD hh:mm`. */
function ticks(expression: string, from: string, count: number, timezone = Berlin): string[] {
  const max = { until: Number.POSITIVE_INFINITY, max: count };
  return ticksBetween(calendarOf(expression, timezone), Date.parse(from), max).map((ms) =>
    new Date(ms).toISOString().slice(5, 16).replace('T', ' '),
  );
}

describe('the night in which the clock is set forward, from 2:00 to 3:00', () => {
  const evening = '2026-03-28T12:00Z';

  test('a time that it leaves out is moved by the hour', () => {
    expect(ticks('30 2 * * *', evening, 3)).toEqual(['03-29 01:30', '03-30 00:30', '03-31 00:30']);
  });

  test('an hourly job goes by the time that passes', () => {
    expect(ticks('30 * * * *', '2026-03-28T23:00Z', 4)).toEqual([
      '03-28 23:30',
      '03-29 00:30',
      '03-29 01:30',
      '03-29 02:30',
    ]);
  });

  test('a moved time that meets another tick is one tick', () => {
    expect(ticks('0 2,3 * * *', evening, 3)).toEqual(['03-29 01:00', '03-30 00:00', '03-30 01:00']);
  });

  test('moved times come in order with those that the clock shows', () => {
    expect(ticks('50 2,3 * * *', evening, 2)).toEqual(['03-29 01:50', '03-30 00:50']);
    expect(ticks('10,50 1-3 * * *', evening, 4)).toEqual(['03-29 00:10', '03-29 00:50', '03-29 01:10', '03-29 01:50']);
  });
});

describe('the night in which the clock is set back, from 3:00 to 2:00', () => {
  const evening = '2026-10-24T12:00Z';

  test('a time that it shows twice counts once, the first time', () => {
    expect(ticks('30 2 * * *', evening, 3)).toEqual(['10-25 00:30', '10-26 01:30', '10-27 01:30']);
  });

  test('asked between the two, and in the second, the answer is the same', () => {
    for (const now of ['2026-10-25T00:45Z', '2026-10-25T01:10Z', '2026-10-25T01:45Z'])
      expect(ticks('30 2 * * *', now, 1)).toEqual(['10-26 01:30']);
  });

  test('a job of every hour runs in both', () => {
    expect(ticks('*/30 * * * *', '2026-10-25T00:00Z', 4)).toEqual([
      '10-25 00:30',
      '10-25 01:00',
      '10-25 01:30',
      '10-25 02:00',
    ]);
  });
});

test('half an hour is left out and repeated on Lord Howe Island, and midnight is left out in Cairo', () => {
  // 2:00 becomes 2:30.
  expect(ticks('15 2 * * *', '2026-10-03T12:00Z', 2, 'Australia/Lord_Howe')).toEqual(['10-03 15:45', '10-04 15:15']);
  expect(ticks('0 * * * *', '2026-10-03T14:45Z', 2, 'Australia/Lord_Howe')).toEqual(['10-03 16:00', '10-03 17:00']);
  // 2:00 becomes 1:30.
  expect(ticks('45 1 * * *', '2026-04-04T12:00Z', 2, 'Australia/Lord_Howe')).toEqual(['04-04 14:45', '04-05 15:15']);
  expect(ticks('0 0 * * *', '2026-04-23T12:00Z', 2, 'Africa/Cairo')).toEqual(['04-23 22:00', '04-24 21:00']);
});

const zones = [
  Berlin,
  'America/New_York',
  'Australia/Lord_Howe',
  'Africa/Cairo',
  'America/Santiago',
  'Africa/Casablanca',
];
const expressions = [
  ...['30 2 * * *', '0 1 * * *', '*/20 2 * * *', '15 0 * * *', '45 1 * * *', '*/15 * * * *', '0 0-5 * * *'],
  ...['30 * * * *', '0 */2 * * *', '0 0 * * *', '30 23 * * *', '10,50 1-2 * * *', '0 3 * * 0', '7 * 1,29 * *'],
];
/** Around a change of the clock of each of the zones. */
const changes = zones.flatMap((zone) => {
  let at = Temporal.Instant.from('2026-01-01T00:00Z').toZonedDateTimeISO(zone);
  return [1, 2].flatMap(() => {
    const change = at.getTimeZoneTransition('next');
    if (!change) return [];
    at = change;
    return [{ zone, ms: change.epochMilliseconds }];
  });
});

const HOUR = 3_600_000;
const walks = new Map<string, number[]>();
/** All ticks around a change of the clock, each found from the one before. */
function walk(expression: string, { zone, ms }: (typeof changes)[number]): number[] {
  const key = `${expression} ${zone} ${ms}`;
  const known = walks.get(key);
  if (known) return known;
  const all = ticksBetween(calendarOf(expression, zone), ms - 12 * HOUR, { until: ms + 60 * HOUR, max: 1_000 });
  walks.set(key, all);
  return all;
}

test('the next tick of any moment is the one that follows it in the order of all, around changes of the clock', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...changes),
      fc.constantFrom(...expressions),
      fc.integer({ min: -180, max: 180 }),
      fc.constantFrom(-1, 0, 1),
      (change, expression, minutes, ms) => {
        const all = walk(expression, change);
        expect(all).toEqual([...new Set(all)].sort((one, other) => one - other));
        const after = change.ms + minutes * 60_000 + ms;
        const expected = all.find((tick) => tick > after);
        if (expected !== undefined) expect(calendarOf(expression, change.zone).next(after)).toBe(expected);
      },
    ),
    { numRuns: 1_000 },
  );
});

test('each tick shows a time that the expression names, and no named time is forgotten, on days without a change', () => {
  const day = Date.parse('2026-06-10T00:00Z');
  for (const zone of zones) {
    const hours = ticksBetween(calendarOf('5 1,13 * * *', zone), day, { until: day + 5 * 86_400_000, max: 100 }).map(
      (tick) => Temporal.Instant.fromEpochMilliseconds(tick).toZonedDateTimeISO(zone).toPlainTime().toString(),
    );
    expect(new Set(hours)).toEqual(new Set(['01:05:00', '13:05:00']));
    expect(hours.length).toBe(10);
  }
});

test('the newest ticks of a long time are those at its end, of rare and of crowded calendars', () => {
  const after = Date.parse('2025-01-01T00:00Z');
  const until = Date.parse('2026-11-22T10:00:30Z');
  for (const expression of ['* * * * *', '0 9 * * *', '* * 1-7 1 *', '0 0 29 2 *', '*/7 3 * * 1']) {
    const calendar = calendarOf(expression, Berlin);
    const newest = newestTicks(calendar, after, { until, max: 20 });

    const from = (newest[0] ?? after) - 1;
    expect(newest, expression).toEqual(ticksBetween(calendar, from, { until, max: 100 }));
    expect(newest.length, expression).toBe(expression === '0 0 29 2 *' ? 0 : 20);
  }
});

describe('an expression', () => {
  test.each([
    ['0 0 9 * * 1-5', 'received six: there is no field for seconds; without it: "0 9 * * 1-5"'],
    ['* * * *', 'received "* * * *"'],
    ['@daily', 'write "0 0 * * *"'],
    ['60 * * * *', ': minute: "60" is not one of 0-59'],
    ['* 25 * * *', ': hour: "25" is not one of 0-23'],
    ['H * * * *', ': minute: "H" is not one of 0-59'],
    ['? * * * *', ': minute: "?" is not one of 0-59'],
    ['0 0 0 * *', ': day of month: "0" is not one of 1-31'],
    ['0 0 15W * *', ': day of month: "15W" is not one of 1-31'],
    ['0 0 * JUNE *', ': month: "JUNE" is not one of 1-12 or JAN-DEC'],
    ['0 0 * * L', ': day of week: "L" is not one of 0-7 or SUN-SAT'],
    ['0 0 l * *', ': day of month: "l" is not one of 1-31'],
    ['0 0 * * 8', ': day of week: "8" is not one of 0-7 or SUN-SAT'],
    ['0 0 * * 1#6', ': day of week: #6 is not one of #1 to #5'],
    ['*/90 * * * *', ': minute: the step "90" is not one of 1-60: it is longer than the range'],
    ['0 */30 * * *', ': hour: the step "30" is not one of 1-24: it is longer'],
    ['0 0 */40 * *', ': day of month: the step "40" is not one of 1-31: it is longer'],
    ['0 0 1 */13 *', ': month: the step "13" is not one of 1-12: it is longer'],
    ['0 0 * * 1-5/6', ': day of week: the step "6" is not one of 1-5: it is longer'],
    ['40/30 * * * *', ': minute: the step "30" is not one of 1-20: it is longer'],
    ['*/0 * * * *', ': minute: the step "0" is not one of 1-60'],
    ['*/x * * * *', ': minute: the step "x" is not one of 1-60'],
    ['1/2/3 * * * *', ': minute: "1/2/3" has more than one step'],
    ['1-100 * * * *', ': minute: "100" is not one of 0-59'],
    ['5-1 * * * *', ': minute: the range "5-1" ends before it begins'],
    ['0 0 * * FRI-MON', ': day of week: the range "FRI-MON" ends before it begins'],
    ['-5 * * * *', ': minute: "-5" is neither a value nor a range'],
    ['1.5 * * * *', ': minute: "1.5" is not one of 0-59'],
    ['0,,5 * * * *', ': minute: an item of the list "0,,5" is empty'],
    ['0 0 30 2 *', ': day of month: none of the months "2" has a day 30'],
    ['0 0 31 2,4 *', ': day of month: none of the months "2,4" has a day 31'],
    [`${'0,'.repeat(150)}0 * * * *`, 'at most 255 characters'],
  ])('%s is refused with a hint', (expression, message) => {
    expect(faultOfExpression(expression)).toContain('expected a cron expression of five fields (minute, hour');
    expect(faultOfExpression(expression)).toContain(message);
    expect(faultOfExpression(expression)).not.toContain('Invalid');
  });

  test.each([
    '* * * * *',
    '0 9 * * MON-FRI',
    '0 0 L * *',
    '0 0 * * 5L',
    '0 0 * * 5#2',
    '*/5 8-18 1,15 jan-jun 1-5',
    '*/60 */24 */31 */12 *',
    '5/15 0 ? * 6-7',
    '0 0 31 */2 *',
    '0 0 31 2 5',
    '05 0 1,L * FRIL',
  ])('%s is accepted', (expression) => {
    expect(faultOfExpression(expression)).toBeUndefined();
    expect(calendarOf(expression, Berlin).next(0)).toBeGreaterThan(0);
  });

  test('a day of the month and a day of the week are alternatives', () => {
    expect(ticks('0 0 13 * 5', '2026-02-01T00:00Z', 3, 'UTC')).toEqual(['02-06 00:00', '02-13 00:00', '02-20 00:00']);
  });
});

test('names of the IANA are time zones; offsets and other words are not', () => {
  for (const name of [Berlin, 'UTC', 'Asia/Kathmandu', 'US/Eastern']) expect(isTimezone(name), name).toBe(true);
  for (const name of ['', '+01:00', 'Berlin', 'Europe/Nowhere', 'x'.repeat(60)])
    expect(isTimezone(name), name).toBe(false);
});

test.each([
  ['0 9 * * 1-5', 'every weekday at 09:00, Europe/Berlin'],
  ['30 17 * * *', 'every day at 17:30, Europe/Berlin'],
  ['*/5 * * * *', 'every 5 minutes, Europe/Berlin'],
  ['0 0 1 * *', 'at 00:00, on day 1 of the month, Europe/Berlin'],
  ['0 0 13 * 5', 'at 00:00, on day 13 of the month or on Friday, Europe/Berlin'],
  [
    '0 0 1,15 2-4 1-5',
    'at 00:00, on day 1 and 15 of the month or Monday through Friday, February through April, Europe/Berlin',
  ],
  ['*/5 * 13 * 5L', 'every 5 minutes, on day 13 of the month or on the last Friday of the month, Europe/Berlin'],
])('%s in words: %s', (expression, words) => {
  expect(describeSchedule(expression, Berlin)).toBe(words);
});

test('jitter delays each tick by a part of its limit that stays the same, and never beyond the next tick', () => {
  const job = { id: '01990d3e-5c00-7a10-8000-000000000011', cronJobSchedule: '* * * * *', timezone: 'UTC' };
  const minute = (n: number) => Date.parse('2026-03-02T09:00Z') + n * 60_000;
  const jittered = { ...job, jitterSeconds: 30 };
  const delays = Array.from({ length: 50 }, (_, n) => dueTime(jittered, minute(n)) - minute(n));

  expect(delays).toEqual(Array.from({ length: 50 }, (_, n) => dueTime(jittered, minute(n)) - minute(n)));
  expect(new Set(delays).size).toBeGreaterThan(40);
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...delays)).toBeLessThan(30_000);
  for (let n = 0; n < 50; n += 1)
    expect(dueTime({ ...job, jitterSeconds: 3_600 }, minute(n))).toBeLessThan(minute(n + 1));
  expect(nextTick({ ...job, jitterSeconds: 0 }, minute(0))).toEqual({
    nextAt: new Date(minute(1)),
    dueAt: new Date(minute(1)),
  });
});

test('in both odd nights the time zone of the process makes no difference', () => {
  for (const from of ['2026-03-28T23:30Z', '2026-10-24T23:30Z']) {
    const print = (TZ: string) =>
      JSON.parse(
        execFileSync(process.execPath, ['test/shared/core/print-ticks.ts', Berlin, from], {
          env: { ...process.env, TZ },
        }).toString(),
      );
    const [one, ...others] = [Berlin, 'America/New_York', 'Pacific/Kiritimati'].map(print);
    expect(one.own).toBe(Berlin);
    for (const other of others) {
      expect(other.own).not.toBe(Berlin);
      expect(other.ticks).toEqual(one.ticks);
    }
    expect(one.ticks[0]).toEqual(
      ticksBetween(calendarOf('30 2 * * *', Berlin), Date.parse(from), { until: Number.POSITIVE_INFINITY, max: 4 }),
    );
  }
});
