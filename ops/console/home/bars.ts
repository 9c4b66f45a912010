import type { Schemas } from '../client/types.ts';

type Hour = Schemas['RunHistoryHour'];

/** The runs that were accepted in one hour, or on one day. */
export interface Bar {
  /** Milliseconds since 1970 of its beginning. */
  at: number;
  accepted: number;
  completed: number;
  failed: number;
  cancelled: number;
  open: number;
}

const weekday = new Intl.DateTimeFormat(undefined, { weekday: 'short', hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric', month: 'short' });

export const spans = {
  day: { hours: 24, label: '24 hours', time: 'hour', format: weekday },
  fortnight: { hours: 336, label: '14 days', time: 'day', format: day },
} as const;
export type Span = keyof typeof spans;

/** A bar for each hour, or for each day of this time zone, up to now; those without runs are zero. */
export function barsOf(hours: readonly Hour[], span: Span, now = Date.now()): Bar[] {
  const startOf = spans[span].time === 'hour' ? startOfHour : startOfDay;
  const bars = new Map<number, Bar>();
  for (let at = startOf(now); at > now - spans[span].hours * 3_600_000; at = startOf(at - 1))
    bars.set(at, emptyBar(at));
  for (const { hour, completed, failed, cancelled, waiting, running, pending } of hours) {
    const at = startOf(Date.parse(hour));
    const bar = bars.get(at) ?? emptyBar(at);
    const open = waiting + running + pending;
    bar.accepted += completed + failed + cancelled + open;
    bar.completed += completed;
    bar.failed += failed;
    bar.cancelled += cancelled;
    bar.open += open;
    bars.set(at, bar);
  }
  return [...bars.values()].sort((one, other) => one.at - other.at);
}

function emptyBar(at: number): Bar {
  return { at, accepted: 0, completed: 0, failed: 0, cancelled: 0, open: 0 };
}

/** Hours are those of UTC, as the API counts them: an hour of a zone may begin at its half. */
function startOfHour(at: number): number {
  return Math.floor(at / 3_600_000) * 3_600_000;
}

/** In the time zone of the reader, where a day may have 23 or 25 hours. */
function startOfDay(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0);
}
