import { z } from 'zod';
import type { Logger } from '#shared/core/logger.ts';
import { notFound, type VerifyToken } from './user-token.ts';

const prefix = 'test:';
/** Issuer of the bypass's users, so that they never equal a user of a real issuer. */
const issuer = 'urn:gantry:test-bypass';
const everyMs = 60_000;

const Email = z.email().max(320);

/** Accepts `test:<email>` in the place of a token. For tests only; other tokens are verified as usual. */
export function bypassing(verify: VerifyToken): VerifyToken {
  return async (token) => {
    if (!token.startsWith(prefix)) return verify(token);
    const email = Email.safeParse(token.slice(prefix.length));
    if (!email.success) throw notFound('A test token is test:<email>', email.error);
    return {
      issuer,
      subject: email.data.toLowerCase(),
      email: email.data,
      isEmailVerified: true,
      firstName: null,
      lastName: null,
    };
  };
}

/** Warns at once and every minute, so that a reader of the log cannot overlook it. */
export function warnOfBypass(logger: Logger): Disposable {
  const warn = () =>
    logger.warn(
      'AUTH_TEST_BYPASS IS ON: every client is signed in as the user it names. This must never run in production',
    );
  warn();
  const timer = setInterval(warn, everyMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
