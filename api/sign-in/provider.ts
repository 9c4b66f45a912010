import Provider, { type ClientMetadata, interactionPolicy, type KoaContextWithOIDC } from 'oidc-provider';
import { toAppError } from '#shared/core/errors.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { Pool } from '#shared/db/pool.ts';
import { SIGN_IN_PATH } from '#shared/process/config.ts';
import { reportError } from '../http/response/report-error.ts';
import { findAccount } from './accounts.ts';
import { postgresAdapter } from './adapter.ts';
import { checkRegistration, resourceIndicators, staysConnected } from './app-clients.ts';
import { APP_TOKEN_SECONDS, GRANT_SECONDS, REFRESH_SECONDS } from './apps.ts';
import { sendProviderError, sendSignedOut, sendSignOut } from './provider-pages.ts';
import type { KeySet } from './signing-keys.ts';

/** A session ends this long after the password was given, used or not (NIST SP 800-63B-4, AAL2). */
export const SESSION_SECONDS = 86_400;
/** A token cannot be revoked, so it is valid for a short time; the console renews it. */
const TOKEN_SECONDS = 600;
const INTERACTION_SECONDS = 1_800;

interface ProviderOptions {
  issuer: string;
  publicURL: string;
  clientID: string;
  /** The public address of the MCP service; undefined: apps cannot sign users in. */
  mcpURL: string | undefined;
  keys: KeySet;
  pool: Pool;
  logger: Logger;
}

export function accountURI(publicURL: string): string {
  return `${publicURL}${SIGN_IN_PATH}/account`;
}

/** OpenID Connect for the console, and OAuth for apps that call over MCP. A change of the keys takes a new provider; what it remembers is in Postgres. */
export function createProvider({ issuer, publicURL, clientID, mcpURL, keys, pool, logger }: ProviderOptions): Provider {
  const isHTTPS = publicURL.startsWith('https:');
  const cookie = { httpOnly: true, sameSite: 'lax', secure: isHTTPS, signed: true } as const;
  const prefix = isHTTPS ? '__Secure-gantry' : 'gantry';

  const isConsole = (client: { clientId?: string | undefined } | undefined) => client?.clientId === clientID;
  const seconds = (ofConsole: number, ofApp: number) => (_context: unknown, token: object) =>
    isConsole(token) ? ofConsole : ofApp;

  const provider = new Provider(issuer, {
    adapter: postgresAdapter(pool),
    clients: [
      {
        client_id: clientID,
        client_name: 'Gantry',
        application_type: 'web',
        token_endpoint_auth_method: 'none',
        redirect_uris: [`${publicURL}/console/signed-in`, accountURI(publicURL)],
        post_logout_redirect_uris: [`${publicURL}/console/`],
        response_types: ['code'],
        grant_types: ['authorization_code', 'refresh_token'],
      } as ClientMetadata,
    ],
    jwks: { keys: keys.jwks as never },
    clientAuthMethods: ['none'],
    responseTypes: ['code'],
    subjectTypes: ['public'],
    scopes: ['openid', 'email', 'profile', 'offline_access'],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: [] },
    // The API reads the address from the ID token.
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    clientBasedCORS: () => false,
    cookies: {
      keys: keys.cookieSecrets,
      names: { session: `${prefix}-session`, interaction: `${prefix}-sign-in`, resume: `${prefix}-resume` },
      long: { ...cookie, path: `${new URL(publicURL).pathname.replace(/\/$/, '')}${SIGN_IN_PATH}` },
      short: cookie,
    },
    features: {
      devInteractions: { enabled: false },
      // Requests without a sign-in would be stored.
      pushedAuthorizationRequests: { enabled: false },
      revocation: { enabled: true, allowedPolicy: (_context, client, token) => token.clientId === client.clientId },
      rpInitiatedLogout: { enabled: true, logoutSource: sendSignOut, postLogoutSuccessSource: sendSignedOut },
      registration: { enabled: mcpURL !== undefined, issueRegistrationAccessToken: false },
      resourceIndicators: resourceIndicators(mcpURL, clientID),
    },
    extraClientMetadata: { properties: ['app'], validator: checkRegistration },
    issueRefreshToken: async (context, client) =>
      client.grantTypeAllowed('refresh_token') && (isConsole(client) || staysConnected(context)),
    // A token that an app gives back ends all that it was given. The console's grant is that of all tabs.
    revokeGrantPolicy: ({ oidc }) =>
      !isConsole(oidc.client) || oidc.route !== 'revocation' || oidc.entities.AccessToken === undefined,
    rotateRefreshToken: true,
    // A session that is ended takes its tokens with it. Those of an app end when it is disconnected.
    expiresWithSession: (_context, token) => isConsole(token),
    ttl: {
      AccessToken: seconds(TOKEN_SECONDS, APP_TOKEN_SECONDS),
      AuthorizationCode: 60,
      Grant: seconds(2 * SESSION_SECONDS, GRANT_SECONDS),
      IdToken: TOKEN_SECONDS,
      Interaction: INTERACTION_SECONDS,
      RefreshToken: seconds(SESSION_SECONDS, REFRESH_SECONDS),
      Session: (_context, { loginTs }) => Math.max(1, (loginTs ?? now()) + SESSION_SECONDS - now()),
    },
    async findAccount(context, accountID, token) {
      const account = await findAccount(pool, accountID);
      const signedInAt = authTimeOf(token) ?? context.oidc.session?.loginTs ?? 0;
      if (!account || account.isDisabled || signedInAt < account.validAfter) return undefined;
      return {
        accountId: accountID,
        claims: () => ({ sub: accountID, email: account.email, email_verified: true }),
      };
    },
    interactions: { url: (_context, { uid }) => `${issuer}/interaction/${uid}`, policy: policyOf(pool, isConsole) },
    loadExistingGrant: (context) =>
      isConsole(context.oidc.client) ? grantEverything(context) : grantOfThisConsent(context),
    renderError: sendProviderError,
  });
  // The headers that it reads are set from PUBLIC_URL, and not by the client.
  provider.proxy = true;
  // It answers these itself, so they do not come to the error handler of the service.
  provider.on('server_error', ({ method, path, res }: KoaContextWithOIDC, error: Error) =>
    reportError(logger, toAppError(error), { method, path, requestID: res.getHeader('x-request-id') }),
  );
  return provider;
}

/** Asks for a sign-in also where the session is older than it may be, or than the last change of the password. */
function policyOf(pool: Pool, isConsole: (client: KoaContextWithOIDC['oidc']['client']) => boolean) {
  const policy = interactionPolicy.base();
  policy.get('login')?.checks.add(
    new interactionPolicy.Check('ended', 'The sign-in has ended', async ({ oidc }) => {
      // After a sign-in, too: the password may have been changed before the browser came back from it.
      const { session } = oidc as { session?: { accountId?: string; loginTs?: number } };
      if (!session?.accountId) return false;
      const account = await findAccount(pool, session.accountId);
      const signedInAt = session.loginTs ?? 0;
      return !account || account.isDisabled || signedInAt < account.validAfter || now() - signedInAt > SESSION_SECONDS;
    }),
  );
  // An app may have lost its secret of an earlier consent to another program, since it has none: it asks each time.
  policy.get('consent')?.checks.add(
    new interactionPolicy.Check('app', 'The user has not agreed to this app', ({ oidc }) => {
      const { client, result } = oidc as KoaContextWithOIDC['oidc'] & { result?: { consent?: { grantId?: string } } };
      return !isConsole(client) && result?.consent?.grantId === undefined;
    }),
  );
  return policy;
}

/** The grant that the user has made on the page of this very request. */
async function grantOfThisConsent({ oidc }: KoaContextWithOIDC) {
  const { result } = oidc as { result?: { consent?: { grantId?: string } } };
  const grantID = result?.consent?.grantId;
  return grantID === undefined ? undefined : await oidc.provider.Grant.find(grantID);
}

/** Users are not asked for consent to the console: it is this service. One grant for all tabs of a session. */
async function grantEverything({ oidc }: KoaContextWithOIDC) {
  const { provider, client, session } = oidc;
  const { Grant } = provider;
  const clientId = client?.clientId ?? '';
  const known = session?.grantIdFor(clientId);
  const accountId = session?.accountId ?? '';
  const found = known === undefined ? undefined : await Grant.find(known);
  const grant = found?.accountId === accountId ? found : new Grant({ clientId, accountId });
  grant.addOIDCScope(SCOPES);
  await grant.save();
  return grant;
}

const SCOPES = 'openid email profile offline_access';

function authTimeOf(token: unknown): number | undefined {
  const { authTime } = (token ?? {}) as { authTime?: number };
  return authTime;
}

function now(): number {
  return Math.floor(Date.now() / 1_000);
}
