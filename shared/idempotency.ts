import type { Query } from './db/query.ts';
import { AppError } from './errors.ts';
import type { JsonObject } from './json.ts';

/** An `Idempotency-Key` with its principal and route, and a digest of its request. */
export interface IdempotencyClaim {
  principal: string;
  route: string;
  key: string;
  requestHash: string;
  /** Called when the answer is that of an earlier request. */
  onReplay?(): void;
}

export interface StoredAnswer {
  status: number;
  response: JsonObject;
}

/**
 * Stores the key with its answer, or returns the answer that was stored with it earlier. Waits for a transaction that holds
 * the key; the same key with another request is a CONFLICT.
 */
export async function claimKey(
  query: Query,
  tenantID: string,
  claim: IdempotencyClaim,
  answer: StoredAnswer,
): Promise<StoredAnswer | null> {
  const { principal, route, key, requestHash } = claim;
  const values = [tenantID, principal, route, key, requestHash, answer.status, JSON.stringify(answer.response)];
  const { rowCount } = await query(CLAIM, values);
  if (rowCount === 1) return null;
  const { rows } = await query<StoredAnswer & { request_hash: string }>(READ, [tenantID, principal, route, key]);
  const earlier = rows[0];
  if (!earlier)
    throw new AppError('UNAVAILABLE', 'The earlier request with this Idempotency-Key has not finished', {
      retryAfter: 1,
    });
  if (earlier.request_hash !== requestHash)
    throw new AppError('CONFLICT', 'This Idempotency-Key was used with a different request');
  claim.onReplay?.();
  return { status: earlier.status, response: earlier.response };
}

/** Stores an answer that was not known when the key was claimed; in the same transaction. */
export async function storeAnswer(
  query: Query,
  tenantID: string,
  { principal, route, key }: IdempotencyClaim,
  { status, response }: StoredAnswer,
): Promise<void> {
  await query(STORE, [tenantID, principal, route, key, status, JSON.stringify(response)]);
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

const CLAIM = `
insert into idempotency (tenant_id, principal, route, key, request_hash, status, response, expires_at)
values ($1, $2, $3, $4, $5, $6, $7, now() + interval '24 hours')
on conflict (tenant_id, principal, route, key) do update
  set request_hash = excluded.request_hash, status = excluded.status, response = excluded.response, expires_at = excluded.expires_at
  where idempotency.expires_at < now()`;

const READ = `
select request_hash, status, response from idempotency where tenant_id = $1 and principal = $2 and route = $3 and key = $4`;

const STORE = `
update idempotency set status = $5, response = $6 where tenant_id = $1 and principal = $2 and route = $3 and key = $4`;
