import type { JsonObject } from '../../core/json.ts';
import type { TickOutcome, TickStatus, TriggerType } from '../../triggers/cron/job.ts';
import { defineEntity, p, tenantFilter } from '../base.ts';

/** The outcome of a tick. Written in SQL by workers; handlers read it here, and add the ticks that a person asks for. */
export const CronTickSchema = defineEntity({
  name: 'CronTick',
  tableName: 'cron_tick',
  filters: tenantFilter,
  properties: {
    id: p.uuid().primary(),
    tenantID: p.uuid(),
    cronJobID: p.uuid(),
    scheduledAt: p.datetime(),
    /** The last of several ticks that the row stands for. */
    lastScheduledAt: p.datetime().nullable(),
    triggerType: p.string().$type<TriggerType>(),
    status: p.string().$type<TickStatus>(),
    outcome: p.string().$type<TickOutcome>(),
    reason: p.text().nullable(),
    attempts: p.integer().default(0),
    /** The run of its last attempt. */
    instanceID: p.uuid().nullable(),
    firedAt: p.datetime().nullable(),
    /** When its next attempt begins. */
    startAt: p.datetime().nullable(),
    startedAt: p.datetime().nullable(),
    finishedAt: p.datetime().nullable(),
    error: p.json().$type<JsonObject>().nullable(),
    createdAt: p.datetime().defaultRaw('now()'),
  },
});

export class CronTick extends CronTickSchema.class {}
CronTickSchema.setClass(CronTick);
