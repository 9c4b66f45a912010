import { calendarOf, newestTicks } from '#shared/core/cron-calendar.ts';
import type { MissedRunPolicy, OverlapPolicy, TickOutcome } from '#shared/triggers/cron/job.ts';
import { dueTime, nextTick, type Timed } from '#shared/triggers/cron/next-tick.ts';
import { reasons } from '#shared/triggers/cron/reasons.ts';

/** State of a job when a worker polls it. */
export interface JobState extends Timed {
  overlapPolicy: OverlapPolicy;
  missedRunPolicy: MissedRunPolicy;
  missedRunWindowSeconds: number;
  isPaused: boolean;
  /** Time of the first tick about which nothing was decided yet. */
  nextAt: number;
  /** Whether the work of an earlier tick is running. */
  isBusy: boolean;
  /** Number of ticks that wait for that work to end. */
  waiting: number;
  /** Whether the work of a backfill is running. Ticks wait for it: none is skipped because of it, and none cancels it. */
  isFilling: boolean;
}

/** Decision about a tick. */
export interface Decision {
  scheduledAt: number;
  /** Time of the last tick that the decision covers; absent if it covers one tick only. */
  until?: number;
  outcome: Exclude<TickOutcome, 'refused'>;
  reason: string | null;
}

interface Decided {
  ticks: Decision[];
  /** Whether a new tick takes the place of earlier ones: their work is cancelled, and those that wait are skipped. */
  replacesEarlier: boolean;
  nextAt: Date | null;
  dueAt: Date | null;
}

/** Due ticks of one job that get a row each; earlier ones share one row. */
const MAX_TICKS = 500;

/** Decides once about every tick that is due. After the clock was set back, no tick is due until the clock reaches `nextAt` again. */
export function decideDue(job: JobState, now: number, lateMs: number): Decided {
  const none = {
    ticks: [],
    replacesEarlier: false,
    nextAt: new Date(job.nextAt),
    dueAt: new Date(dueTime(job, job.nextAt)),
  };
  const { due, before } = dueTicks(job, now);
  const newest = due.at(-1);
  if (newest === undefined) return none;

  const isOnTime = now - dueTime(job, newest) <= lateMs;
  const { ticks, replacesEarlier } = job.isPaused
    ? { ticks: due.map((tick) => decision(tick, 'skipped', 'paused')), replacesEarlier: false }
    : decideEach(job, due, { now, isOnTime });
  const first = before && { ...decision(before.first, 'missed', 'old'), until: before.last };
  return { ticks: first ? [first, ...ticks] : ticks, replacesEarlier, ...nextTick(job, newest) };
}

/** The newest of the ticks that are due and, if there are more than `MAX_TICKS`, the first and the last of the earlier ones. */
function dueTicks(job: JobState, now: number) {
  const calendar = calendarOf(job.cronJobSchedule, job.timezone);
  const limits = { until: now, max: MAX_TICKS };
  // Jitter delays a tick by less than the time to the next one, so only the newest may not be due yet.
  const due = newestTicks(calendar, job.nextAt - 1, limits).filter((tick) => dueTime(job, tick) <= now);
  const [oldest] = due;
  if (oldest === undefined || oldest <= job.nextAt) return { due };
  const [last = job.nextAt] = newestTicks(calendar, job.nextAt - 1, { until: oldest - 1, max: 1 });
  return { due, before: { first: job.nextAt, last } };
}

function decision(scheduledAt: number, outcome: Decision['outcome'], reason: keyof typeof reasons | null): Decision {
  return { scheduledAt, outcome, reason: reason && reasons[reason] };
}

interface Moment {
  now: number;
  /** Whether the newest tick can be started as one that is not late. */
  isOnTime: boolean;
}

function decideEach(job: JobState, due: readonly number[], moment: Moment) {
  const chosen = choose(job, due, moment);
  const isChosen = new Set(chosen);
  const last = chosen.at(-1);
  const isNewestOnly = job.overlapPolicy === 'cancel-old';
  const overlap: OverlapState = {
    isBusy: job.isBusy || job.waiting > 0,
    isFilling: job.isFilling,
    waiting: job.waiting,
    isAfterLate: chosen.length > 1,
  };
  const ticks = due.map((tick) => {
    if (!isChosen.has(tick)) return decision(tick, 'missed', whyMissed(job, tick, moment));
    if (isNewestOnly && tick !== last) return decision(tick, 'skipped', 'overtaken');
    return decideStart(job, tick, { isLate: !(moment.isOnTime && tick === due.at(-1)), overlap });
  });
  const hasEarlier = job.isBusy || job.waiting > 0;
  return { ticks, replacesEarlier: isNewestOnly && hasEarlier && last !== undefined };
}

/** State of earlier ticks when the next one is decided about. `decideStart` updates it for the ticks that follow. */
interface OverlapState {
  isBusy: boolean;
  isFilling: boolean;
  waiting: number;
  /** Whether missed ticks are started as well, before the newest. */
  isAfterLate: boolean;
}

/** Decides whether a chosen tick is started, waits or is skipped. A missed tick is never skipped because of running work. */
function decideStart(
  { overlapPolicy }: JobState,
  tick: number,
  { isLate, overlap }: { isLate: boolean; overlap: OverlapState },
) {
  const mayFollow = overlapPolicy === 'cancel-old' || (overlapPolicy !== 'allow' && !overlap.isBusy);
  const waitsForFilling = overlap.isFilling && mayFollow;
  if (waitsForFilling) overlap.isBusy = true;
  else if (overlapPolicy === 'allow' || overlapPolicy === 'cancel-old' || !overlap.isBusy) {
    overlap.isBusy = true;
    return isLate ? decision(tick, 'caughtUp', 'afterwards') : decision(tick, 'fired', null);
  }
  const mayWait = isLate || overlap.isAfterLate || waitsForFilling;
  if (!mayWait && overlapPolicy === 'skip') return decision(tick, 'skipped', 'busy');
  if (!mayWait && overlap.waiting > 0) return decision(tick, 'skipped', 'full');
  overlap.waiting += 1;
  return decision(tick, 'queued', isLate ? 'waitsAfterwards' : 'waits');
}

/** The ticks to start: the newest if it is on time, and of the late ones those that the job asks for. */
function choose(job: JobState, due: readonly number[], { now, isOnTime }: Moment): readonly number[] {
  const newest = due.slice(-1);
  const oldest = now - job.missedRunWindowSeconds * 1_000;
  const inWindow = (tick: number) => tick >= oldest;
  if (job.missedRunPolicy === 'all')
    return [...due.slice(0, -1).filter(inWindow), ...newest.filter((tick) => isOnTime || inWindow(tick))];
  if (isOnTime) return newest;
  return job.missedRunPolicy === 'last' ? newest.filter(inWindow) : [];
}

function whyMissed(job: JobState, tick: number, { now }: Moment): keyof typeof reasons {
  if (job.missedRunPolicy === 'skip') return 'late';
  return tick < now - job.missedRunWindowSeconds * 1_000 ? 'old' : 'replaced';
}
