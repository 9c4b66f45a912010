import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Request, Response } from 'express';
import { CountMap } from '#shared/core/count-map.ts';
import { AppError, type ErrorCode, reviveError, toWireError, WireError } from '#shared/core/errors.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import { createThrottledWarning } from '#shared/core/throttled-warning.ts';
import type { RowEviction } from '#shared/db/evict-oldest.ts';
import {
  claimKey,
  createResponseEviction,
  forgetKey,
  type IdempotencyClaim,
  NOT_STORED,
  notStored,
  notYet,
  type StoredResponse,
  storeResponse,
  whenKeyIsFree,
} from '#shared/db/idempotency.ts';
import type { Pool } from '#shared/db/pool.ts';
import { inEntityTransaction, onEntities, onPool } from '#shared/db/query.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { refuseTooDeep } from '../request/validate.ts';
import type { Route } from '../route/route.ts';

/** The tenant id that keys have in requests outside every tenant. */
export const noTenant = '00000000-0000-0000-0000-000000000000';

const maxKeyLength = 255;

export const REPLAYED = 'idempotency-replayed';

/** State of a process for keys: requests that wait, and the eviction of stored responses. */
export interface Keys {
  waits: KeyWaits;
  finalCodes: RowEviction;
}

export function createKeys(pool: Pool, logger: Logger): Keys {
  return { waits: createKeyWaits(), finalCodes: createResponseEviction(pool, createThrottledWarning(logger)) };
}

/** The claim of a request's `Idempotency-Key`; undefined without one, and on routes that do not honour it. */
export function readClaim(
  route: Route,
  principal: string,
  { request, response, tenantID, keys }: { request: Request; response: Response; tenantID: string; keys: Keys },
): IdempotencyClaim | undefined {
  const key = request.get('idempotency-key');
  if (!route.idempotent || key === undefined) return undefined;
  if (key === '' || key.length > maxKeyLength)
    throw new AppError(
      'VALIDATION_ERROR',
      `Idempotency-Key: expected 1 to ${maxKeyLength} characters, received ${key.length}`,
    );
  const body = refuseTooDeep(() => JSON.stringify(request.body ?? null));
  return {
    principal,
    route: `${route.method} ${route.path}`,
    key,
    requestHash: hash('sha256', `${withoutWait(request.originalUrl)}\n${body}`, 'base64'),
    onReplay: () => response.setHeader(REPLAYED, 'true'),
    onStored: (bytes) => void keys.finalCodes.wrote(tenantID, bytes),
    pause: keys.waits.begin(principal, response),
  };
}

/**
 * The address without `wait`: a client that repeats a request may wait another time for its end, and it is the same
 * request.
 */
function withoutWait(url: string): string {
  const [path, query] = url.split('?', 2);
  const rest = query?.split('&').filter((field) => !/^wait(?:=|$)/.test(field));
  return rest?.length ? `${path}?${rest.join('&')}` : String(path);
}

const MAX_WAIT_MS = 30_000;
const MAX_WAITING = 20;

/** Requests of this process that wait for an earlier one with the same key. */
export interface KeyWaits {
  begin(principal: string, response: Pick<Response, 'destroyed'>): () => Promise<void>;
}

/** Limits the wait in time, and in number for each principal: every waiting request asks Postgres twice a second. */
export function createKeyWaits(maxWaitMs = MAX_WAIT_MS): KeyWaits {
  const waiting = new CountMap();

  async function pause(principal: string, ms: number): Promise<void> {
    if (waiting.of(principal) >= MAX_WAITING) throw notFinished();
    waiting.add(principal, 1);
    await sleep(ms);
    waiting.add(principal, -1);
  }

  return {
    begin(principal, response) {
      const end = performance.now() + maxWaitMs;
      let ms = 25;
      return async () => {
        const left = end - performance.now();
        if (left <= 0 || response.destroyed) throw notFinished();
        await pause(principal, Math.min(ms, left));
        ms = Math.min(ms * 2, 500);
      };
    },
  };
}

function notFinished(): AppError {
  return new AppError(
    'UNAVAILABLE',
    'The earlier request with this Idempotency-Key is still running, or its server process has ended; retry later',
    { retryAfter: 5 },
  );
}

/**
 * Runs the work of a route in one transaction with its key, so that they happen together or not at all. An error rolls both
 * back: the next request with the key starts afresh.
 */
export async function runOnce(
  em: EntityManager,
  { tenantID, claim }: { tenantID: string; claim: IdempotencyClaim | undefined },
  work: () => Promise<StoredResponse>,
): Promise<StoredResponse> {
  if (!claim) return inEntityTransaction(em, work);
  let isReplay = false;
  const outcome = await whenKeyIsFree(claim, () =>
    inEntityTransaction(em, async () => {
      const query = onEntities(em);
      // This also limits how long the handler waits for locks.
      await query("set local lock_timeout = '10s'", []);
      const claimed = await claimKey(query, tenantID, claim, notYet);
      if (claimed === 'underWay') return claimed;
      isReplay = claimed !== 'claimed';
      if (claimed !== 'claimed') return claimed;
      const result = await work();
      await em.flush();
      await storeResponse(query, tenantID, claim, result);
      return result;
    }),
  );
  if (isReplay) claim.onReplay();
  return outcome;
}

/**
 * For work whose effect is outside of our database: the key is written first, so the work never begins twice. When nothing can
 * have begun, the next request with the key starts afresh; a response with an error is stored and repeated; if the outcome is unknown,
 * every request with the key is told so.
 */
export async function runAtMostOnce(
  { pool, secrets }: { pool: Pool; secrets: KeyRing },
  { tenantID, claim }: { tenantID: string; claim: IdempotencyClaim | undefined },
  work: () => Promise<StoredResponse>,
): Promise<StoredResponse> {
  if (!claim) return work();
  const query = onPool(pool);
  const claimed = await whenKeyIsFree(claim, () => claimKey(query, tenantID, claim, notYet));
  const context = contextOf(tenantID, claim);
  if (claimed !== 'claimed') return replayed(opened(claimed, { secrets, context }), claim);
  try {
    const result = await work();
    await storeResponse(query, tenantID, claim, sealed(result, { secrets, context }));
    return result;
  } catch (error) {
    if (hasNotBegun(error)) await forgetKey(query, tenantID, claim);
    else await storeResponse(query, tenantID, claim, sealed(endOf(error), { secrets, context }));
    throw error;
  }
}

/** The status that is stored without a response if the outcome is unknown. */
const UNKNOWN = 504;
const MAX_STORED = 1024 * 1024;

interface SealContext {
  secrets: KeyRing;
  context: string;
}

function contextOf(tenantID: string, { principal, route, key }: IdempotencyClaim): string {
  return `idempotency:${[tenantID, principal, route, key].map(encodeURIComponent).join('/')}`;
}

/**
 * Seals a response, since it is data of the tenant. An older process, which does not read the sealed column, finds that
 * it was not stored.
 */
function sealed({ status, response }: StoredResponse, { secrets, context }: SealContext): StoredResponse {
  if (status === UNKNOWN) return { status, response: {} };
  const text = JSON.stringify({ status, response });
  const isStored = Buffer.byteLength(text) <= MAX_STORED;
  return { status: NOT_STORED, response: {}, sealed: isStored ? secrets.seal(text, context) : null };
}

/** Opens a stored response. If its key is no longer in `SECRETS_KEYS`, the response counts as not stored. */
function opened(stored: StoredResponse, { secrets, context }: SealContext): StoredResponse {
  if (!stored.sealed) return stored;
  try {
    return JSON.parse(secrets.open(stored.sealed, context));
  } catch {
    return { status: NOT_STORED, response: {} };
  }
}

function replayed({ status, response }: StoredResponse, claim: IdempotencyClaim): StoredResponse {
  if (status < 400 || response.error !== undefined) {
    claim.onReplay();
    if (status < 400) return { status, response };
    throw reviveError(WireError.parse(response.error));
  }
  if (status === NOT_STORED) throw notStored();
  throw new AppError(
    'CONFLICT',
    'How the earlier request with this Idempotency-Key ended is unknown: look before you try again, with another key',
  );
}

/** The response to a later request with the same key. */
function endOf(error: unknown): StoredResponse {
  if (!(error instanceof AppError && answers.has(error.code))) return { status: UNKNOWN, response: {} };
  return { status: error.status, response: { error: toWireError(error) } };
}

/** Codes of errors that are the outcome of work which was done. */
const answers: ReadonlySet<ErrorCode> = new Set(['DB_ERROR', 'PAYLOAD_TOO_LARGE']);

function hasNotBegun(error: unknown): boolean {
  if (!(error instanceof AppError)) return false;
  const { begun, reason, sent } = (error.details ?? {}) as { begun?: unknown; reason?: unknown; sent?: unknown };
  if (begun === true || sent === true) return false;
  return (
    begun === false ||
    codesBeforeWork.has(error.code) ||
    (error.code === 'UPSTREAM_FAILED' && reasonsBeforeWork.has(reason))
  );
}

/** Codes of errors before any work began; the same codes later have `details.begun` or `details.sent`. */
const codesBeforeWork: ReadonlySet<ErrorCode> = new Set([
  'VALIDATION_ERROR',
  'INVALID_REQUEST',
  'NOT_FOUND',
  'SCHEMA_NOT_FOUND',
  'PERMISSION_DENIED',
  'CONFLICT',
  'RATE_LIMITED',
  'QUOTA_EXCEEDED',
  'UNAVAILABLE',
]);

/** `details.reason` of servers that could not be reached. */
const reasonsBeforeWork: ReadonlySet<unknown> = new Set([
  'unreachable',
  'authentication',
  'not-found',
  'tls',
  'busy',
  'refused',
  'not-allowed',
]);
