import { html } from '../http/response/html.ts';
import { alertOf, newPasswordField, type SentPage, signInPage } from './page.ts';
import { MIN_PASSWORD_LENGTH } from './password-rules.ts';

/** `email`: null where the reader says it. */
export function choosePasswordPage({
  email,
  typed = '',
  isReset,
  problem,
}: {
  email: string | null;
  typed?: string;
  isReset: boolean;
  problem?: string | undefined;
}): SentPage {
  const address =
    email === null
      ? html`<label>Your e-mail address <small>You sign in with it, and become the first user.</small>
<input type="email" name="email" value="${typed}" autocomplete="username" maxlength="320" required autofocus></label>`
      : html`<label>E-mail address <input type="email" value="${email}" autocomplete="username" readonly></label>`;
  return signInPage({
    title: isReset ? 'Choose a new password' : 'Welcome to Gantry',
    // The form goes to the address of the page, which has the token.
    content: html`<div class="card">${alertOf(problem)}
<form method="post">${address}
${newPasswordField(MIN_PASSWORD_LENGTH)}
<button class="wide">Set the password</button>
</form>
${isReset && html`<p class="dim">This ends every sign-in that you have now.</p>`}</div>`,
  });
}

export function passwordSetPage(publicURL: string): SentPage {
  return signInPage({
    title: 'Your password is set',
    content: html`<div class="card"><p role="status">From now on you sign in with it.</p>
<p><a class="button" href="${publicURL}/console/">Go to Gantry</a></p></div>`,
  });
}

export function usedLinkPage(issuer: string, sendsMail: boolean): SentPage {
  return signInPage({
    title: 'This link cannot be used',
    content: html`<div class="card"><p role="alert">It was used already, is too old, or was replaced by a newer one.</p>
<p>${sendsMail ? html`<a href="${issuer}/forgot">Ask for a new link</a>` : 'Ask your administrator for a new link.'}</p></div>`,
  });
}

export function tooManyLinksPage(problem: string): SentPage {
  return signInPage({
    title: 'This link can be used later',
    content: html`<div class="card">${alertOf(problem)}<p>Links were opened too often from your network. The link stays good.</p></div>`,
  });
}

export function forgotPage(problem?: string): SentPage {
  return signInPage({
    title: 'A new password',
    content: html`<div class="card">${alertOf(problem)}
<form method="post">
<label>E-mail address <small>A link to choose a new password is sent to it.</small>
<input type="email" name="email" autocomplete="username" maxlength="320" required autofocus></label>
<button class="wide">Send the link</button>
</form></div>`,
  });
}

/** The same for every address, so that it does not tell which addresses have an account. */
export function sentPage(publicURL: string): SentPage {
  return signInPage({
    title: 'Look into your mail',
    content: html`<div class="card"><p role="status">If there is an account with this address, a link is on its way. It can be used once, within an hour.</p>
<p>Nothing came? Look into the folder for unwanted mail, and check the address.</p>
<p><a href="${publicURL}/console/">Back to the sign-in</a></p></div>`,
  });
}

export function noMailPage(): SentPage {
  return signInPage({
    title: 'A new password',
    content: html`<div class="card"><p>This service sends no mail. Your administrator can give you a link to choose a new password.</p></div>`,
  });
}
