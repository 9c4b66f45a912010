import type { ErrorOut, errors, KoaContextWithOIDC } from 'oidc-provider';
import { HTML, html } from '../http/response/html.ts';
import { type SentPage, signInPage } from './page.ts';

/** Pages that oidc-provider sends itself. */

export function sendSignOut(context: KoaContextWithOIDC, form: string): void {
  // The form is oidc-provider's, with its secret; the button belongs to it by its id.
  send(
    context,
    signInPage({
      title: 'Sign out of Gantry?',
      content: html`<div class="card">${new HTML(form)}
<p>This ends the sign-in of this browser.</p>
<button form="op.logoutForm" name="logout" value="yes">Sign out</button></div>`,
      leadsTo: leadsTo(context),
    }),
  );
}

export function sendSignedOut(context: KoaContextWithOIDC): void {
  send(
    context,
    signInPage({ title: 'You are signed out', content: html`<div class="card"><p>You may close this page.</p></div>` }),
  );
}

/** An error that cannot be told to the client, for example since its address is not a known one. */
export function sendProviderError(
  context: KoaContextWithOIDC,
  { error, error_description: description }: ErrorOut,
  _cause: errors.OIDCProviderError | Error,
): void {
  send(
    context,
    signInPage({
      title: 'This sign-in cannot go on',
      content: html`<div class="card"><p role="alert">${description ?? error}.</p>
<p>Go back to the page from which you came, and sign in again.</p></div>`,
    }),
  );
}

function leadsTo({ oidc }: KoaContextWithOIDC): string[] {
  const uri = oidc.params?.post_logout_redirect_uri;
  return typeof uri === 'string' && URL.canParse(uri) ? [new URL(uri).origin] : [];
}

function send(context: KoaContextWithOIDC, { headers, text }: SentPage): void {
  for (const [name, value] of Object.entries(headers)) context.set(name, value);
  context.type = 'html';
  context.body = text;
}
