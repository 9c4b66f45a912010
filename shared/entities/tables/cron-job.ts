import type { JsonObject } from '../../core/json.ts';
import type { CronJobType, MissedRunPolicy, OverlapPolicy } from '../../triggers/cron/job.ts';
import { defineEntity, owned, p, tenantFilter } from '../base.ts';

/** Work that is due at the times of a calendar. Workers write its next tick, its timer and why it was stopped. */
export const CronJobSchema = defineEntity({
  name: 'CronJob',
  tableName: 'cron_job',
  filters: tenantFilter,
  properties: {
    ...owned,
    cronJobTitle: p.string(),
    cronJobDescription: p.text().nullable(),
    cronJobSchedule: p.string(),
    /** A name of the IANA's database. */
    timezone: p.string(),
    cronJobEnabled: p.boolean().default(true),
    cronJobType: p.string().$type<CronJobType>(),
    cronJobConfig: p.json().$type<JsonObject>(),
    /** The graph of a run that executes the data query; null for workflows. */
    versionID: p.uuid().nullable(),
    overlapPolicy: p.string().$type<OverlapPolicy>(),
    missedRunPolicy: p.string().$type<MissedRunPolicy>(),
    missedRunWindowSeconds: p.integer(),
    jitterSeconds: p.integer(),
    timeoutSeconds: p.integer(),
    retryAttempts: p.integer(),
    retryDelaySeconds: p.integer(),
    /** The time since which ticks are only recorded, and not executed; null: the job is not paused. */
    pausedAt: p.datetime().nullable(),
    /** When it was found that the creator may not execute this any more, and what was found. */
    stoppedAt: p.datetime().nullable(),
    stopReason: p.text().nullable(),
    /** The next tick by the calendar; null if there is none, or the job is not enabled. */
    nextAt: p.datetime().nullable(),
    /** The time at which a worker checks the job next: at the next tick with its jitter, or before. */
    dueAt: p.datetime().nullable(),
    /** The sentinel (`Backplane.sentinel`) of the queues in which its timer was set. With another one they have lost it. Null: not set yet. */
    alarmSetIn: p.string().nullable(),
  },
});

export class CronJob extends CronJobSchema.class {}
CronJobSchema.setClass(CronJob);
