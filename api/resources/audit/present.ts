import type { z } from 'zod';
import type { AuditEntry } from '#shared/access/audit/read-records.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { AuditLog } from './schemas.ts';

export function presentEntry(tenantID: string, entry: AuditEntry): z.input<typeof AuditLog> {
  const { status, assetType, assetID, apiKeyID, apiKeyTitle, durationMs } = entry;
  const success = status === null ? null : status < 400;
  const metadata: JsonObject = {
    ...entry.details,
    ...entry.outcome,
    durationMs,
    authType: apiKeyID === null ? 'token' : 'apiKey',
    apiKeyID,
    apiKeyTitle,
  };
  return {
    auditLogID: entry.id,
    tenantID,
    type: entry.type,
    subType: entry.action,
    userID: entry.userID,
    apiKeyID,
    success,
    outcome: success === null ? 'unknown' : success ? 'success' : 'failure',
    error: success === false ? { status: status ?? 500 } : null,
    path: entry.path,
    asset: assetType !== null && assetID !== null ? { type: assetType, id: assetID } : null,
    changes: entry.changes ?? [],
    changeCount: entry.changeCount,
    metadata,
    createdAt: entry.createdAt.toISOString(),
  };
}
