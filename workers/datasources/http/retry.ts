import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '#shared/core/errors.ts';
import { isJsonObject, type JsonObject } from '#shared/core/json.ts';
import type { HTTPRequest, HTTPResponse } from '../../outbound/fetch.ts';
import { saySent } from '../../outbound/upstream-error.ts';
import { MAX_WAIT_MS, retryAfterOf } from './status.ts';

const retried: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const repeatable: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']);

/** Retries a request after a temporary failure, if it is idempotent. */
export async function withRetries(
  request: HTTPRequest,
  retries: number,
  { send, signal }: { send: (request: HTTPRequest) => Promise<HTTPResponse>; signal: AbortSignal },
): Promise<HTTPResponse> {
  const isRepeatable = repeatable.has(request.method) || request.headers?.['idempotency-key'] !== undefined;
  const maxRetries = isRepeatable ? retries : 0;
  /** Whether the server may have received one of the attempts; errors say so. */
  let isSent = false;
  for (let attempt = 0; ; attempt += 1) {
    const outcome: HTTPResponse | undefined = await saySent(isSent, () => send(request)).catch((error: unknown) => {
      if (attempt >= maxRetries || signal.aborted || !temporary.has(detailsOf(error).reason)) throw error;
      isSent ||= !isUnsent(error);
      return undefined;
    });
    isSent ||= outcome !== undefined;
    if (outcome && (attempt >= maxRetries || !retried.has(outcome.status))) return outcome;
    const wait = (outcome && retryAfterOf(outcome)) ?? backoff(attempt);
    // A longer Retry-After is left to the caller, who can decide whether to wait.
    if (outcome && wait > MAX_WAIT_MS) return outcome;
    await pause(wait, signal);
  }
}

function backoff(attempt: number): number {
  return 200 * 2 ** attempt * (1 + Math.random());
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
}

/** Whether the server has received no part of the request. */
function isUnsent(error: unknown): boolean {
  const { reason, sent } = detailsOf(error);
  return sent !== true && (reason === 'unreachable' || reason === 'busy');
}

const temporary: ReadonlySet<unknown> = new Set(['unreachable', 'timeout', 'lost', 'busy']);

function detailsOf(error: unknown): JsonObject {
  return error instanceof AppError && isJsonObject(error.details) ? error.details : {};
}
