import { createHmac, hash, randomBytes } from 'node:crypto';
import type { Request, Response } from '../../http/route/route.ts';
import { STATE_MS } from './state.ts';

/**
 * Binds a flow to the browser that began it: a random text in a cookie. The database has its digest, and the provider gets values
 * derived from it, so that a reader of the database cannot finish the flow.
 */
export interface BrowserSecret {
  text: string;
  hash: string;
  /** PKCE verifier: the provider gives tokens only to a client that knows it. */
  codeVerifier: string;
  /** A value that the ID token must contain. */
  nonce: string;
}

export function newBrowserSecret(): BrowserSecret {
  return browserSecretOf(randomBytes(32).toString('base64url'));
}

function browserSecretOf(text: string): BrowserSecret {
  const derive = (purpose: string) => createHmac('sha256', text).update(purpose).digest('base64url');
  return { text, hash: hash('sha256', text), codeVerifier: derive('code verifier'), nonce: derive('nonce') };
}

interface Cookie {
  flowID: string;
  redirectURI: string;
}

/**
 * Sets the cookie, which is sent to the callback only. `Lax` cookies are sent when a provider redirects the browser back. A page of
 * another site needs `None` to store them, where browsers allow that at all.
 */
export function rememberBrowser(response: Response, secret: BrowserSecret, cookie: Cookie): void {
  response.cookie(nameOf(cookie), secret.text, { ...optionsOf(response, cookie), maxAge: STATE_MS });
}

export function forgetBrowser(response: Response, cookie: Cookie): void {
  response.clearCookie(nameOf(cookie), optionsOf(response, cookie));
}

export function readBrowser({ headers }: Request, { flowID }: Pick<Cookie, 'flowID'>): BrowserSecret | undefined {
  const start = `${nameOf({ flowID })}=`;
  const found = headers.cookie?.split('; ').find((cookie) => cookie.startsWith(start));
  return found === undefined ? undefined : browserSecretOf(found.slice(start.length));
}

/** One name for each flow, since several windows may be open at once. */
function nameOf({ flowID }: Pick<Cookie, 'flowID'>): string {
  return `gantry-oauth-${flowID}`;
}

function optionsOf(response: Response, { redirectURI }: Cookie) {
  const { protocol, pathname } = new URL(redirectURI);
  const secure = protocol === 'https:';
  const isFromElsewhere = response.req.get('sec-fetch-site') === 'cross-site';
  const sameSite = secure && isFromElsewhere ? ('none' as const) : ('lax' as const);
  return { path: pathname, httpOnly: true, secure, sameSite };
}
