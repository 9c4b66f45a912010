import { AppError } from '#shared/core/errors.ts';
import { isJsonObject } from '#shared/core/json.ts';
import { type OutboundFetch, whereOf } from '../../outbound/fetch.ts';
import { unlessAborted } from '../../outbound/unless-aborted.ts';
import { upstreamError } from '../../outbound/upstream-error.ts';
import type { OAuthConnections, TokenUse } from '../oauth/connections.ts';

/** Credentials that a request carries. */
export interface Credentials {
  headers: Readonly<Record<string, string>>;
  query: readonly (readonly [string, string])[];
  /** Texts that must not be repeated in messages. */
  secrets: readonly string[];
}

export interface Authentication {
  get(signal: AbortSignal): Promise<Credentials>;
  /** Reports that a server refused the credentials. Returns whether `get` may now return other ones. */
  renew(refused: Credentials): boolean;
}

export function basic(username: string, password: string): Credentials {
  const token = Buffer.from(`${username}:${password}`).toString('base64');
  return { headers: { authorization: `Basic ${token}` }, query: [], secrets: [token, password] };
}

export function bearer(token: string): Credentials {
  return { headers: { authorization: `Bearer ${token}` }, query: [], secrets: [token] };
}

export function inHeader(name: string, value: string): Credentials {
  return { headers: { [name.toLowerCase()]: value }, query: [], secrets: [value] };
}

export const nothing: Credentials = { headers: {}, query: [], secrets: [] };

export function always(credentials: Credentials): Authentication {
  return { get: async () => credentials, renew: () => false };
}

/** Uses the token of a connected account. The token is read for every request, so that an ended connection is not used again. */
export function connectedAccount(use: TokenUse, connections: OAuthConnections): Authentication {
  let refused: string | null = null;
  return {
    get: async (signal) => bearer(await connections.accessToken(use, refused, signal)),
    renew(credentials) {
      refused = credentials.secrets[0] ?? null;
      return true;
    },
  };
}

export interface ClientCredentials {
  clientId: string;
  clientSecret: string;
  tokenUrl: string;
  scope: string;
  credentialsIn: 'header' | 'body';
}

interface Token {
  credentials: Credentials;
  /** Time by the monotonic clock. */
  expires: number;
}

const TOKEN_MS = 15_000;
/** A token is replaced this long before it expires, or at half of a short life. */
const EARLY_MS = 30_000;

/** Uses client credentials. One token serves all requests until shortly before it expires; a refused one is requested again. */
export function clientCredentials(options: ClientCredentials, fetch: OutboundFetch): Authentication {
  let token: Token | undefined;
  let pending: Promise<Token> | undefined;

  async function renewed(): Promise<Token> {
    pending ??= requestToken(options, fetch).finally(() => {
      pending = undefined;
    });
    token = await pending;
    return token;
  }

  return {
    async get(signal) {
      if (token && performance.now() < token.expires) return token.credentials;
      return (await unlessAborted(signal, renewed())).credentials;
    },
    renew(refused) {
      if (token?.credentials === refused) token = undefined;
      return true;
    },
  };
}

async function requestToken(options: ClientCredentials, fetch: OutboundFetch): Promise<Token> {
  const { clientId, clientSecret, scope, credentialsIn } = options;
  const url = new URL(options.tokenUrl);
  const form = new URLSearchParams({ grant_type: 'client_credentials', ...(scope !== '' && { scope }) });
  if (credentialsIn === 'body') {
    form.set('client_id', clientId);
    form.set('client_secret', clientSecret);
  }
  // RFC 6749 2.3.1: both are form-encoded before they are joined.
  const encode = (part: string) => new URLSearchParams({ part }).toString().slice('part='.length);
  const { status, body } = await fetch(
    {
      url,
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        ...(credentialsIn === 'header' && basic(encode(clientId), encode(clientSecret)).headers),
      },
      body: form.toString(),
      followRedirects: false,
    },
    AbortSignal.timeout(TOKEN_MS),
  ).catch((error: unknown) => {
    throw error instanceof AppError ? error : upstreamError('timeout', whereOf(url), error);
  });
  if (status >= 400 && status < 500 && status !== 429) throw upstreamError('authentication', whereOf(url));
  const answer = status === 200 ? readToken(body) : undefined;
  if (!answer) throw new AppError('UPSTREAM_FAILED', `${whereOf(url)} returned no token`, { details: { status } });
  const lifeMs = answer.seconds * 1000;
  const early = Math.min(EARLY_MS, lifeMs / 2);
  return { credentials: bearer(answer.token), expires: performance.now() + lifeMs - early };
}

function readToken(body: Buffer): { token: string; seconds: number } | undefined {
  try {
    const answer: unknown = JSON.parse(body.toString('utf8'));
    if (!isJsonObject(answer) || typeof answer.access_token !== 'string' || answer.access_token === '')
      return undefined;
    const seconds = Number(answer.expires_in ?? 3600);
    return { token: answer.access_token, seconds: seconds > 0 ? seconds : 60 };
  } catch {
    return undefined;
  }
}
