import { runCooperatively } from '#shared/concurrency/cooperative.ts';
import { eventLoop } from '#shared/concurrency/event-loop-scheduler.ts';
import { writing } from '#shared/concurrency/write-json.ts';
import { AppError } from '#shared/core/errors.ts';
import { hasMoreParts, type JsonObject } from '#shared/core/json.ts';
import { LARGE_BYTES } from '../request/body.ts';
import type { RequestContext } from './request-context.ts';

/** Checking or writing a result with more parts takes milliseconds. */
const LARGE_PARTS = 10_000;

export function isLarge(result: unknown): boolean {
  return hasMoreParts(result, LARGE_PARTS);
}

interface SendTimeout {
  /** Time for any response, however slow its client is. */
  leastMs: number;
  bytesPerSecond: number;
}

const sendTimeout: SendTimeout = { leastMs: 30_000, bytesPerSecond: 100_000 };

type Sending = Pick<RequestContext, 'request' | 'response' | 'reserved'>;

/**
 * Sends a response of JSON. A large text stays reserved in the memory budget of the process until the client has
 * received it.
 */
export async function sendResponse(
  { request, response, reserved }: Sending,
  { status, fields }: { status: number; fields: JsonObject },
  { leastMs, bytesPerSecond } = sendTimeout,
): Promise<void> {
  if (reserved && isLarge(fields)) await eventLoop.yield(reserved.flow);
  const text = await runCooperatively(writing(fields));
  if (text.length > LARGE_BYTES) {
    // A request that has changed something gets its response even if the budget is used up.
    if (reserved && !reserved.bytes.tryReserve(text.length) && request.method === 'GET') throw full(response);
    const stalled = setTimeout(() => response.destroy(), leastMs + (text.length / bytesPerSecond) * 1_000);
    response.once('close', () => clearTimeout(stalled));
  }
  // Not by `send`, which answers 304 to an If-None-Match with the ETag: that is the version for If-Match, and fields beside it change too.
  response.status(status).type('json').end(Buffer.from(text));
}

function full(response: RequestContext['response']): AppError {
  response.removeHeader('etag');
  return new AppError(
    'UNAVAILABLE',
    'Answers that their clients have not taken hold the memory for this one; retry later',
    {
      retryAfter: 5,
    },
  );
}
