import type { Response } from 'express';
import type { Backplane } from '#shared/backplane/index.ts';
import { AppError } from '#shared/errors.ts';

/** Counts a request of an API key and sends the remaining number in headers; throws RATE_LIMITED above the limit. */
export type CountRequest = (apiKeyID: string, response: Response) => Promise<void>;

const seconds = 60;

/** All API processes count together; while the store is away, each counts for itself. */
export function createRequestCount(backplane: Backplane, perMinute: number): CountRequest {
  if (perMinute === 0) return async () => undefined;
  const limiter = backplane.limiter({ name: 'apikey.requests', points: perMinute, seconds, whenAway: 'countHere' });

  return async (apiKeyID, response) => {
    const { allowed, limit, remaining, resetSeconds } = await limiter.consume(apiKeyID);
    response.setHeader('RateLimit-Policy', `${limit};w=${seconds}`);
    response.setHeader('RateLimit-Limit', limit);
    response.setHeader('RateLimit-Remaining', remaining);
    response.setHeader('RateLimit-Reset', resetSeconds);
    if (!allowed)
      throw new AppError('RATE_LIMITED', `An API key may make ${limit} requests a minute`, {
        retryAfter: Math.max(resetSeconds, 1),
      });
  };
}
