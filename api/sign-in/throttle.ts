import { hash } from 'node:crypto';
import { AppError } from '#shared/core/errors.ts';
import type { Backplane, Limiter } from '#shared/messaging/backplane/index.ts';
import { createLoginThrottle, type LoginThrottle } from '../auth/login-throttle.ts';

/** An office of some hundred people may sign in at nine, from one address. */
const PER_NETWORK = 300;

export interface SignInThrottle {
  passwords: LoginThrottle;
  /** Counts a code of a second factor that one account was given, before it is checked. */
  limitCode(accountID: string): Promise<void>;
  /** Counts a sign-in or sign-out that is begun, for which a row is stored. */
  limitStart(network: string): Promise<void>;
  /** Counts an app that registers, for which a row is stored. */
  limitRegistration(network: string): Promise<void>;
  /** Counts an answer with a passkey, right ones too. */
  limitPasskey(network: string): Promise<void>;
  /** Counts a use of a link. */
  limitLink(network: string): Promise<void>;
  /** Whether one more mail may go to this address now. */
  mayMail(email: string, network: string): Promise<boolean>;
}

/** All processes count together, and an attempt that cannot be counted is refused. */
export function createSignInThrottle(backplane: Backplane): SignInThrottle {
  const limiter = (name: string, points: number, seconds: number) =>
    backplane.limiter({ name: `signin.${name}`, points, seconds, whenAway: 'refuse' });
  const codes = limiter('code', 10, 15 * 60);
  const starts = limiter('start', 300, 5 * 60);
  const registrations = limiter('registration', 20, 60 * 60);
  const passkeys = limiter('passkey', PER_NETWORK, 15 * 60);
  const links = limiter('link', 60, 15 * 60);
  const mails = limiter('mail', 3, 60 * 60);
  const mailsOfNetwork = limiter('mails', 30, 60 * 60);

  return {
    passwords: createLoginThrottle(backplane, { realm: 'signin', perNetwork: PER_NETWORK }),
    limitCode: (accountID) => limit(codes, accountID),
    limitStart: (network) => limit(starts, network),
    limitRegistration: (network) => limit(registrations, network),
    limitPasskey: (network) => limit(passkeys, network),
    limitLink: (network) => limit(links, network),
    async mayMail(email, network) {
      const { allowed } = await mailsOfNetwork.consume(network);
      return allowed && (await mails.consume(hash('sha256', email).slice(0, 32))).allowed;
    },
  };
}

async function limit(limiter: Limiter, key: string): Promise<void> {
  const { allowed, resetSeconds } = await limiter.consume(key);
  if (!allowed)
    throw new AppError('RATE_LIMITED', 'Too many attempts', {
      retryAfter: Math.max(resetSeconds, 1),
      reason: 'sign-in',
    });
}
