import { newID } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import type { Pool, PoolClient } from '../../db/pool.ts';

/**
 * A row of the audit trail. Rows are only ever added: the outcome and the changes of an entry, which become known later, are rows of their
 * own, because a seal covers the rows as they were written.
 */
export interface AuditRecord {
  id: string;
  tenantID: string;
  /** `entry`: something was done. `outcome`: how it ended. `change`: what it changed of an asset. */
  kind: 'entry' | 'outcome' | 'change';
  /** The entry to which an outcome or a change belongs. */
  entryID: string | null;
  type: AuditType;
  /** The method of a request, or what was done. */
  action: string;
  userID: string | null;
  apiKeyID: string | null;
  /** The path of a request, without the query. */
  path: string | null;
  assetType: string | null;
  assetID: string | null;
  /** Null: not known yet. */
  status: number | null;
  durationMs: number | null;
  /** Further data, without secrets and of limited length (`readable`). */
  details: JsonObject;
  at: Date;
}

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
] as const;
export type AuditType = (typeof auditTypes)[number];

/** Makes the entry of an action without a request. It includes the outcome, which is known when the entry is written. */
export function wholeEntry(
  done: Pick<AuditRecord, 'tenantID' | 'type' | 'action' | 'details'> & Partial<AuditRecord>,
): AuditRecord {
  return {
    id: newID(),
    kind: 'entry',
    entryID: null,
    userID: null,
    apiKeyID: null,
    path: null,
    assetType: null,
    assetID: null,
    status: 200,
    durationMs: null,
    at: new Date(),
    ...done,
  };
}

type Queryable = Pick<Pool | PoolClient, 'query'>;

/** Adds records. Records that are stored already stay as they are. */
export async function insertAuditRecords(on: Queryable, records: readonly AuditRecord[]): Promise<void> {
  if (records.length === 0) return;
  await on.query({ name: 'insert_audit_records', text: INSERT, values: [JSON.stringify(records)] });
}

/** The columns of the table, the expressions that fill them, and the fields of a record in JSON. */
const COLUMNS = `id, tenant_id, kind, entry_id, type, action, user_id, api_key_id, path, asset_type, asset_id, status, duration_ms, details, created_at`;
const VALUES = `r.id, r."tenantID", r.kind, r."entryID", r.type, r.action, r."userID", r."apiKeyID", r.path, r."assetType", r."assetID", r.status, r."durationMs", r.details, r.at`;
const SHAPE = `id uuid, "tenantID" uuid, kind text, "entryID" uuid, type text, action text, "userID" uuid, "apiKeyID" uuid, path text, "assetType" text,
  "assetID" uuid, status int, "durationMs" int, details jsonb, at timestamptz`;

/** An insert statement for a JSON expression that is a list of records. Records of a tenant that is deleted by now are left out. */
export const insertFrom = (json: string) => `
insert into audit_record (${COLUMNS})
select ${VALUES} from jsonb_to_recordset(${json}) as r(${SHAPE})
where exists (select from tenant t where t.id = r."tenantID") order by r.id
on conflict (id) do nothing`;

const INSERT = insertFrom('$1::jsonb');
