import { calendarOf } from '../../core/cron-calendar.ts';
import { jitterOf } from './jitter.ts';

export interface Timed {
  id: string;
  cronJobSchedule: string;
  timezone: string;
  jitterSeconds: number;
}

/** The first tick of a job after a moment, and when a worker begins it; null if there is none. */
export function nextTick(job: Timed, after: number): { nextAt: Date | null; dueAt: Date | null } {
  const tick = calendarOf(job.cronJobSchedule, job.timezone).next(after);
  if (tick === undefined) return { nextAt: null, dueAt: null };
  return { nextAt: new Date(tick), dueAt: new Date(dueTime(job, tick)) };
}

/** The time at which a tick begins, with its jitter: always before the next tick. */
export function dueTime({ id, cronJobSchedule, timezone, jitterSeconds }: Timed, tick: number): number {
  if (jitterSeconds === 0) return tick;
  const next = calendarOf(cronJobSchedule, timezone).next(tick) ?? Number.POSITIVE_INFINITY;
  const maxJitter = Math.min(jitterSeconds, Math.max(0, (next - tick) / 1_000 - 1));
  return tick + jitterOf(id, tick, maxJitter);
}
