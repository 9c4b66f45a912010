import * as oauth from 'oauth4webapi';
import { AppError } from '#shared/core/errors.ts';
import { isJsonObject } from '#shared/core/json.ts';
import { isOpenID, type OAuthProvider } from '#shared/process/oauth-providers.ts';
import { type HTTPResponse, type OutboundFetch, whereOf } from '../../outbound/fetch.ts';
import { upstreamError } from '../../outbound/upstream-error.ts';

/** Tokens from a provider. */
export interface Grant {
  accessToken: string;
  /** Null if the provider sent none; after a refresh, the earlier one then stays valid. */
  refreshToken: string | null;
  /** Null if the token does not expire, or the provider does not say when. */
  lifeMs: number | null;
  /** Null if the provider has granted the requested scopes. */
  scopes: string[] | null;
  account: { subject: string; email: string | null } | null;
}

/** Parameters of the provider's callback, and the values stored for it. */
export interface CodeExchange {
  code: string;
  issuer?: string | undefined;
  redirectURI: string;
  codeVerifier: string;
  nonce: string;
}

/** A provider's endpoints for tokens. A refused code or refresh token is an error with `details.reason` `invalid_grant`. */
export interface TokenEndpoint {
  exchange(request: CodeExchange): Promise<Grant>;
  refresh(refreshToken: string): Promise<Grant>;
  /** Revokes a token; one that the provider no longer knows counts as revoked. Absent if the provider has no such endpoint. */
  revoke?(token: string, kind: TokenKind, signal: AbortSignal): Promise<void>;
}

export type TokenKind = 'access_token' | 'refresh_token';

/** Time limit of the provider's answer; shorter than the claim of a refresh. */
const ANSWER_MS = 15_000;
const MAX_LIFE_S = 100 * 365 * 24 * 3_600;

const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

export function createTokenEndpoint(provider: OAuthProvider, fetch: OutboundFetch): TokenEndpoint {
  const tokenURL = new URL(provider.tokenURL);
  const revocationURL = provider.revocationURL === undefined ? undefined : new URL(provider.revocationURL);
  const server: oauth.AuthorizationServer = {
    // Without ID tokens this is only a name and is not compared.
    issuer: provider.issuer ?? tokenURL.origin,
    token_endpoint: tokenURL.href,
    ...(revocationURL && { revocation_endpoint: revocationURL.href }),
    id_token_signing_alg_values_supported: algorithms,
  };
  const client: oauth.Client = { client_id: provider.clientID };
  const clientAuthentication =
    provider.clientSecretIn === 'header'
      ? oauth.ClientSecretBasic(provider.clientSecret)
      : oauth.ClientSecretPost(provider.clientSecret);

  /** The configuration decides about encryption and requires it in production. */
  const options = ({ protocol }: URL = tokenURL) => ({
    [oauth.customFetch]: throughGate(fetch),
    [oauth.allowInsecureRequests]: protocol === 'http:',
    signal: AbortSignal.timeout(ANSWER_MS),
  });

  return {
    async exchange({ code, issuer, redirectURI, codeVerifier, nonce }) {
      const isNamed = issuer !== undefined && provider.issuer !== undefined;
      const parameters = new URLSearchParams({ code, ...(isNamed && { iss: issuer }) });
      return await explained(tokenURL, async () => {
        const checked = oauth.validateAuthResponse(server, client, parameters, oauth.skipStateCheck);
        const response = await oauth.authorizationCodeGrantRequest(
          server,
          client,
          clientAuthentication,
          checked,
          redirectURI,
          codeVerifier,
          options(),
        );
        const expected = isOpenID(provider) ? { expectedNonce: nonce, requireIdToken: true } : {};
        return grantOf(await oauth.processAuthorizationCodeResponse(server, client, response, expected));
      });
    },
    refresh: (refreshToken) =>
      explained(tokenURL, async () => {
        const response = await oauth.refreshTokenGrantRequest(
          server,
          client,
          clientAuthentication,
          refreshToken,
          options(),
        );
        return grantOf(await oauth.processRefreshTokenResponse(server, client, response));
      }),
    ...(revocationURL && {
      revoke: (token, kind, signal) =>
        explained(revocationURL, async () => {
          const response = await oauth.revocationRequest(server, client, clientAuthentication, token, {
            ...options(revocationURL),
            signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
            additionalParameters: { token_type_hint: kind },
          });
          if (!response.ok) await oauth.processRevocationResponse(response).catch(ignoreInvalidToken);
        }),
    }),
  };
}

interface TokenRequest {
  body: URLSearchParams;
  headers: Record<string, string>;
  method: string;
  signal?: AbortSignal | undefined;
}

const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

/** Gives the library our own fetch. Responses that are not part of OAuth do not reach the library. */
function throughGate(fetch: OutboundFetch) {
  return async (url: string, { body, headers, method, signal }: TokenRequest): Promise<Response> => {
    const answer = await fetch(
      { url: new URL(url), method, headers, body: body.toString(), followRedirects: false },
      signal ?? AbortSignal.timeout(ANSWER_MS),
    );
    if (answer.status >= 500 || answer.status === 429)
      throw new AppError('UPSTREAM_FAILED', `${whereOf(answer.url)} answered ${answer.status}`, {
        details: { status: answer.status },
      });
    // With this header the library would report the challenge instead of the error in the body.
    const { 'www-authenticate': _challenge, ...received } = answer.headers;
    const bytes = withoutBody.has(answer.status) ? null : new Uint8Array(answer.body);
    return new Response(bytes, { status: statusOf(answer), headers: received });
  };
}

/** Some providers (GitHub, Slack) send errors with a 200. */
function statusOf({ status, body }: HTTPResponse): number {
  if (status !== 200) return status;
  try {
    const answer: unknown = JSON.parse(body.toString('utf8'));
    return isJsonObject(answer) && typeof answer.error === 'string' && answer.access_token === undefined ? 400 : 200;
  } catch {
    return status;
  }
}

function grantOf(response: oauth.TokenEndpointResponse): Grant {
  if (response.token_type !== 'bearer')
    throw new AppError('UPSTREAM_FAILED', 'The provider returned a token that is not a bearer token', { retry: false });
  const claims = oauth.getValidatedIdTokenClaims(response);
  return {
    accessToken: response.access_token,
    refreshToken: response.refresh_token ?? null,
    lifeMs: lifeOf(response),
    scopes: response.scope === undefined ? null : response.scope.split(' ').filter(Boolean),
    account: claims ? { subject: claims.sub, email: typeof claims.email === 'string' ? claims.email : null } : null,
  };
}

/** Life of the token in milliseconds. More than a hundred years count as endless: the end could be later than the latest `Date`. */
function lifeOf({ expires_in }: oauth.TokenEndpointResponse): number | null {
  return expires_in === undefined || expires_in > MAX_LIFE_S ? null : expires_in * 1_000;
}

/** Ignores Google's error for a token that is not valid any more, which is a success by the standard. */
function ignoreInvalidToken(error: unknown): void {
  if (!(error instanceof oauth.ResponseBodyError && error.error === 'invalid_token')) throw error;
}

async function explained<T>(url: URL, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explain(error, whereOf(url));
  }
}

/** Converts errors of the library. Their causes contain the provider's response with tokens, so only their messages are used. */
function explain(error: unknown, where: string): unknown {
  if (error instanceof AppError) return error;
  if (error instanceof DOMException && error.name === 'TimeoutError') return upstreamError('timeout', where, error);
  if (error instanceof oauth.ResponseBodyError) return grantError(error, where);
  if (error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError)
    return new AppError('UPSTREAM_FAILED', `The response of ${where} is not valid in OAuth: ${error.message}`, {
      cause: new Error(`${error.code}: ${error.message}`),
      retry: false,
    });
  return error;
}

const wrongClients: ReadonlySet<string> = new Set([
  'invalid_client',
  'unauthorized_client',
  'incorrect_client_credentials',
]);
/** Error codes of an ended grant: the code of the standard, and those that GitHub and Slack use instead. */
const ended: ReadonlySet<string> = new Set(['invalid_grant', 'bad_refresh_token', 'invalid_refresh_token']);

function grantError({ error }: oauth.ResponseBodyError, where: string): AppError {
  if (wrongClients.has(error)) return wrongClient(where);
  const word = /^[\w.-]{1,64}$/.test(error) ? error : 'an error without a name';
  return new AppError('UPSTREAM_FAILED', `${where} refused the request: ${word}`, {
    retry: false,
    details: { reason: ended.has(error) ? 'invalid_grant' : 'refused' },
  });
}

function wrongClient(where: string): AppError {
  return new AppError('UPSTREAM_FAILED', `${where} does not accept the client ID or secret of this deployment`, {
    retry: false,
    details: { reason: 'authentication' },
  });
}
