import { type AuditRecord, wholeEntry } from '#shared/access/audit/records.ts';
import type { TickOutcome } from '#shared/triggers/cron/job.ts';
import type { LockedJob, NewTick } from './page.ts';

/** How the trail shows outcomes of ticks whose work was not started, in the words of HTTP. */
const statuses: Partial<Record<TickOutcome, number>> = { refused: 403, skipped: 409, missed: 503 };

/** The entry of a new tick in the audit trail. The run of the tick has an entry of its own. */
export function entryOfTick(job: LockedJob, tick: NewTick): AuditRecord {
  const { id, tenantID, outcome, triggerType, scheduledAt, lastScheduledAt, reason, instanceID } = tick;
  return wholeEntry({
    id,
    tenantID,
    type: 'CRON_TICK',
    action: outcome,
    userID: job.creatorID,
    apiKeyID: job.createdByApiKeyID,
    assetType: 'cronJob',
    assetID: job.id,
    status: statuses[outcome] ?? 200,
    details: {
      triggerType,
      scheduledAt: scheduledAt.toISOString(),
      ...(lastScheduledAt && { lastScheduledAt: lastScheduledAt.toISOString() }),
      ...(reason !== null && { reason }),
      ...(instanceID !== null && { instanceID }),
    },
  });
}
