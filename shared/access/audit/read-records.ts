import type { JsonObject } from '../../core/json.ts';
import type { Pool } from '../../db/pool.ts';
import type { AuditType } from './records.ts';

/** An entry of the trail, with how it ended and what it changed. */
export interface AuditEntry {
  seq: string;
  id: string;
  type: AuditType;
  action: string;
  userID: string | null;
  apiKeyID: string | null;
  apiKeyTitle: string | null;
  path: string | null;
  assetType: string | null;
  assetID: string | null;
  /** Null: under way, or its process has died. */
  status: number | null;
  durationMs: number | null;
  details: JsonObject;
  outcome: JsonObject | null;
  /** At most `MAX_CHANGES` changes of the entry. If the filter names an asset, the changes of that asset come first. */
  changes: AuditChange[] | null;
  changeCount: number;
  createdAt: Date;
}

interface AuditChange {
  assetType: string;
  assetID: string;
  action: string;
  changes: JsonObject;
}

export interface AuditFilter {
  userID?: string | undefined;
  apiKeyID?: string | undefined;
  type?: AuditType | undefined;
  method?: string | undefined;
  /** The beginning of a path. */
  path?: string | undefined;
  status?: 'success' | 'failure' | 'unknown' | number | undefined;
  assetType?: string | undefined;
  assetID?: string | undefined;
  /** Only entries that have changed an asset. */
  changes?: boolean | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

interface AuditQuery {
  tenantID: string;
  filter: AuditFilter;
  /** Entries older than this one. */
  before?: string | undefined;
}

/** Rows of the trail that one page reads in search of matching entries. If few match, the search continues with the next page. */
const LOOKED = 20_000;
/** Entries that numbered pages can reach, and that are counted for them; older entries are read by `cursor`. */
export const MAX_NUMBERED = 10_000;

/** Changes of one entry in a page: an import has 2,000, and a page of imports would end its process. */
export const MAX_CHANGES = 20;

/** A page of entries, newest first, and where the next one begins; undefined at the end. */
export async function readEntries(
  pool: Pool,
  { tenantID, filter, before }: AuditQuery,
  { limit, offset = 0 }: { limit: number; offset?: number },
): Promise<{ entries: AuditEntry[]; next: string | undefined }> {
  const { text, values } = conditions(filter, [tenantID, before ?? MAX_SEQ]);
  const { rows } = await pool.query<AuditEntry & { last: string | null }>({
    text: select(text, { limit: limit + 1, offset, asset: parameterOf(filter.assetID, values) }),
    values,
  });
  const found = rows.filter(({ id }) => id !== null);
  const hasMore = found.length > limit;
  const entries = found.slice(0, limit);
  return { entries, next: hasMore ? entries.at(-1)?.seq : (rows[0]?.last ?? undefined) };
}

/** All changes of an entry. */
export async function readChanges(pool: Pool, entryID: string): Promise<AuditChange[]> {
  const { rows } = await pool.query<AuditChange>(CHANGES, [entryID]);
  return rows;
}

const CHANGES = `
select asset_type as "assetType", asset_id as "assetID", action, details -> 'changes' as changes
from audit_record where entry_id = $1 and kind = 'change' order by seq`;

function parameterOf(assetID: string | undefined, values: readonly unknown[]): string | undefined {
  return assetID === undefined ? undefined : `$${values.indexOf(assetID) + 1}`;
}

/** Counts the entries that match, up to `MAX_NUMBERED` and among the rows that numbered pages can reach. */
export async function countEntries(pool: Pool, { tenantID, filter }: AuditQuery): Promise<number> {
  const { text, values } = conditions(filter, [tenantID, MAX_SEQ]);
  const { rows } = await pool.query<{ n: number }>({
    text: count(text, { isFiltered: Object.values(filter).some((value) => value !== undefined && value !== false) }),
    values,
  });
  return rows[0]?.n ?? 0;
}

// With a filter, only the newest rows are read: if nothing matched, the whole trail would be. Without a filter, the limit is enough.
const count = (where: string, { isFiltered }: { isFiltered: boolean }) => `
with reached as materialized (
  select min(seq) as seq from (
    select seq from audit_record where tenant_id = $1 and seq < $2::bigint order by seq desc limit ${LOOKED + 10 * MAX_NUMBERED}) as newest
)
select count(*)::int as n from (
  select from audit_record e ${OUTCOME} where ${where} ${isFiltered ? 'and e.seq >= (select seq from reached)' : ''}
  limit ${MAX_NUMBERED}) as found`;

const MAX_SEQ = '9223372036854775807';

const OUTCOME = `left join audit_record o on o.entry_id = e.id and o.kind = 'outcome'`;
const STATUS = 'coalesce(o.status, e.status)';

function conditions(filter: AuditFilter, values: unknown[]): { text: string; values: unknown[] } {
  const parts = [`e.tenant_id = $1`, `e.seq < $2::bigint`, `e.kind = 'entry'`];
  const add = (part: (parameter: string) => string, value: unknown) => {
    if (value === undefined) return;
    values.push(value);
    parts.push(part(`$${values.length}`));
  };
  add((n) => `e.user_id = ${n}::uuid`, filter.userID);
  add((n) => `e.api_key_id = ${n}::uuid`, filter.apiKeyID);
  add((n) => `e.type = ${n}`, filter.type);
  add((n) => `e.action = ${n}`, filter.method);
  add((n) => `starts_with(e.path, ${n})`, filter.path);
  add((n) => `e.created_at >= ${n}::timestamptz`, filter.from);
  add((n) => `e.created_at < ${n}::timestamptz`, filter.to);
  add((n) => `e.asset_type = ${n}`, filter.assetID === undefined ? filter.assetType : undefined);
  // The entry matches by its own path, or because it has changed the asset.
  add(
    (
      n,
    ) => `(e.seq in (select a.seq from audit_record a where a.tenant_id = $1 and a.asset_id = ${n}::uuid and a.kind = 'entry')
    or e.id in (select a.entry_id from audit_record a where a.tenant_id = $1 and a.asset_id = ${n}::uuid and a.kind = 'change'))`,
    filter.assetID,
  );
  if (filter.changes) parts.push(`exists (select from audit_record c where c.entry_id = e.id and c.kind = 'change')`);
  const { status } = filter;
  if (status === 'unknown') parts.push(`${STATUS} is null`);
  else if (status === 'success') parts.push(`${STATUS} < 400`);
  else if (status === 'failure') parts.push(`${STATUS} >= 400`);
  else add((n) => `${STATUS} = ${n}::int`, status);
  return { text: parts.join(' and '), values };
}

// A page reads the newest rows below its cursor (`$2`). `last` is the row at which the search stopped, if not at the end of the trail.
const select = (
  where: string,
  { limit, offset, asset }: { limit: number; offset: number; asset?: string | undefined },
) => `
with looked as materialized (
  select min(seq) as seq, count(*) as n from (
    select seq from audit_record where tenant_id = $1 and seq < $2::bigint order by seq desc limit ${LOOKED + 10 * offset}) as newest
),
found as materialized (
  select e.seq, e.id, e.type, e.action, e.user_id, e.api_key_id, e.path, e.asset_type, e.asset_id, ${STATUS} as status,
    coalesce(o.duration_ms, e.duration_ms) as duration_ms, e.details, o.details as outcome, e.created_at
  from audit_record e ${OUTCOME}
  where ${where} and e.seq >= (select seq from looked)
  order by e.seq desc limit ${limit} offset ${offset}
)
select found.seq::text, found.id, found.type, found.action, found.user_id as "userID", found.api_key_id as "apiKeyID", k.api_key_name as "apiKeyTitle",
  found.path, found.asset_type as "assetType", found.asset_id as "assetID", found.status, found.duration_ms as "durationMs", found.details, found.outcome,
  found.created_at as "createdAt",
  (select json_agg(json_build_object('assetType', c.asset_type, 'assetID', c.asset_id, 'action', c.action, 'changes', c.details -> 'changes') order by c.seq)
    from (select * from audit_record o where o.entry_id = found.id and o.kind = 'change'
      order by ${asset ? `o.asset_id is distinct from ${asset}::uuid, ` : ''}o.seq limit ${MAX_CHANGES}) c) as changes,
  (select count(*)::int from audit_record c where c.entry_id = found.id and c.kind = 'change') as "changeCount",
  case when looked.n = ${LOOKED + 10 * offset} then looked.seq::text end as last
from looked left join found on true left join api_key k on k.id = found.api_key_id
order by found.seq desc`;
