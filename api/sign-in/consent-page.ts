import { wordsOf } from '../auth/app-scopes.ts';
import { html } from '../http/response/html.ts';
import { alertOf, type SentPage, signInPage } from './page.ts';

export interface ShownConsent {
  /** Address of this sign-in, without a slash at its end. */
  action: string;
  leadsTo: readonly string[];
  /** As the app names itself. */
  name: string;
  redirectURI: string;
  email: string;
  tenantTitle: string;
  /** Scopes that the app asks for. */
  asked: readonly string[];
  /** Whether the app can stay connected. */
  mayStay: boolean;
  days: number;
  problem?: string | undefined;
}

/** Widest, so it is chosen by those who want it. */
const unticked: readonly string[] = ['admin'];

export function consentPage(shown: ShownConsent): SentPage {
  const { action, leadsTo, name, redirectURI, email, tenantTitle, asked, mayStay, days, problem } = shown;
  const boxes = wordsOf(asked).map(
    ({ scope, words }) =>
      html`<label class="choice"><input type="checkbox" name="scope" value="${scope}"${!unticked.includes(scope) && html` checked`}> <span>${words}</span></label>`,
  );
  return signInPage({
    title: 'Let an app act for you?',
    leadsTo,
    content: html`<div class="card">${alertOf(problem)}
<p>An app that calls itself <strong>${name}</strong> asks to work in the tenant <strong>${tenantTitle}</strong> as <strong>${email}</strong>.</p>
<p class="dim">The app has chosen this name itself, and Gantry has not verified it. Allow it only if you have just added Gantry to that app. You then go back to ${destinationOf(redirectURI)}.</p>
<form method="post" action="${action}/consent">
<fieldset><legend>It may, where you may do so yourself</legend>
<p class="dim">Always: find assets by their titles, and read the documentation.</p>
${boxes}</fieldset>
${mayStay && html`<fieldset><legend>For how long</legend><label class="choice"><input type="checkbox" name="stay" value="yes" checked> <span>Stay connected for ${days} days, also when you have signed out here. Otherwise it asks again after an hour.</span></label></fieldset>`}
<p class="dim">You can disconnect it at any time under “Sign-in and security”.</p>
<button name="decision" value="allow" class="wide">Allow</button>
<button name="decision" value="deny" class="plain wide">Do not allow</button>
</form></div>`,
  });
}

/** For a person who is no member of the tenant, or has no room for one more app. */
export function noConsentPage(
  { action, leadsTo, problem }: Pick<ShownConsent, 'action' | 'leadsTo'> & { problem: string },
  publicURL: string,
): SentPage {
  return signInPage({
    title: 'This app cannot be connected',
    leadsTo,
    content: html`<div class="card">${alertOf(problem)}
<form method="post" action="${action}/consent"><button name="decision" value="deny" class="wide">Go back to the app</button></form>
<p class="dim">To use another account, sign out under <a href="${publicURL}/sign-in/account">Sign-in and security</a>, and begin again in the app.</p></div>`,
  });
}

/** Where an answer goes, as people call it. */
export function destinationOf(redirectURI: string) {
  const { protocol, host, hostname } = new URL(redirectURI);
  if (protocol === 'http:') return html`a program on this computer (<strong>${host}</strong>)`;
  if (protocol === 'https:') return html`<strong>${hostname}</strong>`;
  return html`the program that opens addresses with <strong>${protocol.slice(0, -1)}</strong>`;
}

/** Without characters that are not seen, or turn the text around them. */
export function readableName(name: string | undefined): string {
  return name?.replaceAll(/\p{C}/gu, '').trim() || 'An app without a name';
}
