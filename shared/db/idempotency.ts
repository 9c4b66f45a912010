import { AppError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import type { Warn } from '../core/throttled-warning.ts';
import { createRowEviction, type EvictionLimits, type RowEviction } from './evict-oldest.ts';
import type { Pool } from './pool.ts';
import type { Query } from './query.ts';

/** An `Idempotency-Key` with its principal and route, and a digest of its request. */
export interface IdempotencyClaim {
  principal: string;
  route: string;
  key: string;
  requestHash: string;
  /** Called when the answer is that of an earlier request. */
  onReplay(): void;
  /** Called with the bytes of the answer that was stored with the key. */
  onStored(bytes: number): void;
  /** Called while an earlier request with the key is at work: resolves when it is time to try again, rejects when it took too long. */
  pause(): Promise<void>;
}

export interface StoredResponse {
  status: number;
  response: JsonObject;
  /** The sealed status and response, instead of those in clear, if a server of the tenant has sent them. */
  sealed?: string | null;
}

/** Stored instead of a response while the work goes on. Other requests see it only if the claim is committed before the work. */
export const notYet: StoredResponse = { status: 0, response: {} };

/** The status of a response that is not stored, or stored sealed. */
export const NOT_STORED = 413;

export function notStored(): AppError {
  return new AppError('CONFLICT', 'The earlier request with this Idempotency-Key is done; its answer was not kept');
}

/** The result of a claim: the key belongs to this request, an earlier request with it is still at work, or the earlier request's response. */
export type Claimed = 'claimed' | 'underWay' | StoredResponse;

/**
 * Stores the key with its answer, or returns the answer that was stored with it earlier; the same key with another request is a
 * CONFLICT. Never waits for a transaction that has claimed the key, because a waiting statement would occupy its connection.
 */
export async function claimKey(
  query: Query,
  tenantID: string,
  claim: IdempotencyClaim,
  answer: StoredResponse,
): Promise<Claimed> {
  const { principal, route, key, requestHash } = claim;
  const values = [tenantID, principal, route, key, requestHash, answer.status, JSON.stringify(answer.response)];
  const { rowCount } = await query(CLAIM, values);
  if (rowCount === 1) return 'claimed';
  const { rows } = await query<StoredResponse & { request_hash: string }>(READ, [tenantID, principal, route, key]);
  const earlier = rows[0];
  if (!earlier) return 'underWay';
  if (earlier.request_hash !== requestHash)
    throw new AppError('CONFLICT', 'This Idempotency-Key was used with a different request');
  if (earlier.status === notYet.status) return 'underWay';
  const { status, response, sealed = null } = earlier;
  if (status === NOT_STORED && sealed === null) throw notStored();
  return { status, response, sealed };
}

/** Repeats an attempt, which answers `underWay` without doing its work, until no earlier request with the key is at work. */
export async function whenKeyIsFree<T>(claim: IdempotencyClaim, attempt: () => Promise<T | 'underWay'>): Promise<T> {
  for (;;) {
    const outcome = await attempt();
    if (outcome !== 'underWay') return outcome;
    await claim.pause();
  }
}

/** Stores an answer that was not known when the key was claimed; in the same transaction. */
export async function storeResponse(
  query: Query,
  tenantID: string,
  { principal, route, key, onStored }: IdempotencyClaim,
  { status, response, sealed = null }: StoredResponse,
): Promise<void> {
  const text = JSON.stringify(response);
  const bytes = Buffer.byteLength(text) + (sealed?.length ?? 0);
  await query(STORE, [tenantID, principal, route, key, status, text, sealed, bytes]);
  onStored(bytes);
}

/** Deletes the key of a request that is known to have had no effect. */
export async function forgetKey(
  query: Query,
  tenantID: string,
  { principal, route, key }: IdempotencyClaim,
): Promise<void> {
  await query(FORGET, [tenantID, principal, route, key]);
}

const FORGET = `delete from idempotency where tenant_id = $1 and principal = $2 and route = $3 and key = $4`;

// The advisory lock is held until the transaction ends: a second request that cannot get it knows at once that the first is at work.
const CLAIM = `
with turn as (select pg_try_advisory_xact_lock(hashtextextended(concat_ws(' ', $1::uuid, $2::uuid, $3::text, $4::text), 7265003)) as mine)
insert into idempotency (tenant_id, principal, route, key, request_hash, status, response, expires_at)
select $1::uuid, $2::uuid, $3, $4, $5, $6::int, $7::jsonb, now() + interval '24 hours' from turn where mine
on conflict (tenant_id, principal, route, key) do update
  set request_hash = excluded.request_hash, status = excluded.status, response = excluded.response, sealed = null, kept_bytes = null,
    expires_at = excluded.expires_at
  where idempotency.expires_at < now()`;

const READ = `
select request_hash, status, response, sealed from idempotency
where tenant_id = $1 and principal = $2 and route = $3 and key = $4 and expires_at >= now()`;

const STORE = `
update idempotency set status = $5, response = $6, sealed = $7, kept_bytes = $8::int
where tenant_id = $1 and principal = $2 and route = $3 and key = $4`;

/** Limits of a tenant's responses; most are a few hundred bytes, one of a large workflow is 5 MB. */
const LIMITS: EvictionLimits = { maxBytes: 256 * 1024 ** 2, maxRows: 100_000 };

/** Drops the oldest responses of a tenant that has too many. The keys remain stored, so that no work is done twice. */
export function createResponseEviction(pool: Pool, warn: Warn, limits = LIMITS): RowEviction {
  return createRowEviction({ pool, statement: EVICT_RESPONSES, ...limits, warn });
}

export const EVICT_RESPONSES = `
update idempotency set status = ${NOT_STORED}, response = '{}', sealed = null, kept_bytes = null
where ctid = any(array(
  select id from (
    select ctid as id, sum(kept_bytes) over newest as bytes, row_number() over newest as n
    from idempotency where tenant_id = $1 and kept_bytes is not null
    window newest as (order by expires_at desc, ctid rows unbounded preceding)
  ) sized
  where bytes > $2::bigint or n > $3::int)) and kept_bytes is not null`;

/** The scope of keys of the items of a request. Each such key stands for a run. */
interface KeyScope {
  tenantID: string;
  principal: string;
  route: string;
}

/**
 * Stores the keys that are free, each with its run, and returns the runs of keys that were stored before. Waits for concurrent requests that
 * store the same keys; all do so in the same order. A key must not appear twice.
 */
export async function claimRunKeys(
  query: Query,
  { tenantID, principal, route }: KeyScope,
  keys: readonly { key: string; requestHash: string; instanceID: string }[],
): Promise<ReadonlyMap<string, { instanceID: string; requestHash: string }>> {
  const values = [tenantID, principal, route, JSON.stringify(keys)];
  const claimed = new Set((await query<{ key: string }>(CLAIM_RUNS, values)).rows.map(({ key }) => key));
  const others = keys.flatMap(({ key }) => (claimed.has(key) ? [] : [key]));
  if (others.length === 0) return new Map();
  const { rows } = await query<{ key: string; request_hash: string; response: { instanceID: string } }>(READ_RUNS, [
    tenantID,
    principal,
    route,
    JSON.stringify(others),
  ]);
  return new Map(
    rows.map(({ key, request_hash, response }) => [
      key,
      { instanceID: response.instanceID, requestHash: request_hash },
    ]),
  );
}

/** Deletes keys that were stored in the same transaction. */
export async function forgetKeys(
  query: Query,
  { tenantID, principal, route }: KeyScope,
  keys: readonly string[],
): Promise<void> {
  await query(FORGET_ALL, [tenantID, principal, route, JSON.stringify(keys)]);
}

const CLAIM_RUNS = `
insert into idempotency (tenant_id, principal, route, key, request_hash, status, response, expires_at)
select $1::uuid, $2::uuid, $3, r.key, r."requestHash", 200, jsonb_build_object('instanceID', r."instanceID"), now() + interval '24 hours'
from jsonb_to_recordset($4::jsonb) as r(key text, "requestHash" text, "instanceID" uuid)
order by r.key
on conflict (tenant_id, principal, route, key) do update
  set request_hash = excluded.request_hash, status = excluded.status, response = excluded.response, sealed = null, kept_bytes = null,
    expires_at = excluded.expires_at
  where idempotency.expires_at < now()
returning key`;

const OF_KEYS = `tenant_id = $1 and principal = $2 and route = $3 and key = any(array(select jsonb_array_elements_text($4::jsonb)))`;

const READ_RUNS = `select key, request_hash, response from idempotency where ${OF_KEYS}`;

const FORGET_ALL = `delete from idempotency where ${OF_KEYS}`;
