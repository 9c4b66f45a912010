import { hash } from 'node:crypto';
import type { Request, Response } from 'express';
import type { EntityManager } from '#shared/db/orm.ts';
import type { Pool } from '#shared/db/pool.ts';
import { inEntityTransaction, onEntities, onPool } from '#shared/db/query.ts';
import { AppError, type ErrorCode, reviveError, toWireError, WireError } from '#shared/errors.ts';
import { claimKey, forgetKey, type IdempotencyClaim, type StoredAnswer, storeAnswer } from '#shared/idempotency.ts';
import type { Route } from './route.ts';
import { refuseTooDeep } from './validate.ts';

/** Takes the place of the tenant in requests outside every tenant. */
export const noTenant = '00000000-0000-0000-0000-000000000000';

const maxKeyLength = 255;

/** The claim of a request's `Idempotency-Key`; undefined without one, and on routes that do not honour it. */
export function readClaim(
  route: Route,
  principal: string,
  { request, response }: { request: Request; response: Response },
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
    requestHash: hash('sha256', `${request.originalUrl}\n${body}`, 'base64'),
    onReplay: () => response.setHeader('idempotency-replayed', 'true'),
  };
}

/**
 * Runs the work of a route in one transaction with its key, so that they happen together or not at all. An error rolls both
 * back: the next request with the key starts afresh.
 */
export async function answerOnce(
  em: EntityManager,
  { tenantID, claim }: { tenantID: string; claim: IdempotencyClaim | undefined },
  work: () => Promise<StoredAnswer>,
): Promise<StoredAnswer> {
  return inEntityTransaction(em, async () => {
    if (!claim) return work();
    const query = onEntities(em);
    // Also limits the waits for locks of the handler.
    await query("set local lock_timeout = '10s'", []);
    const earlier = await claimKey(query, tenantID, claim, notYet).catch(giveUp);
    if (earlier) return earlier;
    const answer = await work();
    await em.flush();
    await storeAnswer(query, tenantID, claim, answer);
    return answer;
  });
}

/** Visible to other requests only where the work is outside of the transaction. */
const notYet: StoredAnswer = { status: 0, response: {} };

/**
 * For work whose effect is outside of our database: the key is written first, so the work never begins twice. When nothing can
 * have begun, the next request with the key starts afresh; an error answer is stored and repeated; if the outcome is unknown,
 * every request with the key is told so.
 */
export async function answerAtMostOnce(
  pool: Pool,
  { tenantID, claim }: { tenantID: string; claim: IdempotencyClaim | undefined },
  work: () => Promise<StoredAnswer>,
): Promise<StoredAnswer> {
  if (!claim) return work();
  const query = onPool(pool);
  const earlier = await claimKey(query, tenantID, claim, notYet);
  if (earlier) return replayed(earlier);
  try {
    const answer = await work();
    await storeAnswer(query, tenantID, claim, keepable(answer));
    return answer;
  } catch (error) {
    if (hasNotBegun(error)) await forgetKey(query, tenantID, claim);
    else await storeAnswer(query, tenantID, claim, keepable(endOf(error)));
    throw error;
  }
}

/** Stored in the place of a status, without an answer: the outcome is unknown. */
const UNKNOWN = 504;
const NOT_KEPT = 413;
const MAX_KEPT = 1024 * 1024;

/** Postgres accepts neither NUL nor lone surrogates in JSON. */
const unstorable = /\\u(?:0000|d[89a-f])/;

function keepable(answer: StoredAnswer): StoredAnswer {
  const text = JSON.stringify(answer.response);
  const isKept = Buffer.byteLength(text) <= MAX_KEPT && !unstorable.test(text);
  return isKept ? answer : { status: NOT_KEPT, response: {} };
}

function replayed(earlier: StoredAnswer): StoredAnswer {
  const { status, response } = earlier;
  if (status === notYet.status)
    throw new AppError(
      'UNAVAILABLE',
      'The earlier request with this Idempotency-Key is still running, or its server process has ended; retry later',
      { retryAfter: 5 },
    );
  if (status < 400) return earlier;
  if (response.error !== undefined) throw reviveError(WireError.parse(response.error));
  if (status === NOT_KEPT)
    throw new AppError('CONFLICT', 'The earlier request with this Idempotency-Key is done; its answer was not kept');
  throw new AppError(
    'CONFLICT',
    'How the earlier request with this Idempotency-Key ended is unknown: look before you try again, with another key',
  );
}

/** The answer to a later request with the same key. */
function endOf(error: unknown): StoredAnswer {
  if (!(error instanceof AppError && answers.has(error.code))) return { status: UNKNOWN, response: {} };
  return { status: error.status, response: { error: toWireError(error) } };
}

/** The work was done; this is its outcome. */
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

function giveUp(error: unknown): never {
  const isTimeout = error instanceof Error && 'code' in error && error.code === LOCK_NOT_AVAILABLE;
  if (!isTimeout) throw error;
  const message = 'The earlier request with this Idempotency-Key has not finished';
  throw new AppError('UNAVAILABLE', message, { cause: error, retryAfter: 5 });
}

const LOCK_NOT_AVAILABLE = '55P03';
