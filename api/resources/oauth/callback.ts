import { z } from 'zod';
import { readActingVersion } from '#shared/access/account-status.ts';
import { subjectsOf } from '#shared/core/caller.ts';
import { AppError, toAppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { Logger } from '#shared/core/logger.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { OAuthFlow } from '#shared/entities/tables/oauth-flow.ts';
import { oauthExchange } from '#shared/messaging/queues/oauth-exchange.ts';
import type { OAuthProvider } from '#shared/process/oauth-providers.ts';
import type { ApiContext } from '../../context/context.ts';
import { publicRoute } from '../../context/routes.ts';
import { createAuthorizer, denied } from '../../http/access/authorize.ts';
import type { RecordPublic } from '../../http/route/audit-entry.ts';
import type { Request, Response } from '../../http/route/route.ts';
import { tenantEntityManager } from '../../tenant/entity-manager.ts';
import { type BrowserSecret, forgetBrowser, readBrowser } from './browser.ts';
import { type FlowOutcome, sendOutcome } from './page.ts';
import { getProvider, redirectURIOf } from './providers.ts';
import { CallbackQuery, Provider } from './schemas.ts';
import { readState, type State } from './state.ts';
import { storeGrant } from './store-grant.ts';

export const finishFlow = publicRoute({
  name: 'finishOauth',
  method: 'get',
  path: '/api/v1/oauth/:provider/callback',
  summary: 'Finish connecting an account',
  description:
    'The provider redirects the browser to this page. It sends `OAUTH_SUCCESS` or `OAUTH_FAILURE` to the window that opened it.',
  params: Provider,
  query: CallbackQuery,
  produces: 'text/html',
  response: z.object({}),
  isSecret: true,

  async handle({ params, query, request, response, log, recorded }, context) {
    const provider = getProvider(context.config.oauth, params.provider);
    const state = readState(context.secrets, query.state);
    const outcome = await outcomeOf({ provider, state, query, request, response, log, recorded }, context);
    sendOutcome(response, outcome, state?.origin ?? null);
    return {};
  },
});

interface Return {
  provider: OAuthProvider;
  state: State | undefined;
  query: z.output<typeof CallbackQuery>;
  request: Request;
  response: Response;
  log: Logger;
  recorded: RecordPublic;
}

/** Every error is shown as a page, because the user waits in the window. */
async function outcomeOf(back: Return, context: ApiContext): Promise<FlowOutcome> {
  const { provider, log } = back;
  try {
    const oauthConnectionID = await finish(back, context);
    return { type: 'OAUTH_SUCCESS', oauthConnectionID, provider: provider.name };
  } catch (error) {
    const { code, message } = toAppError(error);
    if (code === 'INTERNAL_ERROR') log.error({ err: error }, 'an OAuth flow could not be finished');
    else log.info({ err: error, provider: provider.name }, 'an OAuth flow has failed');
    return { type: 'OAUTH_FAILURE', error: message, provider: provider.name };
  }
}

async function finish(back: Return, context: ApiContext): Promise<string> {
  const { provider, state, request, response } = back;
  if (state?.provider !== provider.name)
    throw flowError('state: this service did not issue it for this provider; start the connection again');
  if (state.expiresAt < Date.now()) throw flowError('This took more than ten minutes: begin again');
  const em = tenantEntityManager(context.orm.em, state.tenantID);
  const redirectURI = redirectURIOf(context.config.oauth, provider);
  const { flowID } = state;
  const { flow, browser } = await take(em, flowID, readBrowser(request, { flowID }));
  forgetBrowser(response, { flowID, redirectURI });
  const { tenantID, caller } = flow;
  return back.recorded({ tenantID, caller }, () => connect(back, context, { flow, browser, redirectURI }));
}

interface Taken {
  flow: OAuthFlow;
  browser: BrowserSecret;
  redirectURI: string;
}

async function connect(
  { provider, query, log }: Return,
  context: ApiContext,
  { flow, browser, redirectURI }: Taken,
): Promise<string> {
  if (query.error !== undefined) throw flowError(wordsOf(query.error, provider));
  if (query.code === undefined) throw flowError(`${provider.name} sent no code back`);
  await requireRights(flow, context);

  const oauthConnectionID = flow.oauthConnectionID ?? newID();
  const { caller, tenantID } = flow;
  const { codeVerifier, nonce } = browser;
  const payload = { oauthConnectionID, provider: provider.name, redirectURI, codeVerifier, nonce };
  // The exchange goes on when the window is closed: the code is used up by then, and the grant would belong to no
  // connection.
  const { expiresAt, refreshAt, ...granted } = await context.messaging.producer.request(
    oauthExchange,
    { ...payload, code: query.code, ...(query.iss !== undefined && { issuer: query.iss }) },
    { limitKeys: { user: caller.id, tenant: tenantID } },
  );
  const fields = { ...granted, expiresAt: dateOf(expiresAt), refreshAt: dateOf(refreshAt) };
  await storeGrant(context, { flow, grant: { oauthConnectionID, provider: provider.name, fields }, log });
  return oauthConnectionID;
}

/**
 * Takes a flow by deleting its row, so that it is used once. A request of another browser does not match the row, which
 * then stays.
 */
async function take(
  em: EntityManager,
  id: string,
  browser: BrowserSecret | undefined,
): Promise<{ flow: OAuthFlow; browser: BrowserSecret }> {
  if (!browser) throw flowError('This did not begin in this browser, or has been finished');
  const own = { id, browserHash: browser.hash };
  const flow = await em.findOne(OAuthFlow, own);
  if (!flow || (await em.nativeDelete(OAuthFlow, own)) === 0)
    throw flowError('This did not begin in this browser, or has been finished');
  return { flow, browser };
}

/** Checks the permission again: the flow began up to ten minutes ago. */
async function requireRights(
  { tenantID, caller, oauthConnectionID }: OAuthFlow,
  { pool, access: { policy } }: ApiContext,
): Promise<void> {
  const version = await readActingVersion(pool, tenantID, caller);
  if (version === null) throw denied();
  const authorizer = createAuthorizer(policy, { tenantID, version, subjects: subjectsOf(caller) });
  await authorizer.require([{ permission: 'datasource.update', object: `datasource:${oauthConnectionID ?? '*'}` }]);
}

function dateOf(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}

/** Any site can call this address: only error codes that a provider may send are repeated. */
function wordsOf(error: string, { name }: OAuthProvider): string {
  if (error === 'access_denied') return `Access was denied at ${name}`;
  return /^[a-z_]{1,64}$/.test(error) ? `${name} says ${error}` : `${name} says no`;
}

function flowError(message: string): AppError {
  return new AppError('INVALID_REQUEST', message);
}
