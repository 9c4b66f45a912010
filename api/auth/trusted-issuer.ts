import { createLocalJWKSet, createRemoteJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import { AppError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import { discover } from './discovery.ts';

/** An issuer whose tokens are accepted, the audience they must name, and the address of its keys. */
export interface TrustedIssuer {
  issuer: string;
  audience: string;
  keys: JWTVerifyGetKey;
  /** The name under which its users are stored; absent: the issuer. The address of our own issuer may change. */
  storedAs?: string;
}

interface Provider {
  issuer: string;
  audience: string;
  /** Absent: taken from the issuer's discovery document. */
  jwksURL?: string | undefined;
}

type RemoteKeys = ReturnType<typeof createRemoteJWKSet>;

const timeoutMs = 5_000;
/** A token with an unknown key causes a new fetch of the keys, at most once in this time. */
const cooldownMs = 30_000;
const refreshMs = 600_000;
/** After a failed fetch the next one waits this long, if there are keys from an earlier one. */
const restMs = 5_000;

/** An OpenID Connect provider. Its keys are fetched with the first token and refreshed in the background. */
export function createRemoteIssuer(provider: Provider, logger: Logger): TrustedIssuer {
  const { issuer, audience } = provider;
  let opening: Promise<RemoteKeys> | undefined;
  let refreshAt = 0;
  let restUntil = 0;

  function open(): Promise<RemoteKeys> {
    opening ??= openKeys(provider).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  }

  /** While the provider does not answer, its last keys stay valid; a withdrawn key is rejected after the next refresh. */
  function refresh(keys: RemoteKeys): void {
    const now = Date.now();
    if (refreshAt === 0) refreshAt = now + refreshMs;
    if (now < refreshAt) return;
    refreshAt = now + refreshMs;
    keys.reload().catch((error: unknown) => {
      refreshAt = Date.now() + cooldownMs;
      logger.warn({ err: error, issuer }, 'keys of the identity provider not refreshed');
    });
  }

  return {
    issuer,
    audience,
    async keys(header, token) {
      try {
        const keys = await open();
        const known = Date.now() < restUntil ? keys.jwks() : undefined;
        // While the provider is away, a new key cannot be told from a forged one.
        if (known) return await createLocalJWKSet(known)(header, token).catch(unavailable);
        const key = await keys(header, token);
        refresh(keys);
        return key;
      } catch (error) {
        if (error instanceof AppError || isAboutTheToken(error)) throw error;
        restUntil = Date.now() + restMs;
        logger.warn({ err: error, issuer }, 'no keys from the identity provider');
        return unavailable(error);
      }
    },
  };
}

function unavailable(cause: unknown): never {
  throw new AppError('UNAVAILABLE', 'The identity provider cannot be reached', { cause, retryAfter: 5 });
}

async function openKeys({ issuer, jwksURL }: Provider): Promise<RemoteKeys> {
  const url = new URL(jwksURL ?? (await discover(issuer, timeoutMs)).jwks_uri);
  return createRemoteJWKSet(url, {
    timeoutDuration: timeoutMs,
    cooldownDuration: cooldownMs,
    cacheMaxAge: Number.POSITIVE_INFINITY,
  });
}

function isAboutTheToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}
