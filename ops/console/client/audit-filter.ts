import type { Schemas } from './types.ts';

type Entry = Schemas['AuditLog'];

export const auditTypes = [
  'API_REQUEST',
  'OPERATOR_REQUEST',
  'RUN_START',
  'ASSET_CHANGE',
  'WEBHOOK_DELIVERY',
  'LISTENER_EVENT',
  'CRON_TICK',
  'SOCKET_ACTION',
  'AI_TOOL_CALL',
] as const satisfies Entry['type'][];
export const auditMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** The filter of the audit trail, as it stands in the address. */
export interface AuditFilter {
  userID?: string;
  apiKeyID?: string;
  type?: Entry['type'];
  method?: (typeof auditMethods)[number];
  path?: string;
  /** An outcome, or the status of an answer. */
  status?: string;
  assetID?: string;
  /** Only what has changed an asset: also where nothing is said, and no filter asks for what need be no change. */
  changes?: boolean;
  from?: string;
  to?: string;
}

export interface AuditView extends AuditFilter {
  cursor?: string;
  /** The id of the entry that is looked at. */
  entry?: string;
}

export function parseAuditView(search: Record<string, unknown>): AuditView {
  const names = ['userID', 'apiKeyID', 'path', 'status', 'assetID', 'from', 'to', 'cursor', 'entry'] as const;
  const found = names.flatMap((name) => {
    const value = search[name];
    // The address of a router holds a text of digits as a number.
    return (typeof value === 'string' && value !== '') || typeof value === 'number' ? [[name, String(value)]] : [];
  });
  const type = auditTypes.find((one) => one === search.type);
  const method = auditMethods.find((one) => one === search.method);
  const isWide = ['type', 'method', 'path', 'status', 'assetID', 'entry'].every((name) => search[name] === undefined);
  const only = typeof search.changes === 'boolean' ? search.changes : isWide || undefined;
  const changes = only !== undefined && { changes: only };
  return { ...Object.fromEntries(found), ...(type && { type }), ...(method && { method }), ...changes };
}
