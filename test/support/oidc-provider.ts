import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import Provider, { type ClientMetadata, type JWK } from 'oidc-provider';
import { createBrowser } from './browser.ts';
import { publicURL as testURL } from './environment.ts';

/** The deployment as a client that connects accounts. */
export const connecting = { clientID: 'connecting', clientSecret: 'the secret of the deployment itself' };

/** A real OpenID Connect provider on this machine; users sign in as in a browser. */
export interface OidcProvider extends AsyncDisposable {
  readonly issuer: string;
  /** How often its keys were asked for, answered or not. */
  readonly keyRequests: number;
  /** The whole authorization code flow, with PKCE; answers the ID token that `client` is given. */
  signIn(person: { email: string }, options?: { client?: ClientID }): Promise<string>;
  /** A new signing key, published beside those before it, or instead of them. */
  rotate(options?: { withdraw?: boolean }): Promise<void>;
  /** Its keys cannot be fetched; everything else works. */
  setKeysAway(isAway: boolean): void;
  /** Every request to it fails. */
  setAway(isAway: boolean): void;
  /** How often tokens were asked for with a refresh token. */
  readonly refreshes: number;
  /** Revokes this access token; its refresh token stays valid. */
  forget(accessToken: string): Promise<void>;
  /** From now on the deployment's client may also be sent back to this address, and be given refresh tokens, as its console is. */
  allow(redirectURI: string): void;
  /** Revokes the whole grant, the other tokens of the client included. */
  revoke(token: string): Promise<void>;
  /** How often it was asked to revoke a token. */
  readonly revocations: number;
  /** Which of the tokens are valid. */
  valid(tokens: { accessToken: string; refreshToken: string }): Promise<string[]>;
}

/** The deployment's client, a foreign one, and one whose tokens are signed with a secret. */
export type ClientID = 'gantry' | 'elsewhere' | 'shared-secret';

export const redirectURI = 'https://admin.example.com/callback';

const flow = { redirect_uris: [redirectURI], response_types: ['code'], grant_types: ['authorization_code'] };
const clients = [
  { client_id: 'gantry', token_endpoint_auth_method: 'none' },
  { client_id: 'elsewhere', token_endpoint_auth_method: 'none' },
  {
    client_id: 'shared-secret',
    client_secret: 'a secret that is long enough for HS256',
    token_endpoint_auth_method: 'client_secret_post',
    id_token_signed_response_alg: 'HS256',
  },
].map((client) => ({ ...client, ...flow }) as ClientMetadata);

const connectingClient = (publicURL: string) => ({
  ...flow,
  client_id: connecting.clientID,
  client_secret: connecting.clientSecret,
  token_endpoint_auth_method: 'client_secret_post',
  redirect_uris: [`${publicURL}/api/v1/oauth/acme/callback`],
  grant_types: ['authorization_code', 'refresh_token'],
});

export interface OidcSettings {
  idTokenSeconds?: number;
  /** Its token endpoint has another origin than itself. */
  hasTokensElsewhere?: boolean;
  /** Where it sends browsers that connect an account; default: that of the tests. */
  publicURL?: string;
}

export async function startOidcProvider(settings: OidcSettings = {}): Promise<OidcProvider> {
  let keyRequests = 0;
  let areKeysAway = false;
  let isAway = false;
  let refreshes = 0;
  const consoles: string[] = [];
  let revocations = 0;
  let keys = [await makeKey()];
  let answer: (request: IncomingMessage, response: ServerResponse) => unknown = () => {};

  const server = createServer((request, response) => {
    if (isAway) return void request.socket.destroy();
    if (request.url === '/token/revocation') revocations += 1;
    const isKeys = request.url === '/jwks';
    if (isKeys) keyRequests += 1;
    if (isKeys && areKeysAway) return void request.socket.destroy();
    return void answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let current = serve();

  function serve(): Provider {
    const provider = createProvider(issuer, { ...settings, keys, consoles });
    provider.on('grant.success', ({ oidc }) => {
      if (oidc.params?.grant_type === 'refresh_token') refreshes += 1;
    });
    const callback = provider.callback();
    answer = (request, response) => {
      const person = /^\/interaction\/[^?]+\?as=(.+)$/.exec(request.url ?? '')?.[1];
      if (person === undefined && request.url?.startsWith('/interaction/'))
        return response.setHeader('content-type', 'text/html').end(FORM);
      if (person === undefined) return callback(request, response);
      const accountId = decodeURIComponent(person);
      if (accountId === denyingAccount)
        return provider.interactionFinished(request, response, { error: 'access_denied' });
      return provider.interactionFinished(request, response, { login: { accountId }, consent: {} });
    };
    return provider;
  }

  return {
    issuer,
    get revocations() {
      return revocations;
    },
    async valid({ accessToken, refreshToken }) {
      const refresh = await current.RefreshToken.find(refreshToken);
      const found = { accessToken: await current.AccessToken.find(accessToken), refreshToken: refresh?.isValid };
      return Object.entries(found).flatMap(([name, token]) => (token ? [name] : []));
    },
    get refreshes() {
      return refreshes;
    },
    setAway(away) {
      isAway = away;
    },
    forget: async (accessToken) => await (await current.AccessToken.find(accessToken))?.destroy(),
    async revoke(token) {
      const { clientID, clientSecret } = connecting;
      const body = new URLSearchParams({ token, client_id: clientID, client_secret: clientSecret });
      const { status } = await fetch(new URL('/token/revocation', issuer), { method: 'POST', body });
      if (status !== 200) throw new Error(`The provider did not revoke: ${status}`);
    },
    get keyRequests() {
      return keyRequests;
    },
    signIn: ({ email }, { client = 'gantry' } = {}) => signIn(issuer, email, client),
    async rotate({ withdraw = false } = {}) {
      keys = [await makeKey(), ...(withdraw ? [] : keys)];
      current = serve();
    },
    allow(uri) {
      consoles.push(uri);
      current = serve();
    },
    setKeysAway(away) {
      areKeysAway = away;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** An account that denies the sign-in. */
export const denyingAccount = 'denying';

let made = 0;

async function makeKey(): Promise<JWK> {
  made += 1;
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid: `key-${made}`, alg: 'RS256', use: 'sig' } as JWK;
}

/** Where a person says who they are, in a browser with pages. */
const FORM =
  '<!doctype html><title>Provider</title><form><label>Account <input name="as" autofocus></label><button>Go on</button></form>';

interface Served extends OidcSettings {
  keys: JWK[];
  consoles: readonly string[];
}

function createProvider(
  issuer: string,
  { keys, consoles, publicURL = testURL, idTokenSeconds = 600, hasTokensElsewhere }: Served,
): Provider {
  const provider = new Provider(issuer, {
    clients: [...clients, connectingClient(publicURL) as ClientMetadata].map((client) =>
      client.client_id === 'gantry' && consoles.length > 0
        ? {
            ...client,
            redirect_uris: [redirectURI, ...consoles],
            grant_types: ['authorization_code', 'refresh_token'],
          }
        : client,
    ),
    clientBasedCORS: (_context, origin, { redirectUris = [] }) =>
      redirectUris.some((uri) => new URL(uri).origin === origin),
    jwks: { keys },
    cookies: { keys: ['a key for cookies'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['given_name'] },
    conformIdTokenClaims: false,
    enabledJWA: { idTokenSigningAlgValues: ['RS256', 'HS256'] },
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: true },
      // Access tokens for the service that a client names, as its administrators have set them up.
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: 'openid email profile',
          audience: 'gantry',
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
        useGrantedResource: () => true,
      },
    },
    extraTokenClaims: (_context, token) => ({ email: accountOf(token), email_verified: true }),
    issueRefreshToken: async (_context, client, { scopes }) =>
      client.grantTypeAllowed('refresh_token') &&
      (client.clientId === connecting.clientID || scopes.has('offline_access')),
    rotateRefreshToken: true,
    ttl: {
      IdToken: idTokenSeconds,
      Session: 60,
      Interaction: 60,
      Grant: 60,
      AccessToken: 600,
      RefreshToken: 600,
      AuthorizationCode: 60,
    },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({ sub, email: sub, email_verified: true, given_name: sub.split('@')[0] }),
    }),
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    // Each account that signs in consents.
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client?.clientId ?? '',
        accountId: oidc.session?.accountId ?? '',
      });
      grant.addOIDCScope('openid email profile offline_access');
      for (const resource of [oidc.params?.resource].flat())
        if (typeof resource === 'string') grant.addResourceScope(resource, 'openid email profile');
      await grant.save();
      return grant;
    },
  });
  // The same server by another name, which is another origin.
  if (hasTokensElsewhere)
    provider.use(async (context, next) => {
      await next();
      if (context.path.endsWith('/.well-known/openid-configuration'))
        context.body = { ...context.body, token_endpoint: `${issuer.replace('127.0.0.1', 'localhost')}/token` };
    });
  return provider;
}

function accountOf(token: unknown): string | undefined {
  return (token as { accountId?: string }).accountId;
}

/** As a browser does it; the code is handed to the client. */
async function signIn(issuer: string, email: string, clientID: ClientID): Promise<string> {
  const verifier = randomBytes(32).toString('base64url');
  const start = new URL('/auth', issuer);
  start.search = new URLSearchParams({
    client_id: clientID,
    response_type: 'code',
    redirect_uri: redirectURI,
    scope: 'openid email profile',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }).toString();
  const url = new URL((await createBrowser().visit(start.href, { as: email, until: redirectURI })).url);

  const secret = clients.find(({ client_id }) => client_id === clientID)?.client_secret;
  const response = await fetch(new URL('/token', issuer), {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: url.searchParams.get('code') ?? '',
      client_id: clientID,
      redirect_uri: redirectURI,
      code_verifier: verifier,
      ...(secret && { client_secret: secret }),
    }),
  });
  const { id_token: idToken } = (await response.json()) as { id_token?: string };
  if (!idToken) throw new Error(`The provider gave no ID token: ${url.search}`);
  return idToken;
}
