import { hash } from 'node:crypto';
import type { Request, Response } from 'express';
import type { EntityManager } from '#shared/db/orm.ts';
import { inEntityTransaction, onEntities } from '#shared/db/query.ts';
import { AppError } from '#shared/errors.ts';
import { claimKey, type IdempotencyClaim, type StoredAnswer, storeAnswer } from '#shared/idempotency.ts';
import type { Route } from './route.ts';
import { refuseTooDeep } from './validate.ts';

/** In the place of the tenant for requests outside every tenant. */
export const noTenant = '00000000-0000-0000-0000-000000000000';

const longestKey = 255;

/** What the request's `Idempotency-Key` claims; undefined without one, and on routes that do not honour it. */
export function readClaim(
  route: Route,
  principal: string,
  { request, response }: { request: Request; response: Response },
): IdempotencyClaim | undefined {
  const key = request.get('idempotency-key');
  if (!route.idempotent || key === undefined) return undefined;
  if (key === '' || key.length > longestKey)
    throw new AppError('VALIDATION_ERROR', `Idempotency-Key: must have 1 to ${longestKey} characters`);
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
    // Also for what the handler locks: nobody waits for longer.
    await query("set local lock_timeout = '10s'", []);
    const earlier = await claimKey(query, tenantID, claim, notYet).catch(giveUp);
    if (earlier) return earlier;
    const answer = await work();
    await em.flush();
    await storeAnswer(query, tenantID, claim, answer);
    return answer;
  });
}

/** Nobody sees it: it is overwritten before the transaction ends. */
const notYet: StoredAnswer = { status: 0, response: {} };

function giveUp(error: unknown): never {
  const isTimeout = error instanceof Error && 'code' in error && error.code === LOCK_NOT_AVAILABLE;
  if (!isTimeout) throw error;
  const message = 'The earlier request with this Idempotency-Key has not finished';
  throw new AppError('UNAVAILABLE', message, { cause: error, retryAfter: 5 });
}

const LOCK_NOT_AVAILABLE = '55P03';
