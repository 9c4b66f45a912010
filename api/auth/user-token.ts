import { hash } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Person } from '#shared/access/account-status.ts';
import { AppError } from '#shared/core/errors.ts';
import { maxEntries } from '#shared/core/lru.ts';
import type { TrustedIssuer } from './trusted-issuer.ts';

/** Answers with the user that a token names; throws the contract's 401 for an expired or invalid token. */
export type VerifyToken = (token: string) => Promise<Person>;

/** Asymmetric algorithms only: with a shared secret, a service that verifies tokens could also sign them. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const clockSkewSeconds = 30;
/** How long the verification of a signature is cached; the times in the token are checked on every request. */
const trustMs = 60_000;
const maxTrusted = 10_000;

/** The clock that the times in a token are compared with. */
const clock = { now: () => Date.now() };

interface Verified {
  person: Person;
  expiresAt: number;
}

export function createTokenVerifier({ issuer, audience, keys, storedAs = issuer }: TrustedIssuer): VerifyToken {
  const trusted = new LRUCache<string, Verified>({
    ...maxEntries(maxTrusted),
    ttl: trustMs,
    ttlResolution: 0,
    perf: clock,
  });

  return async (token) => {
    const digest = hash('sha256', token, 'base64');
    const known = trusted.get(digest);
    if (known) {
      if (known.expiresAt + clockSkewSeconds * 1_000 <= Date.now()) throw expired();
      return known.person;
    }

    const payload = await verify(token);
    const person = { ...readPerson(payload), issuer: storedAs };
    trusted.set(digest, { person, expiresAt: (payload.exp ?? 0) * 1_000 });
    return person;
  };

  async function verify(token: string): Promise<JWTPayload> {
    const options = { issuer, audience, algorithms, clockTolerance: clockSkewSeconds, requiredClaims: ['sub', 'exp'] };
    try {
      return (await jwtVerify(token, keys, options)).payload;
    } catch (error) {
      if (error instanceof AppError) throw error;
      throw error instanceof errors.JWTExpired ? expired(error) : notFound('The token is not valid', error);
    }
  }
}

export function notFound(message: string, cause?: unknown): AppError {
  return new AppError('USER_AUTH_TOKEN_NOT_FOUND', message, { cause });
}

function expired(cause?: unknown): AppError {
  return new AppError('USER_AUTH_TOKEN_EXPIRED', 'The token has expired', { cause });
}

/** Postgres stores no NUL characters, and such a claim would fail the query that it shares with other requests. */
const Text = z
  .string()
  .min(1)
  .max(1_024)
  .regex(/^[^\0]*$/);
const Optional = Text.nullish()
  .transform((text) => text ?? null)
  .catch(null);

const Claims = z.object({
  iss: Text,
  sub: Text,
  email: Optional,
  email_verified: z.unknown().optional(),
  given_name: Optional,
  family_name: Optional,
});

function readPerson(payload: JWTPayload): Person {
  const claims = Claims.safeParse(payload);
  if (!claims.success) throw notFound('The token does not name a user', claims.error);
  const { iss, sub, email, email_verified, given_name, family_name } = claims.data;
  // Members are invited by address, so only a verified address counts. A provider that does not say so has not verified it.
  const isDoubtful = email_verified === false || email_verified === 'false';
  return {
    issuer: iss,
    subject: sub,
    email: isDoubtful ? null : email,
    isEmailVerified: email !== null && (email_verified === true || email_verified === 'true'),
    firstName: given_name,
    lastName: family_name,
  };
}
