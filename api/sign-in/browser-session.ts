import { hash, randomBytes } from 'node:crypto';
import type { Request, Response } from 'express';
import { type Account, findAccount } from './accounts.ts';
import { sendPage } from './exchange.ts';
import { expiredPage } from './interaction-pages.ts';
import type { Needs } from './needs.ts';
import { accountURI } from './provider.ts';

/** A browser that is signed in at the provider. */
export interface SignedIn {
  account: Account;
  /** Names its session. */
  uid: string;
}

/** The sessions of the provider, for pages of its own. */
export function createBrowserSessions({ pool, publicURL, issuer, clientID, provider }: Needs) {
  return {
    async find(request: Request, response: Response): Promise<SignedIn | undefined> {
      const { Session, createContext } = current();
      const { accountId, loginTs = 0, uid } = await Session.get(createContext(request, response));
      const account = accountId === undefined ? undefined : await findAccount(pool, accountId);
      if (!account || account.isDisabled || loginTs < account.validAfter) return undefined;
      return { account, uid };
    },

    /** Leads through a sign-in and back; the code that comes back is not used, since the cookie says who it is. */
    askToSignIn(request: Request, response: Response): void {
      if ('code' in request.query || 'error' in request.query || request.method !== 'GET')
        return sendPage(response, 401, expiredPage(publicURL));
      const url = new URL(`${issuer}/auth`);
      url.search = new URLSearchParams({
        client_id: clientID,
        redirect_uri: accountURI(publicURL),
        response_type: 'code',
        scope: 'openid',
        code_challenge: hash('sha256', randomBytes(32), 'base64url'),
        code_challenge_method: 'S256',
      }).toString();
      response.redirect(303, url.href);
    },
  };

  function current() {
    const now = provider();
    return { Session: now.Session, createContext: now.createContext.bind(now) };
  }
}
