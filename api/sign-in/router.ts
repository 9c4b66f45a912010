import express, { type NextFunction, type Request, type RequestHandler, type Response, Router } from 'express';
import { AppError } from '#shared/core/errors.ts';
import { SIGN_IN_PATH } from '#shared/process/config.ts';
import { scopes } from '../auth/app-scopes.ts';
import { accountRoutes } from './account-routes.ts';
import { originOf } from './audit.ts';
import { interactionSteps } from './interaction.ts';
import { linkRoutes } from './link-routes.ts';
import type { Needs } from './needs.ts';

/** Everything under the path of the sign-in: the pages, and what oidc-provider answers. */
export function signInRouter(needs: Needs): RequestHandler {
  const { publicURL, clientID, throttle } = needs;
  const router = Router();
  router.use(byPublicURL(publicURL));
  const form = [ofOwnPages(publicURL), express.urlencoded({ extended: false, limit: '64kb' })];

  const steps = interactionSteps(needs);
  router.get('/interaction/:uid', steps.show);
  router.post('/interaction/:uid/password', form, steps.password);
  router.post('/interaction/:uid/code', form, steps.code);
  router.post('/interaction/:uid/passkey-options', form, steps.passkeyOptions);
  router.post('/interaction/:uid/passkey', form, steps.passkey);
  router.post('/interaction/:uid/consent', form, steps.consent);
  router.post('/interaction/:uid/again', form, steps.again);

  const links = linkRoutes(needs);
  router.get('/link/:token', links.show);
  router.post('/link/:token', form, links.use);
  router.get('/forgot', links.showForgot);
  router.post('/forgot', form, links.forgot);

  const account = accountRoutes(needs);
  router.get('/account', account.show);
  router.post('/account/password', form, account.password);
  router.post('/account/totp', form, account.totp);
  router.post('/account/totp/confirm', form, account.confirmTOTP);
  router.post('/account/totp/remove', form, account.removeTOTP);
  router.post('/account/passkeys', form, account.newPasskey);
  router.post('/account/passkeys/save', form, account.savePasskey);
  router.post('/account/passkeys/remove', form, account.removePasskey);
  router.post('/account/recovery-codes', form, account.recoveryCodes);
  router.post('/account/sessions/end', form, account.endSession);
  router.post('/account/sessions/end-others', form, account.endOtherSessions);
  router.post('/account/apps/disconnect', form, account.disconnectApp);
  router.post('/sign-out', form, account.signOut);

  router.use('/reg', async (request, _response, next) => {
    await throttle.limitRegistration(originOf(request).network);
    next();
  });
  router.get('/auth', withScopes(clientID));
  // These paths store a row for each request.
  router.use(['/auth', '/session'], async (request, _response, next) => {
    await throttle.limitStart(originOf(request).network);
    next();
  });
  router.use((request, response) => needs.provider().callback()(request, response));
  return router;
}

/** oidc-provider makes addresses from these headers: they come from the setting, and not from the client. */
function byPublicURL(publicURL: string): RequestHandler {
  const { host, protocol, pathname } = new URL(publicURL);
  const path = `${pathname.replace(/\/$/, '')}${SIGN_IN_PATH}`;
  return (request, _response, next) => {
    request.headers.host = host;
    request.headers['x-forwarded-proto'] = protocol.slice(0, -1);
    delete request.headers['x-forwarded-host'];
    delete request.headers.forwarded;
    request.originalUrl = path + request.url;
    next();
  };
}

/** An app that asks for no scope of the MCP service asks for all: its user chooses. */
function withScopes(consoleID: string): RequestHandler {
  return (request, _response, next) => {
    const { searchParams } = new URL(request.url, 'http://gantry.internal');
    const asked = (searchParams.get('scope') ?? '').split(' ').filter((scope) => scope !== '');
    if (searchParams.get('client_id') !== consoleID && !asked.some((scope) => scopes.includes(scope))) {
      searchParams.set('scope', [...asked, ...scopes].join(' '));
      request.url = `${request.path}?${searchParams}`;
      request.originalUrl = request.originalUrl.replace(/\?.*$/, `?${searchParams}`);
    }
    next();
  };
}

/** Refuses forms of other sites, and those that do not say where they come from. */
function ofOwnPages(publicURL: string): RequestHandler {
  const { origin } = new URL(publicURL);
  return (request: Request, _response: Response, next: NextFunction) => {
    const site = request.get('sec-fetch-site');
    // Over plain http browsers send only the Origin.
    const isOwn = site === undefined ? request.get('origin') === origin : site === 'same-origin';
    next(isOwn ? undefined : new AppError('PERMISSION_DENIED', 'This may be asked by the pages of this service only'));
  };
}
