import { type AuditRecord, wholeEntry } from '#shared/access/audit/records.ts';
import { readable } from '#shared/access/audit/redact.ts';
import { toAppError, toWireError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { recordingChanges } from '../../audit/changes.ts';
import type { AuditTrail } from '../../audit/trail.ts';
import type { OperatorIdentity } from '../../auth/operator-session.ts';
import type { RequestEntry } from '../route/audit-entry.ts';
import type { Request, Response, Route } from '../route/route.ts';
import { bodyOf, describeRequest, OUTCOME } from './request-entry.ts';

interface Asked {
  route: Route;
  request: Request;
  response: Response;
  operator: OperatorIdentity;
}

/** The entries of an operator's request in the trails of the tenants that it concerns. */
export interface OperatorEntries extends Pick<RequestEntry, 'end' | 'fail'> {
  /** Writes the entries, before the request changes something of these tenants. */
  auditFor(tenantIDs: readonly string[]): Promise<void>;
  /** Records the changes that the work makes in these tenants. */
  recordingChanges<T>(work: () => T): T;
}

export function openOperatorEntries(trail: AuditTrail, { route, request, response, operator }: Asked): OperatorEntries {
  const began = performance.now();
  const ids = new Map<string, string>();

  function entryIn(tenantID: string, id: string): AuditRecord {
    const { ip: _ip, headers: _headers, ...shown } = describeRequest(route, request, response);
    return wholeEntry({
      id,
      tenantID,
      type: 'OPERATOR_REQUEST',
      action: request.method,
      path: request.path.slice(0, MAX_PATH_LENGTH),
      status: null,
      details: { operatorID: operator.operatorID, request: shown },
    });
  }

  function finish(status: number, resultDetails: () => JsonObject): void {
    const durationMs = Math.round(performance.now() - began);
    const details = { response: { statusCode: status, ...resultDetails() } };
    for (const [tenantID, entryID] of ids)
      trail.note({
        ...OUTCOME,
        type: 'OPERATOR_REQUEST',
        id: newID(),
        tenantID,
        entryID,
        status,
        durationMs,
        details,
        at: new Date(),
      });
    // A request that only reads has written no entry before.
    const { tenantID } = request.params;
    if (request.method !== 'GET' || typeof tenantID !== 'string') return;
    const entry = entryIn(tenantID, newID());
    trail.note({ ...entry, status, durationMs, details: { ...entry.details, ...details } });
  }

  return {
    async auditFor(tenantIDs) {
      const entries = tenantIDs.flatMap((tenantID) => (ids.has(tenantID) ? [] : [entryIn(tenantID, newID())]));
      for (const { tenantID, id } of entries) ids.set(tenantID, id);
      await Promise.all(entries.map((entry) => trail.write(entry)));
    },
    recordingChanges(work) {
      const entryOf = (tenantID: string | null) => {
        const entryID = tenantID === null ? undefined : ids.get(tenantID);
        return tenantID === null || entryID === undefined ? undefined : { tenantID, entryID };
      };
      return recordingChanges({ entryIn: entryOf, userID: null, apiKeyID: null }, work);
    },
    end: (status, result) => finish(status, () => (result === undefined ? {} : bodyOf(route, result))),
    fail(error) {
      const known = toAppError(error);
      const { code, message } = toWireError(known);
      finish(known.status, () => ({ error: readable({ code, message }) }));
    },
  };
}

const MAX_PATH_LENGTH = 500;
