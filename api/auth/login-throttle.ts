import { hash } from 'node:crypto';
import { AppError } from '#shared/core/errors.ts';
import type { Backplane, Limiter } from '#shared/messaging/backplane/index.ts';

export interface LoginThrottle {
  /** Counts an attempt of one network, on all accounts together. */
  limitNetwork(network: string): Promise<void>;
  /**
   * Counts an attempt on one account: of this network, and if no user has signed in to the account from it, of all such
   * networks together.
   */
  limitAccount(attempt: Attempt): Promise<void>;
  /** Forgets the failed attempts after a right password. */
  forgive(attempt: Pick<Attempt, 'email' | 'network'>): Promise<void>;
}

interface Attempt {
  email: string;
  network: string;
  /** Whether a user has signed in to the account from this network before. */
  isKnownHere: boolean;
}

/**
 * Counts before the password is checked, so that many attempts at once do not slip through. A flood from many networks locks an
 * account for new networks only: on a network where its owner has signed in before, the account's own limit does not apply.
 * `realm` separates the counts of operators from those of users. `perNetwork`: attempts of a network in 15 minutes, right ones too.
 */
export function createLoginThrottle(backplane: Backplane, { realm = 'login', perNetwork = 30 } = {}): LoginThrottle {
  const whenAway = 'refuse';
  const byNetwork = backplane.limiter({ name: `${realm}.network`, points: perNetwork, seconds: 15 * 60, whenAway });
  const byPair = backplane.limiter({ name: `${realm}.pair`, points: 10, seconds: 30 * 60, whenAway });
  const byAccount = backplane.limiter({ name: `${realm}.account`, points: 100, seconds: 60 * 60, whenAway });

  return {
    limitNetwork: (network) => limit(byNetwork, network),
    async limitAccount({ email, network, isKnownHere }) {
      await limit(byPair, pairOf(email, network));
      if (!isKnownHere) await limit(byAccount, digest(email));
    },
    forgive: ({ email, network }) => byPair.reset(pairOf(email, network)),
  };
}

async function limit(limiter: Limiter, key: string): Promise<void> {
  const { allowed, resetSeconds } = await limiter.consume(key);
  if (!allowed)
    throw new AppError('RATE_LIMITED', 'Too many attempts to sign in', {
      retryAfter: Math.max(resetSeconds, 1),
      reason: 'sign-in',
    });
}

function pairOf(email: string, network: string): string {
  return `${digest(email)}.${network}`;
}

/** A digest: of fixed length, and the store holds no e-mail address. */
function digest(email: string): string {
  return hash('sha256', email).slice(0, 32);
}
