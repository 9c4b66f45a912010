import { createRemoteJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import { AppError } from '#shared/errors.ts';
import type { Logger } from '#shared/logger.ts';

/** Whose tokens are taken, for whom they must be meant, and where their keys come from. */
export interface TrustedIssuer {
  issuer: string;
  audience: string;
  keys: JWTVerifyGetKey;
}

interface Provider {
  issuer: string;
  audience: string;
  /** Absent: the issuer's own discovery document says. */
  jwksURL?: string | undefined;
}

type RemoteKeys = ReturnType<typeof createRemoteJWKSet>;

const patienceMs = 5_000;
/** A token with an unknown key makes us ask again, but not more often than this. */
const cooldownMs = 30_000;
const refreshMs = 600_000;

/** An OpenID Connect provider. Its keys are fetched when the first token comes and refreshed behind the requests' backs. */
export function createRemoteIssuer(provider: Provider, logger: Logger): TrustedIssuer {
  const { issuer, audience } = provider;
  let opening: Promise<RemoteKeys> | undefined;
  let refreshAt = 0;

  function open(): Promise<RemoteKeys> {
    opening ??= openKeys(provider).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  }

  /** While the provider does not answer, the keys it gave last are good; a key it has withdrawn is gone after the next refresh. */
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
        const key = await keys(header, token);
        refresh(keys);
        return key;
      } catch (error) {
        if (isAboutTheToken(error)) throw error;
        logger.warn({ err: error, issuer }, 'no keys from the identity provider');
        throw new AppError('UNAVAILABLE', 'The identity provider cannot be reached', { cause: error, retryAfter: 5 });
      }
    },
  };
}

async function openKeys({ issuer, jwksURL }: Provider): Promise<RemoteKeys> {
  const url = new URL(jwksURL ?? (await discoverKeys(issuer)));
  return createRemoteJWKSet(url, {
    timeoutDuration: patienceMs,
    cooldownDuration: cooldownMs,
    cacheMaxAge: Number.POSITIVE_INFINITY,
  });
}

const Discovery = z.object({ issuer: z.string(), jwks_uri: z.url() });

async function discoverKeys(issuer: string): Promise<string> {
  const response = await fetch(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, {
    signal: AbortSignal.timeout(patienceMs),
  });
  if (!response.ok) throw new Error(`The discovery document of ${issuer} was answered with ${response.status}`);
  const discovery = Discovery.parse(await response.json());
  if (discovery.issuer !== issuer)
    throw new Error(`The discovery document of ${issuer} is that of ${discovery.issuer}: AUTH_ISSUER must be the same`);
  return discovery.jwks_uri;
}

function isAboutTheToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported
  );
}
