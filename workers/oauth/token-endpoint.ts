import * as oauth from 'oauth4webapi';
import { AppError } from '#shared/errors.ts';
import { isJsonObject } from '#shared/json.ts';
import { isOpenID, type OAuthProvider } from '#shared/oauth-providers.ts';
import { type HTTPResponse, type OutboundFetch, whereOf } from '../outbound/fetch.ts';
import { upstreamError } from '../outbound/upstream-error.ts';

/** What a provider gives. */
export interface Grant {
  accessToken: string;
  /** Null: none, or when refreshing, the same as before. */
  refreshToken: string | null;
  /** Null: the provider does not say. */
  lifeMs: number | null;
  /** Null: those that were asked for. */
  scopes: string[] | null;
  account: { subject: string; email: string | null } | null;
}

/** What somebody brought back from the provider, and what we alone knew of it. */
export interface BroughtBack {
  code: string;
  issuer?: string | undefined;
  redirectURI: string;
  codeVerifier: string;
  nonce: string;
}

/** Where a provider gives tokens. A code or a refresh token that it refuses is an error with `details.reason` `invalid_grant`. */
export interface TokenEndpoint {
  exchange(brought: BroughtBack): Promise<Grant>;
  refresh(refreshToken: string): Promise<Grant>;
}

/** The provider's one clock, shorter than whoever refreshes has the connection for himself. */
const ANSWER_MS = 15_000;

const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

export function createTokenEndpoint(provider: OAuthProvider, fetch: OutboundFetch): TokenEndpoint {
  const tokenURL = new URL(provider.tokenURL);
  const server: oauth.AuthorizationServer = {
    // Of providers without ID tokens it is a name and is compared with nothing.
    issuer: provider.issuer ?? tokenURL.origin,
    token_endpoint: tokenURL.href,
    id_token_signing_alg_values_supported: algorithms,
  };
  const client: oauth.Client = { client_id: provider.clientID };
  const clientAuthentication =
    provider.clientSecretIn === 'header'
      ? oauth.ClientSecretBasic(provider.clientSecret)
      : oauth.ClientSecretPost(provider.clientSecret);

  /** The configuration decides about encryption, and in production asks for it. */
  const options = () => ({
    [oauth.customFetch]: throughGate(fetch),
    [oauth.allowInsecureRequests]: tokenURL.protocol === 'http:',
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
  };
}

interface TokenRequest {
  body: URLSearchParams;
  headers: Record<string, string>;
  method: string;
  signal?: AbortSignal | undefined;
}

const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

/** The library reads what our fetch brings; what is no answer of OAuth at all does not get that far. */
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
    // A challenge beside an error would be taken for the error.
    const { 'www-authenticate': _challenge, ...received } = answer.headers;
    const bytes = withoutBody.has(answer.status) ? null : new Uint8Array(answer.body);
    return new Response(bytes, { status: statusOf(answer), headers: received });
  };
}

/** Some providers (GitHub, Slack) say no with a 200. */
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
    throw new AppError('UPSTREAM_FAILED', 'The provider gives tokens that only their owner can use', { retry: false });
  const claims = oauth.getValidatedIdTokenClaims(response);
  return {
    accessToken: response.access_token,
    refreshToken: response.refresh_token ?? null,
    lifeMs: response.expires_in === undefined ? null : response.expires_in * 1000,
    scopes: response.scope === undefined ? null : response.scope.split(' ').filter(Boolean),
    account: claims ? { subject: claims.sub, email: typeof claims.email === 'string' ? claims.email : null } : null,
  };
}

async function explained<T>(url: URL, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explain(error, whereOf(url));
  }
}

/** What the provider answered is in the causes of the library's errors, tokens and all: only their words go on from here. */
function explain(error: unknown, where: string): unknown {
  if (error instanceof AppError) return error;
  if (error instanceof DOMException && error.name === 'TimeoutError') return upstreamError('timeout', where, error);
  if (error instanceof oauth.ResponseBodyError) return grantError(error, where);
  if (error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError)
    return new AppError('UPSTREAM_FAILED', `What ${where} answers is not what OAuth wants: ${error.message}`, {
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
/** The word of the standard, and what GitHub and Slack say in its place. */
const ended: ReadonlySet<string> = new Set(['invalid_grant', 'bad_refresh_token', 'invalid_refresh_token']);

function grantError({ error }: oauth.ResponseBodyError, where: string): AppError {
  if (wrongClients.has(error)) return wrongClient(where);
  const word = /^[\w.-]{1,64}$/.test(error) ? error : 'an error without a name';
  return new AppError('UPSTREAM_FAILED', `${where} refuses: ${word}`, {
    retry: false,
    details: { reason: ended.has(error) ? 'invalid_grant' : 'refused' },
  });
}

function wrongClient(where: string): AppError {
  return new AppError('UPSTREAM_FAILED', `${where} does not accept the client that this deployment is there`, {
    retry: false,
    details: { reason: 'authentication' },
  });
}
