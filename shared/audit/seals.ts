import type { Pool, PoolClient } from '../db/pool.ts';

/** The hash of a row, as it stands in the table. Text of jsonb is the same for equal values. */
const ROW_HASH = `sha256(convert_to(jsonb_build_array(r.seq, r.id, r.kind, r.entry_id, r.type, r.action, r.user_id, r.api_key_id, r.path, r.asset_type, r.asset_id,
  r.status, r.duration_ms, r.details, extract(epoch from r.created_at))::text, 'UTF8'))`;
const CONTENT_HASH = `sha256(coalesce(string_agg(${ROW_HASH}, ''::bytea order by r.seq), ''::bytea))`;

/** Seals rows of all tenants up to a place in the trail. */
export async function sealUpTo(
  client: PoolClient,
  upTo: string,
): Promise<{ tenantID: string; number: number; hash: string }[]> {
  const { rows } = await client.query<{ tenantID: string; number: number; hash: string }>({
    text: SEAL,
    values: [upTo],
  });
  return rows;
}

// The lock keeps a second process from sealing the same rows.
const SEAL = `
with progress as (select sealed_to from audit_progress for update),
content as materialized (
  select r.tenant_id, min(r.seq) - 1 as from_seq, max(r.seq) as to_seq, count(*)::int as row_count, max(r.created_at) as newest_at,
    ${CONTENT_HASH} as content_hash
  from audit_record r where r.seq > (select sealed_to from progress) and r.seq <= $1::bigint group by r.tenant_id
),
next as (
  select c.*, coalesce(s.number, 0) + 1 as number, coalesce(s.to_seq, 0) as after_seq, s.hash as previous
  from content c left join lateral (
    select number, to_seq, hash from audit_seal s where s.tenant_id = c.tenant_id order by number desc limit 1) s on true
),
moved as (update audit_progress set sealed_to = greatest(sealed_to, $1::bigint) where sealed_to < $1::bigint),
sealed as (
  insert into audit_seal (tenant_id, number, from_seq, to_seq, row_count, newest_at, content_hash, hash)
  select tenant_id, number, after_seq, to_seq, row_count, newest_at, content_hash,
    sha256(coalesce(previous, ''::bytea) || int4send(number) || int8send(after_seq) || int8send(to_seq) || int4send(row_count) || content_hash)
  from next returning tenant_id, number, hash
)
select tenant_id as "tenantID", number, encode(hash, 'hex') as hash from sealed`;

export interface SealCheck {
  number: number;
  rowCount: number;
  isIntact: boolean;
  newestAt: Date;
}

/** Checks some seals of a tenant, in order: each against its rows and the seal before it. */
export async function checkSeals(pool: Pool, tenantID: string, after: number, limit: number): Promise<SealCheck[]> {
  const { rows } = await pool.query<SealCheck>({ text: CHECK, values: [tenantID, after, limit] });
  return rows;
}

// The first seal that is still there follows one that was deleted with its rows: what it continues is taken from itself.
const CHECK = `
with part as (
  select s.*, lag(s.hash) over w as previous, lag(s.to_seq) over w as previous_to, lag(s.number) over w as previous_number
  from audit_seal s where s.tenant_id = $1 and s.number >= $2::int window w as (order by s.number) order by s.number limit $3::int + 1
)
select p.number, p.row_count as "rowCount", p.newest_at as "newestAt",
  (c.n = p.row_count and c.content_hash = p.content_hash
    and (p.previous is null or (p.previous_number = p.number - 1 and p.previous_to = p.from_seq))
    and (p.previous is null and p.number > 1 or
      p.hash = sha256(coalesce(p.previous, ''::bytea) || int4send(p.number) || int8send(p.from_seq) || int8send(p.to_seq) || int4send(p.row_count) || p.content_hash))
  ) as "isIntact"
from part p cross join lateral (
  select count(*)::int as n, ${CONTENT_HASH} as content_hash
  from audit_record r where r.tenant_id = $1 and r.seq > p.from_seq and r.seq <= p.to_seq) c
where p.number > $2::int
order by p.number`;
