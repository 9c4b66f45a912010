import * as oauth from 'oauth4webapi';
import { isLoopback } from './loopback.ts';
import { APIError, body, rest } from './rest.ts';
import { beginSession, type Session } from './session.ts';
import type { Schemas } from './types.ts';

export type SignIn = Schemas['SignIn'];

const PENDING = 'gantry.sign-in';
/** The provider that has given no refresh token although it was asked for one. */
const CONSENT = 'gantry.ask-for-consent';
const RENEWAL_MS = 20_000;
const REDIRECT_URI = `${location.origin}/console/signed-in`;

interface Pending {
  verifier: string;
  state: string;
  nonce: string;
  /** The address in the console to go on with. */
  next: string;
}

export async function readSignIn(): Promise<SignIn> {
  const { signIn } = await body(rest.GET('/api/v1/auth/sign-in'));
  return signIn;
}

/** The page to go on with: a member of one tenant alone who has asked for no page has nothing to choose. */
export async function pageAfterSignIn(next: string): Promise<string> {
  if (next !== '/') return next;
  const params = { query: { limit: 2 } };
  // The list of tenants says what is wrong.
  const tenants = await body(rest.GET('/api/v1/tenants', { params })).then(
    (answer) => answer.tenants,
    () => [],
  );
  return tenants.length === 1 && tenants[0] ? `/t/${tenants[0].tenantID}` : next;
}

/** Signs in at the development issuer of this server. */
export async function signInForDevelopment(email: string): Promise<void> {
  beginSession(await developmentSession(email));
}

/** Leaves the page for the provider, which comes back to `/console/signed-in`. */
export async function goToProvider(signIn: SignIn, next: string): Promise<void> {
  const { server, client } = await provider(signIn);
  if (!server.authorization_endpoint) throw new Error('The identity provider names no page to sign in at');
  const pending: Pending = {
    verifier: oauth.generateRandomCodeVerifier(),
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    next,
  };
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  const url = new URL(server.authorization_endpoint);
  const offersRefresh = offersRenewal(server);
  // The standard has refresh tokens given for a prompt of consent alone. Most providers give them without, and some let only
  // administrators consent, so it is asked for where it has turned out to be needed.
  const needsConsent = offersRefresh && localStorage.getItem(CONSENT) === server.issuer;
  const parameters = {
    client_id: client.client_id,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    scope: `openid email profile${offersRefresh ? ' offline_access' : ''}`,
    ...(needsConsent && { prompt: 'consent' }),
    code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: 'S256',
    state: pending.state,
    nonce: pending.nonce,
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  location.assign(url);
}

/** Takes the code with which the provider has sent the browser back; answers with the address to go on with. */
export async function takeCode(signIn: SignIn, address: URL): Promise<string> {
  const stored = sessionStorage.getItem(PENDING);
  sessionStorage.removeItem(PENDING);
  if (!stored) throw new Error('This sign-in was not begun in this tab');
  const { verifier, state, nonce, next } = JSON.parse(stored) as Pending;
  const { server, client } = await provider(signIn);
  const parameters = oauth.validateAuthResponse(server, client, address, state);
  const options = unsafeOptions(server);
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    parameters,
    REDIRECT_URI,
    verifier,
    options,
  );
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
    expectedNonce: nonce,
    requireIdToken: true,
  });
  if (offersRenewal(server) && !tokens.refresh_token) localStorage.setItem(CONSENT, server.issuer);
  beginSession(sessionOf(tokens));
  return next;
}

function offersRenewal({ scopes_supported: scopes }: oauth.AuthorizationServer): boolean {
  return scopes?.includes('offline_access') ?? false;
}

/** The same session with a later end. */
export async function renewSession(session: Session): Promise<Session> {
  if (session.renewal.kind === 'development') return developmentSession(session.email);
  const { refreshToken } = session.renewal;
  if (!refreshToken) throw new Error('The identity provider gave no refresh token');
  const { server, client } = await provider(await readSignIn());
  const response = await oauth.refreshTokenGrantRequest(
    server,
    client,
    oauth.None(),
    refreshToken,
    // Other tabs wait for it.
    { ...unsafeOptions(server), signal: AbortSignal.timeout(RENEWAL_MS) },
  );
  const tokens = await oauth.processRefreshTokenResponse(server, client, response);
  return sessionOf(tokens, refreshToken);
}

async function developmentSession(email: string): Promise<Session> {
  const { token, expiresAt } = await askForToken(email);
  return { token, expiresAt: Date.parse(expiresAt), email, renewal: { kind: 'development' } };
}

/** Not in the document of every server, so its client has no type for it. */
async function askForToken(email: string): Promise<{ token: string; expiresAt: string }> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch('/dev/token', { method: 'POST', headers, body: JSON.stringify({ email }) });
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const { code = 'UNAVAILABLE', message = `The server answered ${response.status}` } = answer.error ?? {};
  throw new APIError({ status: response.status, code, message });
}

async function provider({
  issuer,
  clientID,
}: SignIn): Promise<{ server: oauth.AuthorizationServer; client: oauth.Client }> {
  if (!issuer || !clientID) throw new Error('This server has no identity provider');
  const url = new URL(issuer);
  const response = await oauth.discoveryRequest(url, { algorithm: 'oidc', ...unsafeOptions({ issuer }) });
  const server = await oauth.processDiscoveryResponse(url, response);
  return { server, client: { client_id: clientID, token_endpoint_auth_method: 'none' } };
}

/** A provider for development on the same machine has no certificate. */
function unsafeOptions({ issuer }: { issuer: string }): { [oauth.allowInsecureRequests]?: true } {
  const { protocol, hostname } = new URL(issuer);
  return protocol === 'http:' && isLoopback(hostname) ? { [oauth.allowInsecureRequests]: true } : {};
}

/** `refreshToken`: the one before, which stays valid if there is no new one. The claims are known by the very object of the answer. */
function sessionOf(tokens: oauth.TokenEndpointResponse, refreshToken?: string): Session {
  const claims = oauth.getValidatedIdTokenClaims(tokens);
  if (!tokens.id_token || !claims) throw new Error('The identity provider gave no ID token');
  const { email } = claims;
  return {
    token: tokens.id_token,
    expiresAt: claims.exp * 1_000,
    email: typeof email === 'string' ? email : claims.sub,
    renewal: { kind: 'provider', refreshToken: tokens.refresh_token ?? refreshToken },
  };
}
