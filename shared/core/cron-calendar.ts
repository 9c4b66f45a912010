import { CronExpression, CronExpressionParser } from 'cron-parser';
import { LRUCache } from 'lru-cache';
import { faultOfFields, fieldNames } from './cron-expression.ts';
import { quote } from './quote.ts';

/** The moments at which a cron job is due. */
export interface Calendar {
  /** The first tick after a moment, both in milliseconds since 1970; undefined if there is none. */
  next(after: number): number | undefined;
}

const MAX_LENGTH = 255;
/** Calendars have no state, and most jobs of a deployment share few of them. */
const calendars = new LRUCache<string, Calendar>({ max: 1_000 });

/** The calendar of a valid expression, in a time zone that this system knows. */
export function calendarOf(expression: string, timezone: string): Calendar {
  const key = `${expression} ${timezone}`;
  const known = calendars.get(key);
  if (known) return known;
  const calendar = createCalendar(expression, timezone);
  calendars.set(key, calendar);
  return calendar;
}

/**
 * The package parses the expression and finds days and times on a clock that never changes. The two hours of the year in which a clock is
 * set forward or back are handled here: in the package, the result for a moment inside of them depends on where the search began.
 */
function createCalendar(expression: string, timezone: string): Calendar {
  const wall = wallClock(expression);
  const at = (ms: number) => Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timezone);

  /** Follows elapsed time: an hour that the clock repeats has its ticks twice, and one that it leaves out has none. */
  function nextOfEveryHour(after: number): number | undefined {
    let from = after;
    let period = at(after);
    for (;;) {
      const offset = offsetOf(period);
      const found = wall.next(from + offset);
      if (found === undefined) return undefined;
      const change = changeBefore(period, found - offset);
      if (!change) return found - offset;
      from = change.epochMilliseconds - 1;
      period = change;
    }
  }

  /** Follows the clock on the wall: a time that it shows twice counts the first time, and one that it leaves out is moved by the gap. */
  function nextOfNamedHours(after: number): number | undefined {
    const now = at(after);
    let time = after + offsetOf(now) - gapBehind(now);
    let best: number | undefined;
    for (;;) {
      const found = wall.next(time);
      if (found === undefined) return best;
      time = found;
      const zoned = onWall(time).toZonedDateTime(timezone, { disambiguation: 'compatible' });
      const { epochMilliseconds: ms } = zoned;
      if (ms <= after) continue;
      best = Math.min(best ?? ms, ms);
      // A time in the gap was moved to a later moment: a time after the gap, which was not moved, may come before it.
      if (ms + offsetOf(zoned) === time) return best;
    }
  }

  return { next: wall.isEveryHour ? nextOfEveryHour : nextOfNamedHours };
}

/** Beyond this, an expression is never due: a fifth Monday in a February would take a search of decades. */
const MAX_AHEAD_MS = 10 * 366 * 86_400_000;

/** The expression on a clock that never changes, whose times are written as milliseconds since 1970. */
function wallClock(expression: string) {
  const { fields } = CronExpressionParser.parse(expression, { tz: 'UTC' });
  return {
    isEveryHour: fields.hour.values.length === 24,
    next(after: number): number | undefined {
      const span = { currentDate: new Date(after), endDate: new Date(after + MAX_AHEAD_MS) };
      try {
        return CronExpression.fieldsToExpression(fields, { tz: 'UTC', ...span })
          .next()
          .getTime();
      } catch {
        return undefined;
      }
    },
  };
}

function onWall(time: number): Temporal.PlainDateTime {
  return Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO('UTC').toPlainDateTime();
}

function offsetOf(zoned: Temporal.ZonedDateTime): number {
  return zoned.offsetNanoseconds / 1e6;
}

/** The next change of the clock after `from`, if it is not later than `ms`. */
function changeBefore(from: Temporal.ZonedDateTime, ms: number): Temporal.ZonedDateTime | undefined {
  const change = from.getTimeZoneTransition('next');
  return change && change.epochMilliseconds <= ms ? change : undefined;
}

/** The time by which the clock was set forward at its last change, if times that it left out may still be moved to after `now`; otherwise 0. */
function gapBehind(now: Temporal.ZonedDateTime): number {
  // A change at this very moment counts as well.
  const change = now.add({ nanoseconds: 1 }).getTimeZoneTransition('previous');
  if (!change) return 0;
  const before = change.subtract({ milliseconds: 1 });
  const gap = offsetOf(change) - offsetOf(before);
  return gap > 0 && now.epochMilliseconds - change.epochMilliseconds < gap ? gap : 0;
}

/** The fault of an expression; undefined if there is none. */
export function faultOfExpression(text: string): string | undefined {
  const expected = `expected a cron expression of five fields (${fieldNames.join(', ')})`;
  const fields = text.split(/\s+/);
  const nickname = nicknames.get(text.toLowerCase());
  if (nickname) return `${expected}, received ${quote(text)}: write ${quote(nickname)}`;
  if (text.length > MAX_LENGTH) return `${expected} of at most ${MAX_LENGTH} characters, received ${quote(text)}`;
  if (fields.length === 6)
    return `${expected}, received six: there is no field for seconds; without it: ${quote(fields.slice(1).join(' '))}`;
  if (fields.length !== 5) return `${expected}, received ${quote(text)}`;
  const fault = faultOfFields(fields) ?? faultOfWhole(text);
  return fault === undefined ? undefined : `${expected}, received ${quote(text)}: ${fault}`;
}

/** The fault of an expression whose fields are right each for itself. */
function faultOfWhole(text: string): string | undefined {
  try {
    return wallClock(text).next(0) === undefined
      ? 'day of month, month, day of week: no day of ten years is such a day'
      : undefined;
  } catch {
    // The package's own words are about its code.
    return 'the fields do not fit together';
  }
}

const nicknames: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
  ['@weekdays', '0 0 * * 1-5'],
  ['@weekends', '0 0 * * 0,6'],
]);

/** Whether this system knows a time zone of this name, from the database of the IANA. */
export function isTimezone(name: string): boolean {
  // Offsets such as `+01:00` are not accepted as time zones.
  if (!/^[a-z]/i.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Ticks after one moment and until another, in order, at most `max`. */
export function ticksBetween(calendar: Calendar, after: number, { until, max }: { until: number; max: number }) {
  const ticks: number[] = [];
  for (let at = calendar.next(after); at !== undefined && at <= until && ticks.length < max; at = calendar.next(at))
    ticks.push(at);
  return ticks;
}

/**
 * The newest ticks after one moment and until another, in order, at most `max`. It searches backwards, span by span, so it visits only a
 * small multiple of `max` ticks, however many there are.
 */
export function newestTicks(calendar: Calendar, after: number, { until, max }: { until: number; max: number }) {
  const found: number[] = [];
  // Expressions have no seconds: the first span has at most `max` ticks.
  let span = max * 60_000;
  let end = until;
  while (found.length < max && end > after) {
    const from = Math.max(after, end - span);
    const ticks = ticksBetween(calendar, from, { until: end, max: 2 * max });
    if (ticks.length === 2 * max) {
      span /= 2;
      continue;
    }
    found.unshift(...ticks);
    end = from;
    span *= 2;
  }
  return found.slice(-max);
}
