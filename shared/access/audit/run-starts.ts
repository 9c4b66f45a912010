import type { Caller } from '../../core/caller.ts';
import { type AuditRecord, wholeEntry } from './records.ts';

/** Origins of runs that no request has started. Other runs have no entry of their own: that of their request covers them. */
const withoutRequest: ReadonlySet<Caller['origin']> = new Set(['cron', 'listener', 'workflow']);

interface StartedRun {
  tenantID: string;
  workflowID: string | null;
  caller: Caller;
  entry?: AuditRecord;
  cronTickID?: string;
}

/** The audit entry that is written with an accepted run: the entry of its request, or one of its own; undefined if neither is due. */
export function startEntryOf(id: string | undefined, run: StartedRun): AuditRecord | undefined {
  const { tenantID, workflowID, caller, entry, cronTickID } = run;
  if (entry || !withoutRequest.has(caller.origin)) return entry;
  const { type, origin, originID } = caller;
  return wholeEntry({
    tenantID,
    type: 'RUN_START',
    action: origin,
    userID: caller.userID ?? (type === 'user' ? caller.id : null),
    apiKeyID: type === 'apiKey' ? caller.id : null,
    assetType: workflowID === null ? null : 'workflow',
    assetID: workflowID,
    details: {
      instanceID: id ?? null,
      originID: originID ?? null,
      ...(cronTickID !== undefined && { tickID: cronTickID }),
    },
  });
}
