import { hash } from 'node:crypto';
import { z } from 'zod';
import type { Caller } from '#shared/core/caller.ts';
import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import { invalid } from '#shared/core/schema/issues.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { OAuthConnection } from '#shared/entities/tables/oauth-connection.ts';
import { OAuthFlow } from '#shared/entities/tables/oauth-flow.ts';
import { isOpenID, type OAuthProvider } from '#shared/process/oauth-providers.ts';
import type { ApiContext } from '../../context/context.ts';
import { tenantRoute } from '../../context/routes.ts';
import type { Request, Response } from '../../http/route/route.ts';
import { type BrowserSecret, newBrowserSecret, rememberBrowser } from './browser.ts';
import { getProvider, redirectURIOf } from './providers.ts';
import { AuthorizationURL, StartQuery, TenantAtProvider } from './schemas.ts';
import { STATE_MS, writeState } from './state.ts';

const shared = {
  method: 'get',
  isWholePath: true,
  access: ({ query }: { query: z.output<typeof StartQuery> }) =>
    [{ permission: 'datasource.update', object: `datasource:${query.oauthConnectionID ?? '*'}` }] as const,
  params: TenantAtProvider,
  query: StartQuery,
  isSecret: true,
} as const;

export const startFlow = tenantRoute({
  name: 'startOauth',
  ...shared,
  path: '/api/v1/oauth/:provider/auth/:tenantID',
  summary: 'Start connecting an account',
  description: 'Redirects the browser to the provider. When it comes back, `finishOauth` stores the connection.',
  status: 302,
  response: z.object({}),

  async handle(input, context) {
    const url = await begin(input, context);
    // An opener policy on this redirect would cut the window off from the page that opened it.
    input.response.set('cross-origin-opener-policy', 'unsafe-none').redirect(url);
    return {};
  },
});

export const readAuthorizationURL = tenantRoute({
  name: 'getOauthUrl',
  ...shared,
  path: '/api/v1/oauth/:provider/:tenantID/url',
  summary: 'Get the URL to connect an account',
  description:
    'Returns the address at the provider that the browser must open. The same browser must send this request, with credentials.',
  response: AuthorizationURL,

  async handle(input, context) {
    return { url: await begin(input, context) };
  },
});

interface Beginning {
  params: z.output<typeof TenantAtProvider>;
  query: z.output<typeof StartQuery>;
  caller: Caller;
  em: EntityManager;
  response: Response;
}

/** Stores the flow, sets the browser's cookie, and answers with the provider's authorization URL. */
async function begin({ params, query, caller, em, response }: Beginning, context: ApiContext): Promise<string> {
  const { config, secrets } = context;
  const { tenantID } = params;
  const provider = getProvider(config.oauth, params.provider);
  const { oauthConnectionID } = query;
  if (oauthConnectionID) await checkConnection(em, oauthConnectionID, provider);

  const [flowID, expiresAt] = [newID(), Date.now() + STATE_MS];
  const browser = newBrowserSecret();
  const redirectURI = redirectURIOf(config.oauth, provider);
  const origin = originOf(response.req, config.oauth);
  const state = writeState(secrets, { flowID, tenantID, provider: provider.name, origin, expiresAt });
  em.create(OAuthFlow, {
    id: flowID,
    tenantID,
    oauthConnectionID,
    caller,
    browserHash: browser.hash,
    expiresAt: new Date(expiresAt),
  });
  await em.flush();
  rememberBrowser(response, browser, { flowID, redirectURI });
  return authorizationURL(provider, { redirectURI, state, browser });
}

async function checkConnection(em: EntityManager, id: string, { name }: OAuthProvider): Promise<void> {
  const connection = await em.findOne(OAuthConnection, { id }, { fields: ['provider'] });
  if (!connection) throw new AppError('NOT_FOUND', 'OAuth connection not found');
  if (connection.provider !== name)
    throw invalid([{ path: ['oauthConnectionID'], message: `is a connection to ${connection.provider}` }]);
}

/** The origin of the calling page, if it is in the whitelist: only such a page is notified of the outcome. */
function originOf(request: Request, { publicURL, uiOrigins }: ApiContext['config']['oauth']): string | null {
  const callingOrigin = request.get('origin') ?? URL.parse(request.get('referer') ?? '')?.origin;
  const own = new URL(publicURL).origin;
  // Browsers send no Origin for GET requests of the API's own pages.
  if (callingOrigin === undefined) return request.get('sec-fetch-site') === 'same-origin' ? own : null;
  return callingOrigin === own || uiOrigins.includes(callingOrigin) ? callingOrigin : null;
}

interface AuthorizationRequest {
  redirectURI: string;
  state: string;
  browser: BrowserSecret;
}

function authorizationURL(provider: OAuthProvider, { redirectURI, state, browser }: AuthorizationRequest): string {
  const url = new URL(provider.authorizationURL);
  const params = {
    ...provider.authorizationParams,
    response_type: 'code',
    client_id: provider.clientID,
    redirect_uri: redirectURI,
    ...(provider.scopes.length > 0 && { scope: provider.scopes.join(' ') }),
    state,
    code_challenge: hash('sha256', browser.codeVerifier, 'base64url'),
    code_challenge_method: 'S256',
    ...(isOpenID(provider) && { nonce: browser.nonce }),
  };
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  return url.href;
}
