import { recordingChanges } from '../../audit/changes.ts';
import type { AuditTrail } from '../../audit/trail.ts';
import type { RecordPublic } from '../route/audit-entry.ts';
import type { Request, Response, Route } from '../route/route.ts';
import { recordOutcome } from './outcome.ts';
import { openEntry } from './request-entry.ts';

/**
 * Makes the function that records a public request: it stores the entry, then does the work and records its changes with
 * the entry.
 */
export function createRecordPublic(
  { audit }: { audit: AuditTrail },
  asked: { route: Route; request: Request; response: Response },
): RecordPublic {
  return async ({ tenantID, caller, asset }, work) => {
    const identity = {
      userID: caller && (caller.userID ?? caller.id),
      apiKeyID: caller?.type === 'apiKey' ? caller.id : null,
    };
    const entry = openEntry(audit, { ...asked, tenantID, identity, asset });
    await entry.begin();
    const by = { entryIn: () => ({ tenantID, entryID: entry.id }), ...identity };
    return recordOutcome(entry, asked.response, () => recordingChanges(by, work));
  };
}
