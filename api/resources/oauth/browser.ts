import { createHmac, hash, randomBytes } from 'node:crypto';
import type { Request, Response } from '../../http/route.ts';
import { STATE_MS } from './state.ts';

/**
 * What only the browser has that began: a random text in a cookie. We keep its digest, and the provider gets what is made of it,
 * so that nothing in our database is worth anything to whoever reads it.
 */
export interface BrowserSecret {
  text: string;
  hash: string;
  /** PKCE: the provider gives tokens to whoever knows this, and to nobody else. */
  codeVerifier: string;
  /** Comes back in an ID token. */
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
 * Sent to the callback and nowhere else. Lax goes along when a provider sends the browser back. A page of another site has its
 * answer's cookies taken only as None, by browsers that do so at all.
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

/** Of its own for each: several windows may be on their way at once. */
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
