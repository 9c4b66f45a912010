import { useEffect, useState } from 'react';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** A moment, as the time since then; its title has the date. */
export function Ago({ at }: { at: string }) {
  const now = useNow(10 * second);
  return (
    <time dateTime={at} title={full.format(new Date(at))} className="nowrap">
      {agoText(now - Date.parse(at))}
    </time>
  );
}

/** The time between two moments; it goes on while there is no end. */
export function Duration({ from, to }: { from: string | null | undefined; to: string | null | undefined }) {
  const now = useNow(to || !from ? undefined : second);
  if (!from) return <span className="nowrap">–</span>;
  return <span className="nowrap">{durationText((to ? Date.parse(to) : now) - Date.parse(from))}</span>;
}

export function durationText(ms: number): string {
  if (ms < 0) return '0 ms';
  if (ms < second) return `${Math.round(ms)} ms`;
  if (ms < minute) return `${(ms / second).toFixed(ms < 10 * second ? 1 : 0)} s`;
  if (ms < hour) return `${Math.floor(ms / minute)} min ${Math.floor((ms % minute) / second)} s`;
  if (ms < day) return `${Math.floor(ms / hour)} h ${Math.floor((ms % hour) / minute)} min`;
  return `${Math.floor(ms / day)} d ${Math.floor((ms % day) / hour)} h`;
}

function agoText(ms: number): string {
  if (ms < minute) return 'just now';
  if (ms < hour) return `${Math.floor(ms / minute)} min ago`;
  if (ms < day) return `${Math.floor(ms / hour)} h ago`;
  return `${Math.floor(ms / day)} d ago`;
}

function useNow(everyMs: number | undefined): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

const short = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

/**
 * A moment that may be ahead, as date and time of the browser's time zone. Seconds tell nothing of one that is more than an
 * hour away, unless it is exact because it is compared with others.
 */
export function Moment({ at, isExact }: { at: string; isExact?: true }) {
  const moment = new Date(at);
  const isNear = Math.abs(moment.getTime() - Date.now()) < hour;
  return (
    <time dateTime={at} title={at}>
      {(isExact || isNear ? full : short).format(moment)}
    </time>
  );
}

const inWords = {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
} as const;
const localWords = new Intl.DateTimeFormat(undefined, { ...inWords, timeZone: 'UTC' });
const ownWords = new Intl.DateTimeFormat(undefined, inWords);

const clockWords = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' });

/** Whether a moment is of the same day by the clock of the browser as by that of another time zone, `local`. */
function isSameDay(at: string, local: string): boolean {
  const day = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;
  return new Intl.DateTimeFormat('en-CA', day).format(new Date(at)) === local.slice(0, 10);
}

/** A moment by the clock of another time zone, `local`, and by that of the browser if it is another one. */
export function LocalMoment({ at, local }: { at: string; local: string }) {
  const there = localWords.format(new Date(`${local.slice(0, 16)}Z`));
  const here = ownWords.format(new Date(at));
  return (
    <time dateTime={at}>
      {there}
      {there !== here && ` (here ${isSameDay(at, local) ? clockWords.format(new Date(at)) : here})`}
    </time>
  );
}

/** The time of day of a moment that is not long ago. */
export function Clock({ at }: { at: string | number }) {
  const moment = new Date(at);
  return (
    <time dateTime={moment.toISOString()} title={moment.toISOString()}>
      {moment.toLocaleTimeString()}
    </time>
  );
}
