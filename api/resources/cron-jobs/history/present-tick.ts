import type { z } from 'zod';
import type { CronTick } from '#shared/entities/tables/cron-tick.ts';
import type { CronHistoryRecord } from './schemas.ts';

interface Known {
  /** When the run of the tick began, if it has not ended. */
  began?: Date | null | undefined;
  /** The run because of which the tick was skipped. */
  blockedBy?: string | undefined;
}

export function presentTick(tick: CronTick, { began, blockedBy }: Known = {}): z.input<typeof CronHistoryRecord> {
  const { id, cronJobID, status, triggerType, outcome, scheduledAt, attempts, finishedAt, error } = tick;
  const startedAt = tick.startedAt ?? began;
  const instanceID = tick.instanceID ?? null;
  return {
    id,
    cronJobHistoryID: id,
    cronJobID,
    status,
    triggerType,
    outcome,
    reason: tick.reason ?? null,
    scheduledAt: scheduledAt.toISOString(),
    lastScheduledAt: tick.lastScheduledAt?.toISOString() ?? null,
    firedAt: tick.firedAt?.toISOString() ?? null,
    startedAt: startedAt?.toISOString() ?? null,
    finishedAt: finishedAt?.toISOString() ?? null,
    nextAttemptAt: tick.startAt?.toISOString() ?? null,
    durationMs: startedAt && finishedAt ? finishedAt.getTime() - startedAt.getTime() : null,
    attempts,
    instanceID,
    blockedByInstanceID: blockedBy ?? null,
    result: instanceID ? { instanceID } : null,
    error: error ? { code: String(error.code), message: String(error.message) } : null,
    createdAt: tick.createdAt.toISOString(),
  };
}
