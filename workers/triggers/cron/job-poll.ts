import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { storable } from '#shared/db/storable.ts';
import type { NewRun } from '#shared/runs/accept.ts';
import { dueTime } from '#shared/triggers/cron/next-tick.ts';
import { reasons } from '#shared/triggers/cron/reasons.ts';
import { entryOfTick } from './audit-ticks.ts';
import { type Decision, decideDue } from './decide.ts';
import type { EndedRun, LockedJob, NewTick, OpenTick } from './page.ts';
import { type StartNeeds, startTick } from './start.ts';

export interface JobPollNeeds extends StartNeeds {
  /** How late a tick may begin before it counts as missed. */
  lateMs: number;
}

const MAX_MESSAGE = 2_000;
/** Ticks of a backfill that run at once if the work of ticks may overlap. */
const BACKFILL_AT_ONCE = 10;

interface Known {
  ends: readonly EndedRun[];
  open: readonly OpenTick[];
}

/** A poll of one job: changes in memory, which the page writes. */
export function createJobPoll(job: LockedJob, { ends, open }: Known) {
  const now = job.now.getTime();
  const inserted: NewTick[] = [];
  const updated = new Set<OpenTick>();
  const runs = new Map<OpenTick, NewRun>();
  const toCancel: string[] = [];

  const isOpen = ({ status }: OpenTick) => status === 'SCHEDULED';
  const isWaiting = (tick: OpenTick) => isOpen(tick) && tick.outcome === 'queued';
  const isRunning = (tick: OpenTick) => isOpen(tick) && tick.outcome !== 'queued';
  const isOfBackfill = ({ triggerType }: OpenTick) => triggerType === 'BACKFILL';
  const mayOverlap = job.overlapPolicy === 'allow';
  const all = () => [...open, ...inserted];

  function finish(tick: OpenTick, status: 'SUCCESS' | 'FAILURE', error: JsonObject | null, at = job.now): void {
    Object.assign(tick, { status, error, finishedAt: at, startAt: null });
    updated.add(tick);
  }

  /** Ends a tick as failed, or schedules its next attempt. */
  function fail(tick: OpenTick, error: JsonObject, at = job.now): void {
    if (tick.attempts > job.retryAttempts || job.stoppedAt) return finish(tick, 'FAILURE', error, at);
    const startAt = new Date(at.getTime() + job.retryDelaySeconds * 1_000);
    Object.assign(tick, { error, startAt });
    updated.add(tick);
  }

  function applyEnds(): void {
    for (const { tickID, instanceID, status, error, startedAt, endedAt } of ends) {
      const tick = open.find(({ id }) => id === tickID);
      if (!tick || tick.instanceID !== instanceID) continue;
      tick.startedAt ??= startedAt;
      if (status === 'COMPLETED') finish(tick, 'SUCCESS', null, endedAt);
      else if (status === 'FAILED') fail(tick, errorOf(error), endedAt);
      // A person or a policy has cancelled the run: no other attempt follows.
      else finish(tick, 'FAILURE', { code: 'CANCELLED', message: 'The run was cancelled' }, endedAt);
    }
  }

  async function start(needs: StartNeeds, tick: OpenTick): Promise<void> {
    const isFirst = tick.attempts === 0;
    Object.assign(tick, { attempts: tick.attempts + 1, firedAt: tick.firedAt ?? job.now, startAt: null });
    if (tick.outcome === 'queued') tick.outcome = tick.reason === reasons.waitsAfterwards ? 'caughtUp' : 'fired';
    updated.add(tick);
    // `startTick` counts the attempt that begins itself.
    const started = await startTick(needs, job, { ...tick, attempts: tick.attempts - 1 });
    if ('run' in started) {
      tick.instanceID = started.run.id ?? null;
      runs.set(tick, started.run);
      return;
    }
    const { code, message } = started.error;
    if (isFirst) tick.outcome = 'refused';
    if (started.stops) stop(message);
    fail(tick, { code, message: storable(message.slice(0, MAX_MESSAGE)) });
  }

  /** No tick follows until an author enables the job again. */
  function stop(reason: string): void {
    Object.assign(job, { stoppedAt: job.now, stopReason: reason, nextAt: null });
    for (const tick of all()) {
      if (!isWaiting(tick)) continue;
      tick.outcome = 'refused';
      finish(tick, 'FAILURE', { code: 'PERMISSION_DENIED', message: reason });
    }
  }

  function add({ scheduledAt, until, outcome, reason }: Decision): OpenTick {
    const isOver = outcome === 'skipped' || outcome === 'missed';
    const tick = {
      id: newID(),
      tenantID: job.tenantID,
      cronJobID: job.id,
      scheduledAt: new Date(scheduledAt),
      lastScheduledAt: until === undefined ? null : new Date(until),
      triggerType: 'SCHEDULED' as const,
      status: isOver ? ('FAILURE' as const) : ('SCHEDULED' as const),
      outcome,
      reason,
      attempts: 0,
      instanceID: null,
      firedAt: null,
      startAt: null,
      startedAt: null,
      finishedAt: isOver ? job.now : null,
      error: isOver ? { code: outcome === 'missed' ? 'MISSED' : 'SKIPPED', message: reason ?? '' } : null,
    };
    inserted.push(tick);
    return tick;
  }

  async function decideTicks(needs: JobPollNeeds): Promise<void> {
    if (!job.nextAt || !job.cronJobEnabled || job.stoppedAt) return;
    const state = {
      ...job,
      isPaused: job.pausedAt !== null,
      nextAt: job.nextAt.getTime(),
      isBusy: open.some((tick) => isRunning(tick) && !isOfBackfill(tick)),
      waiting: open.filter((tick) => isWaiting(tick) && !isOfBackfill(tick)).length,
      isFilling: open.some((tick) => isRunning(tick) && isOfBackfill(tick)),
    };
    const { ticks, replacesEarlier, nextAt } = decideDue(state, now, needs.lateMs);
    job.nextAt = nextAt;
    if (replacesEarlier) replaceOpen();
    for (const decision of ticks) {
      const tick = add(decision);
      if (isRunning(tick)) await start(needs, tick);
    }
  }

  /**
   * Cancels running work: its runs after the commit, and a later poll applies their ends. A tick that waits, or is between two attempts,
   * ends here.
   */
  function replaceOpen(): void {
    for (const tick of open.filter((each) => isOpen(each) && !isOfBackfill(each))) {
      if (isWaiting(tick)) {
        Object.assign(tick, { outcome: 'skipped', reason: reasons.overtaken });
        finish(tick, 'FAILURE', { code: 'SKIPPED', message: reasons.overtaken });
      } else if (tick.startAt) finish(tick, 'FAILURE', { code: 'CANCELLED', message: reasons.overtaken });
      else if (tick.instanceID) toCancel.push(tick.instanceID);
    }
  }

  async function startOthers(needs: StartNeeds): Promise<void> {
    for (const tick of open)
      if (isRunning(tick) && tick.startAt && tick.startAt.getTime() <= now) await start(needs, tick);
    if (job.stoppedAt) return;
    const isOn = job.cronJobEnabled && !job.pausedAt;
    // The job's own ticks come before those of a backfill.
    const own = isOn ? all().find((tick) => isWaiting(tick) && !isOfBackfill(tick)) : undefined;
    if (!own) return startBackfill(needs);
    if (!all().some((tick) => isRunning(tick) && (!mayOverlap || isOfBackfill(tick)))) await start(needs, own);
  }

  /** Starts ticks of a backfill, the oldest first: one after the other, or several at once if the work of ticks may overlap. */
  async function startBackfill(needs: StartNeeds): Promise<void> {
    const running = all().filter((tick) => isRunning(tick) && (!mayOverlap || isOfBackfill(tick))).length;
    const free = (mayOverlap ? BACKFILL_AT_ONCE : 1) - running;
    const next = all().filter((tick) => isWaiting(tick) && isOfBackfill(tick));
    for (const tick of next.slice(0, Math.max(0, free))) {
      // A tick may have stopped the job.
      if (isWaiting(tick)) await start(needs, tick);
    }
  }

  function lateness({ outcome, scheduledAt }: OpenTick) {
    return { outcome, lateMs: outcome === 'fired' ? now - dueTime(job, scheduledAt.getTime()) : 0 };
  }

  return {
    jobID: job.id,
    inserted,
    lateness,
    toCancel,
    get backfilled() {
      return [...runs.keys()].flatMap((tick) =>
        isOfBackfill(tick) && tick.instanceID !== null ? [{ instanceID: tick.instanceID, cronJobID: job.id }] : [],
      );
    },
    get entries() {
      return inserted.map((tick) => entryOfTick(job, tick));
    },
    get updated() {
      return [...updated].filter((tick) => open.includes(tick));
    },
    /** Runs to insert. A new tick that was ignored, because the job already has one for its time, gets no run. */
    runsOf: (isNew: ReadonlySet<string>) =>
      [...runs].flatMap(([tick, run]) => (open.includes(tick) || isNew.has(tick.id) ? [run] : [])),
    async run(needs: JobPollNeeds): Promise<void> {
      applyEnds();
      await decideTicks(needs);
      await startOthers(needs);
      job.dueAt = nextPollAt(job, all());
    },
  };
}

/** Time of the next poll: of the next tick, or of the next attempt of an open tick if that is earlier. */
function nextPollAt(job: LockedJob, ticks: readonly OpenTick[]): Date | null {
  const attempts = ticks.flatMap(({ status, startAt }) =>
    status === 'SCHEDULED' && startAt ? [startAt.getTime()] : [],
  );
  const times = [...attempts, ...(job.nextAt ? [dueTime(job, job.nextAt.getTime())] : [])];
  return times.length > 0 ? new Date(Math.min(...times)) : null;
}

function errorOf(error: EndedRun['error']): JsonObject {
  if (!error) return { code: 'INTERNAL_ERROR', message: 'The run failed' };
  const { code, message, nodeID } = error;
  return { code, message: message.slice(0, MAX_MESSAGE), nodeID: nodeID ?? null };
}
