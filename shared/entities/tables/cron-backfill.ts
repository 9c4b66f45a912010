import { defineEntity, p, tenantFilter } from '../base.ts';

/** A range of the past whose ticks are started now, one after the other. Workers write how far they are. */
export const CronBackfillSchema = defineEntity({
  name: 'CronBackfill',
  tableName: 'cron_backfill',
  filters: tenantFilter,
  properties: {
    id: p.uuid().primary(),
    tenantID: p.uuid(),
    cronJobID: p.uuid(),
    fromAt: p.datetime(),
    toAt: p.datetime(),
    /** `found`: ticks that the backfill starts. `leftOut`: ticks of the range that were started at their own time. */
    found: p.integer().default(0),
    leftOut: p.integer().default(0),
    /** Whether the range has more ticks than a backfill may have. */
    isCut: p.boolean().default(false),
    filledAt: p.datetime().nullable(),
    cancelledAt: p.datetime().nullable(),
    cancelledBy: p.uuid().nullable(),
    creatorID: p.uuid(),
    createdByApiKeyID: p.uuid().nullable(),
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
  },
});

export class CronBackfill extends CronBackfillSchema.class {}
CronBackfillSchema.setClass(CronBackfill);
