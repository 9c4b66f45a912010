import type { z } from 'zod';
import { calendarOf, ticksBetween } from '#shared/core/cron-calendar.ts';
import type { CronJob as CronJobEntity } from '#shared/entities/tables/cron-job.ts';
import { describeSchedule } from '#shared/triggers/cron/describe.ts';
import type { CronJob, Preview } from './schemas.ts';

type Shown = z.input<typeof CronJob>;

export function presentCronJob(job: CronJobEntity): Shown {
  const { id, tenantID, cronJobTitle, cronJobSchedule, timezone, cronJobEnabled, cronJobType, cronJobConfig } = job;
  const { overlapPolicy, missedRunPolicy, missedRunWindowSeconds, jitterSeconds, timeoutSeconds } = job;
  return {
    id,
    cronJobID: id,
    tenantID,
    cronJobTitle,
    cronJobDescription: job.cronJobDescription ?? null,
    cronJobSchedule,
    timezone,
    scheduleDescription: describeSchedule(cronJobSchedule, timezone),
    cronJobEnabled,
    cronJobType,
    cronJobConfig,
    overlapPolicy,
    missedRunPolicy,
    missedRunWindowSeconds,
    jitterSeconds,
    timeoutSeconds,
    retryAttempts: job.retryAttempts,
    retryDelaySeconds: job.retryDelaySeconds,
    state: stateOf(job),
    stopReason: job.stopReason ?? null,
    pausedAt: job.pausedAt?.toISOString() ?? null,
    stoppedAt: job.stoppedAt?.toISOString() ?? null,
    nextRunAt: job.nextAt?.toISOString() ?? null,
    folderID: job.folderID ?? null,
    creatorID: job.creatorID,
    createdByApiKeyID: job.createdByApiKeyID ?? null,
    createdAt: job.createdAt.toISOString(),
    updatedAt: job.updatedAt.toISOString(),
  };
}

type Stateful = Pick<CronJobEntity, 'cronJobEnabled' | 'pausedAt' | 'stoppedAt'>;

export function stateOf({ cronJobEnabled, pausedAt, stoppedAt }: Stateful): Shown['state'] {
  if (!cronJobEnabled) return 'disabled';
  if (stoppedAt) return 'stopped';
  return pausedAt ? 'paused' : 'scheduled';
}

interface Previewed {
  cronJobSchedule: string;
  timezone: string;
  count: number;
}

/** The next ticks after a moment. Jitter is left out. */
export function presentPreview({ cronJobSchedule, timezone, count }: Previewed, now: Date): z.input<typeof Preview> {
  const calendar = calendarOf(cronJobSchedule, timezone);
  const ticks = ticksBetween(calendar, now.getTime(), { until: Number.POSITIVE_INFINITY, max: count });
  const scheduleDescription = describeSchedule(cronJobSchedule, timezone);
  return { cronJobSchedule, timezone, scheduleDescription, runs: ticks.map((tick) => presentRun(tick, timezone)) };
}

function presentRun(tick: number, timezone: string): z.input<typeof Preview>['runs'][number] {
  const at = Temporal.Instant.fromEpochMilliseconds(tick);
  const local = at.toZonedDateTimeISO(timezone).toString({ timeZoneName: 'never' });
  return { at: new Date(tick).toISOString(), local };
}
