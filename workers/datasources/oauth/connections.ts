import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { AppError, toAppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { KeyRing } from '#shared/core/key-ring.ts';
import type { Logger } from '#shared/core/logger.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { Pool } from '#shared/db/pool.ts';
import { sealedColumns } from '#shared/db/sealed-columns.ts';
import type { oauthExchange } from '#shared/messaging/queues/oauth-exchange.ts';
import type { OAuthProvider } from '#shared/process/oauth-providers.ts';
import type { OutboundFetch } from '../../outbound/fetch.ts';
import { unlessAborted } from '../../outbound/unless-aborted.ts';
import { createConnectionRows, type Refresh, type Stored } from './rows.ts';
import { createTokenEndpoint, type Grant, type TokenEndpoint } from './token-endpoint.ts';

/** The connection whose token is needed, and the URL that the token is sent to. */
export interface TokenUse {
  tenantID: string;
  oauthConnectionID: string;
  url: URL;
}

/** Accounts that tenants have connected. */
export interface OAuthConnections extends AsyncDisposable {
  /** Exchanges a code for tokens, sealed for the row of the connection. */
  exchange(request: z.output<typeof oauthExchange.request>): Promise<z.input<typeof oauthExchange.response>>;
  /** Returns a valid access token. `refused` is one that the API did not accept. */
  accessToken(use: TokenUse, refused: string | null, signal: AbortSignal): Promise<string>;
  /** Revokes tokens that no connection uses any more. False if the provider has no endpoint for that. */
  revoke(left: LeftTokens, signal: AbortSignal): Promise<boolean>;
}

export interface LeftTokens {
  oauthConnectionID: string;
  provider: string;
  tokens: string;
}

interface Needs {
  pool: Pool;
  secrets: KeyRing;
  providers: readonly OAuthProvider[];
  fetch: OutboundFetch;
  logger: Logger;
}

interface Tokens {
  accessToken: string;
  refreshToken: string | null;
}

type Refreshable = Tokens & { refreshToken: string };

const POLL_MS = 100;
/** A token is refreshed this long before its end, or at half of a short life. */
const EARLY_MS = 60_000;

export function createOAuthConnections({ pool, secrets, providers, fetch, logger }: Needs): OAuthConnections {
  const known = new Map(providers.map((provider) => [provider.name, provider]));
  const endpoints = new Map(providers.map((provider) => [provider.name, createTokenEndpoint(provider, fetch)]));
  const rows = createConnectionRows(pool, logger);
  /** Refreshes under way in this process, by connection: one at most. The claim in the row excludes other workers. */
  const refreshes = new Map<string, Promise<boolean>>();

  function endpointOf(name: string): TokenEndpoint {
    const endpoint = endpoints.get(name);
    if (!endpoint) throw new AppError('CONFLICT', `This deployment no longer has the OAuth provider "${name}"`);
    return endpoint;
  }

  function seal(id: string, tokens: Tokens): string {
    return secrets.seal(JSON.stringify(tokens), sealedColumns.oauthTokens.context(id));
  }

  function open(id: string, tokens: string, what: string): Tokens {
    // Safe: only `seal` writes texts with this context.
    return JSON.parse(secrets.open(tokens, sealedColumns.oauthTokens.context(id), what)) as Tokens;
  }

  /** Refreshes the tokens, or marks the connection as broken. False if another worker has the claim. */
  async function refresh(stored: Stored, tokens: Refreshable): Promise<boolean> {
    const claim = await rows.claim(stored, newID());
    if (!claim) return false;
    try {
      const grant = await endpointOf(stored.provider).refresh(tokens.refreshToken);
      // A provider that rotates refresh tokens has just invalidated the old one.
      const { accessToken, refreshToken } = { ...grant, refreshToken: grant.refreshToken ?? tokens.refreshToken };
      await rows.store(claim, stored, { ...refreshOf(grant), tokens: seal(stored.id, { accessToken, refreshToken }) });
    } catch (error) {
      const isFinal = error instanceof AppError && isInvalidGrant(error);
      await rows.fail(claim, { error: toAppError(error).message, isFinal });
      if (!isFinal) throw error;
      logger.info({ tenantID: stored.tenantID, oauthConnectionID: stored.id }, 'an OAuth connection is broken');
    }
    return true;
  }

  /** Refreshes, or joins the refresh under way, which continues after its caller has aborted: the new tokens must be stored. */
  function refreshOnce(stored: Stored, tokens: Refreshable): Promise<boolean> {
    const running = refreshes.get(stored.id);
    if (running) return running;
    const begun = refresh(stored, tokens).finally(() => refreshes.delete(stored.id));
    refreshes.set(stored.id, begun);
    return begun;
  }

  /** Returns the stored token if it is usable; undefined if the row must be read again. */
  async function current(use: TokenUse, refused: string | null, signal: AbortSignal): Promise<string | undefined> {
    const stored = await rows.read(use.tenantID, use.oauthConnectionID);
    if (stored.status === 'broken') throw mustReconnect(stored);
    checkHost(known.get(stored.provider), use.url);
    const verdict = chooseToken(
      stored,
      open(stored.id, stored.tokens, `The OAuth connection to ${nameOf(stored)}`),
      refused,
    );
    if (verdict.use !== undefined) return verdict.use;
    if (verdict.isOver) {
      await rows.end(stored, 'The access token has expired, and the provider has sent no refresh token');
      throw mustReconnect(stored);
    }
    return await afterRefresh(stored, verdict, signal);
  }

  /** Waits for the refresh. Returns the spare token if there is no new one yet; undefined if the row must be read again. */
  async function afterRefresh(
    stored: Stored,
    { refreshable, spare }: Due,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    try {
      const isOurs = await unlessAborted(signal, refreshOnce(stored, refreshable));
      if (isOurs) return undefined;
    } catch (error) {
      if (spare === undefined || signal.aborted) throw error;
    }
    if (spare === undefined) await sleep(POLL_MS, undefined, { signal });
    return spare;
  }

  return {
    async exchange({ provider, oauthConnectionID, ...request }) {
      const grant = await endpointOf(provider).exchange(request);
      const { accessToken, refreshToken } = grant;
      const { expiresAt, refreshAt, scopes } = refreshOf(grant);
      return {
        tokens: seal(oauthConnectionID, { accessToken, refreshToken }),
        expiresAt: expiresAt?.toISOString() ?? null,
        refreshAt: refreshAt?.toISOString() ?? null,
        scopes: scopes ?? known.get(provider)?.scopes ?? [],
        accountSubject: grant.account?.subject ?? null,
        accountEmail: grant.account?.email ?? null,
      };
    },
    async accessToken(use, refused, signal) {
      for (;;) {
        signal.throwIfAborted();
        const token = await current(use, refused, signal);
        if (token !== undefined) return token;
      }
    },
    async revoke({ oauthConnectionID, provider, tokens }, signal) {
      const endpoint = endpointOf(provider);
      if (!endpoint.revoke) return false;
      const { accessToken, refreshToken } = open(oauthConnectionID, tokens, `The OAuth connection to ${provider}`);
      // The refresh token first: with it, most providers revoke the access token and the whole grant.
      if (refreshToken !== null) await endpoint.revoke(refreshToken, 'refresh_token', signal);
      await endpoint.revoke(accessToken, 'access_token', signal);
      return true;
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled(refreshes.values());
    },
  };
}

/** Tokens that are due for a refresh. */
interface Due {
  refreshable: Refreshable;
  /** The present token, if it is still valid. */
  spare: string | undefined;
}

/** The token to use; or tokens to refresh; or `isOver`: the token is unusable and cannot be refreshed. */
type Verdict = { use: string } | ({ use?: never; isOver?: never } & Due) | { use?: never; isOver: true };

/** Decides whether the stored token is used or refreshed. */
function chooseToken(stored: Stored, { accessToken, refreshToken }: Tokens, refused: string | null): Verdict {
  const isRefused = accessToken === refused;
  if (!isRefused && !stored.isDue) return { use: accessToken };
  if (isRefused && stored.isJustRefreshed) throw notAccepted(stored);
  const spare = isRefused || stored.isExpired ? undefined : accessToken;
  if (refreshToken !== null) return { refreshable: { accessToken, refreshToken }, spare };
  return spare === undefined ? { isOver: true } : { use: spare };
}

function refreshOf({ lifeMs, scopes }: Grant): Omit<Refresh, 'tokens'> {
  if (lifeMs === null) return { expiresAt: null, refreshAt: null, scopes };
  const expires = Date.now() + lifeMs;
  return { expiresAt: new Date(expires), refreshAt: new Date(expires - Math.min(EARLY_MS, lifeMs / 2)), scopes };
}

function isInvalidGrant({ details }: AppError): boolean {
  return typeof details === 'object' && details !== null && 'reason' in details && details.reason === 'invalid_grant';
}

/** Refuses to send a token to hosts other than the provider's, if the provider has a list of them. */
function checkHost(provider: OAuthProvider | undefined, { hostname, protocol }: URL): void {
  const { name, hosts } = provider ?? {};
  if (!hosts) return;
  const isKnown = hosts.some((host) => hostname === host || hostname.endsWith(`.${host}`));
  if (!isKnown || protocol !== 'https:')
    throw invalidField(
      'datasourceOptions.baseUrl',
      `a connection to ${name} is for ${hosts.join(', ')} only, with https`,
    );
}

function mustReconnect(stored: Stored): AppError {
  return new AppError('UPSTREAM_FAILED', `The OAuth connection to ${nameOf(stored)} has ended: connect it again`, {
    retry: false,
    details: { reason: 'reconnect', oauthConnectionID: stored.id },
  });
}

function notAccepted(stored: Stored): AppError {
  return new AppError('UPSTREAM_FAILED', `The API does not accept the OAuth connection to ${nameOf(stored)}`, {
    retry: false,
    details: { reason: 'authentication' },
  });
}

function nameOf({ provider, accountEmail, accountSubject }: Stored): string {
  const account = accountEmail ?? accountSubject;
  return account === null ? provider : `${provider} (${account})`;
}
