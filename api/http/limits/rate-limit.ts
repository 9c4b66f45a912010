import type { Response } from 'express';
import { AppError } from '#shared/core/errors.ts';
import type { Allowance, Backplane, Limiter } from '#shared/messaging/backplane/index.ts';
import type { Identity } from '../../auth/identity.ts';

/** Counts the requests of users and API keys. All API processes count together; while the store is away, each counts for itself. */
export interface RequestCount {
  /** Sends the remaining number in headers; throws RATE_LIMITED above the limit. */
  count(identity: Identity, response: Response): Promise<void>;
  /** Counts an event on a socket as a request of its user. */
  countEvent(userID: string): Promise<void>;
}

interface PerMinute {
  /** 0: no limit. */
  apiKey: number;
  user: number;
}

const seconds = 60;
/**
 * The limit of an API key is exact, since it may protect a server behind it. Users' counts are shared later, so their
 * requests do not wait.
 */
const ADD_EVERY_MS = 500;

export function createRequestCount(backplane: Backplane, perMinute: PerMinute): RequestCount {
  const whenAway = 'countHere';
  const keys = limiterFor(perMinute.apiKey, (points) =>
    backplane.limiter({ name: 'apikey.requests', points, seconds, whenAway }),
  );
  const users = limiterFor(perMinute.user, (points) =>
    backplane.limiter({ name: 'user.requests', points, seconds, whenAway, addEveryMs: ADD_EVERY_MS }),
  );

  return {
    async count({ userID, apiKeyID }, response) {
      const allowance = await (apiKeyID ? keys?.consume(apiKeyID) : users?.consume(userID));
      if (!allowance) return;
      const { limit, remaining, resetSeconds } = allowance;
      response.setHeader('RateLimit-Policy', `${limit};w=${seconds}`);
      response.setHeader('RateLimit-Limit', limit);
      response.setHeader('RateLimit-Remaining', remaining);
      response.setHeader('RateLimit-Reset', resetSeconds);
      require(allowance, apiKeyID ? 'API key' : 'user');
    },
    async countEvent(userID) {
      const allowance = await users?.consume(userID);
      if (allowance) require(allowance, 'user');
    },
  };
}

function limiterFor(points: number, open: (points: number) => Limiter): Limiter | undefined {
  return points === 0 ? undefined : open(points);
}

function require({ allowed, limit, resetSeconds }: Allowance, who: 'API key' | 'user'): void {
  if (!allowed)
    throw new AppError('RATE_LIMITED', `${who === 'user' ? 'A' : 'An'} ${who} may make ${limit} requests a minute`, {
      retryAfter: Math.max(resetSeconds, 1),
      reason: `${who} requests`,
    });
}
