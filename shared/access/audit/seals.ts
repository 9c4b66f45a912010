import type { Pool, PoolClient } from '../../db/pool.ts';

/** SQL for the hash of a row as it is stored. Equal values of jsonb have the same text. */
const ROW_HASH = `sha256(convert_to(jsonb_build_array(r.seq, r.id, r.kind, r.entry_id, r.type, r.action, r.user_id, r.api_key_id, r.path, r.asset_type, r.asset_id,
  r.status, r.duration_ms, r.details, extract(epoch from r.created_at))::text, 'UTF8'))`;
const CONTENT_HASH = `sha256(coalesce(string_agg(${ROW_HASH}, ''::bytea order by r.seq), ''::bytea))`;

/** The hash of a seal. Seals of earlier versions do not cover the time of their newest row. */
const hashOf = (seal: string, previous: string, { hasTime }: { hasTime: boolean }) =>
  `sha256(coalesce(${previous}, ''::bytea) || int4send(${seal}.number) || int8send(${seal}.from_seq) || int8send(${seal}.to_seq) || int4send(${seal}.row_count)
    || ${seal}.content_hash${hasTime ? ` || int8send((extract(epoch from ${seal}.newest_at) * 1000)::bigint)` : ''})`;

interface Sealed {
  seals: { tenantID: string; number: number; hash: string }[];
  /** Whether all rows up to `upTo` are sealed. */
  isDone: boolean;
}

/** Range of `seq` that one statement seals: it takes less than a second, even if all rows are large. */
const MAX_ROWS = 5_000;

/** Seals the oldest rows of all tenants that are not sealed yet, up to the `seq` `upTo` at most. */
export async function sealNext(client: PoolClient, upTo: string): Promise<Sealed> {
  // The lock keeps two processes from sealing the same rows. It is a separate statement, so that the next one sees seals written before it.
  const { rows } = await client.query<{ from: string; to: string; isDone: boolean }>({
    text: NEXT_RANGE,
    values: [upTo, MAX_ROWS],
  });
  const [range] = rows;
  if (!range) return { seals: [], isDone: true };
  const sealed = await client.query<Sealed['seals'][number]>({ text: SEAL, values: [range.from, range.to] });
  return { seals: sealed.rows, isDone: range.isDone };
}

const NEXT_RANGE = `
with locked as (select sealed_to from audit_progress where sealed_to < $1::bigint for update)
select sealed_to::text as "from", least(sealed_to + $2::int, $1::bigint)::text as "to", sealed_to + $2::int >= $1::bigint as "isDone" from locked`;

// The times of seals rise with their numbers, however wrong the clocks of the rows are, because retention depends on them.
const SEAL = `
with content as materialized (
  select r.tenant_id, max(r.seq) as to_seq, count(*)::int as row_count, max(r.created_at) as newest_at, ${CONTENT_HASH} as content_hash
  from audit_record r where r.seq > $1::bigint and r.seq <= $2::bigint group by r.tenant_id
),
next as (
  select c.tenant_id, coalesce(s.number, 0) + 1 as number, coalesce(s.to_seq, 0) as from_seq, c.to_seq, c.row_count, c.content_hash, s.hash as previous,
    date_trunc('milliseconds', greatest(s.newest_at, least(c.newest_at, now()))) as newest_at
  from content c left join lateral (
    select number, to_seq, hash, newest_at from audit_seal s where s.tenant_id = c.tenant_id order by number desc limit 1) s on true
),
moved as (update audit_progress set sealed_to = $2::bigint),
sealed as (
  insert into audit_seal (tenant_id, number, from_seq, to_seq, row_count, newest_at, content_hash, hash)
  select tenant_id, number, from_seq, to_seq, row_count, newest_at, content_hash, ${hashOf('next', 'previous', { hasTime: true })}
  from next returning tenant_id, number, hash
)
select tenant_id as "tenantID", number, encode(hash, 'hex') as hash from sealed`;

export interface SealCheck {
  number: number;
  rowCount: number;
  isIntact: boolean;
  /** Whether its rows were deleted at the end of their retention. Only the first seal of a tenant may be retired. */
  isRetired: boolean;
  newestAt: Date;
}

/** Retention of entries: the default, the shortest and the longest that a tenant may set. */
export interface TrailRetention {
  auditMs: number;
  minAuditMs: number;
  maxAuditMs: number;
}

interface SealRange {
  tenantID: string;
  /** Only seals with a higher number. */
  after: number;
  limit: number;
}

/** Checks some seals of a tenant, in order: each against its rows and the seal before it. */
export async function checkSeals(
  pool: Pool,
  { tenantID, after, limit }: SealRange,
  { auditMs, maxAuditMs }: Omit<TrailRetention, 'minAuditMs'>,
): Promise<SealCheck[]> {
  const values = [tenantID, after, limit, auditMs / 1000, maxAuditMs / 1000];
  const { rows } = await pool.query<SealCheck>({ text: CHECK, values });
  return rows;
}

// The shortest retention that the tenant had since the seal was retired: the current one, or an earlier one, which the trail has as a
// change of the tenant. The hour is a tolerance for clocks that differ.
const RETENTION_SECS = `
select least(min(coalesce(days * 86400, $4::float8)), $5::float8) from (
  select audit_days::float8 as days from tenant where id = $1
  union all
  select (r.details #>> '{changes,auditDays,from}')::float8 from audit_record r
  where r.tenant_id = $1 and r.asset_id = $1 and r.kind = 'change' and r.details #> '{changes,auditDays}' is not null
    and r.created_at > p.retired_at - interval '1 hour') as set_days`;

// A first seal is number 1, or was retired: without rows, and old enough.
const CHECK = `
with part as (
  select s.*, lag(s.hash) over w as previous, lag(s.to_seq) over w as previous_to, lag(s.number) over w as before
  from audit_seal s where s.tenant_id = $1 and s.number >= $2::int window w as (order by s.number) order by s.number limit $3::int + 1
)
select p.number, p.row_count as "rowCount", p.newest_at as "newestAt", p.retired_at is not null as "isRetired",
  p.hash in (${hashOf('p', 'coalesce(p.previous, p.previous_hash)', { hasTime: true })}, ${hashOf('p', 'coalesce(p.previous, p.previous_hash)', { hasTime: false })})
  and case
    when p.retired_at is null then c.n = p.row_count and c.content_hash = p.content_hash
      and coalesce(p.before, 0) = p.number - 1 and coalesce(p.previous_to, 0) = p.from_seq
    else p.before is null and not exists (select from audit_record r where r.tenant_id = $1 and r.seq <= p.to_seq)
      and p.retired_at <= now() and p.newest_at < p.retired_at - make_interval(secs => (${RETENTION_SECS}))
  end as "isIntact"
from part p cross join lateral (
  select count(*)::int as n, ${CONTENT_HASH} as content_hash
  from audit_record r where r.tenant_id = $1 and r.seq > p.from_seq and r.seq <= p.to_seq) c
where p.number > $2::int
order by p.number`;
