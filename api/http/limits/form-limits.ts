import { AppError } from '#shared/core/errors.ts';
import type { Backplane, Limiter } from '#shared/messaging/backplane/index.ts';
import { networkOf } from '../../auth/network.ts';

/** The purpose of a request to a form. Programs that look into mails open every link, and must not use up the requests of the answer. */
export type FormUse = 'read' | 'answer';

/** Counts requests to forms, whose callers do not sign in. All API processes count together. */
export interface FormLimits {
  /** Counts every request of one network, so that links cannot be guessed and nothing is computed for a flood. */
  countNetwork(use: FormUse, address: string | undefined): Promise<void>;
  /** Counts the requests with one link, from any network. */
  countLink(use: FormUse, collectionRequestID: string): Promise<void>;
}

const seconds = 60;
const PER_NETWORK = 120;
const PER_LINK = 30;

export function createFormLimits(backplane: Backplane): FormLimits {
  // Without the store each process counts alone, so that people can still answer; a link is too long to be guessed anyway.
  const whenAway = 'countHere';
  const limiters = (use: FormUse) => ({
    networks: backplane.limiter({ name: `form.${use}.network`, points: PER_NETWORK, seconds, whenAway }),
    links: backplane.limiter({ name: `form.${use}.link`, points: PER_LINK, seconds, whenAway }),
  });
  const uses = { read: limiters('read'), answer: limiters('answer') };
  return {
    countNetwork: (use, address = '') => count(uses[use].networks, networkOf(address)),
    countLink: (use, collectionRequestID) => count(uses[use].links, collectionRequestID),
  };
}

async function count(limiter: Limiter, key: string): Promise<void> {
  const { allowed, resetSeconds } = await limiter.consume(key);
  if (!allowed)
    throw new AppError('RATE_LIMITED', 'Too many requests to forms', {
      retryAfter: Math.max(resetSeconds, 1),
      reason: 'forms',
    });
}
