import cors from 'cors';
import type { RequestHandler } from 'express';

const exposedHeaders = [
  'x-request-id',
  'etag',
  'retry-after',
  'idempotency-replayed',
  'preference-applied',
  'ratelimit-policy',
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
];

/**
 * Pages of the origins on the list may call, with credentials; for others we say nothing, and their browser keeps the response
 * from them. Webhooks carry no credentials of ours and may come from anywhere.
 */
export function crossOrigin(origins: readonly string[]): RequestHandler {
  const listed = cors({ origin: [...origins], credentials: true, exposedHeaders, maxAge: 600 });
  const any = cors({ origin: '*', maxAge: 600 });
  return (request, response, next) => (request.path.startsWith('/webhooks/') ? any : listed)(request, response, next);
}
