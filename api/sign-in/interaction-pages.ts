import { html } from '../http/response/html.ts';
import { alertOf, type SentPage, signInPage } from './page.ts';

interface Shown {
  /** Address of this sign-in, without a slash at its end. */
  action: string;
  /** Address of the sign-in service. */
  issuer: string;
  leadsTo: readonly string[];
  problem?: string | undefined;
}

export function passwordPage(
  { action, issuer, leadsTo, problem }: Shown,
  { email, withPasskeys, sendsMail }: { email: string; withPasskeys: boolean; sendsMail: boolean },
): SentPage {
  return signInPage({
    title: 'Sign in to Gantry',
    leadsTo,
    ...(withPasskeys && { script: askScript }),
    content: html`<div class="card">${alertOf(problem)}
<form method="post" action="${action}/password">
<label>E-mail address <input type="email" name="email" value="${email}" autocomplete="username webauthn" maxlength="320" required${email === '' && html` autofocus`}></label>
<label>Password <input type="password" name="password" autocomplete="current-password" maxlength="1024" required${email !== '' && html` autofocus`}></label>
<button class="wide">Sign in</button>
</form>
${withPasskeys && passkeyForm(action)}
</div>
<p class="dim">${sendsMail ? html`<a href="${issuer}/forgot">Forgot the password?</a>` : 'Forgot the password? Your administrator can give you a link for a new one.'} Accounts are by invitation.</p>`,
  });
}

export function secondFactorPage(
  { action, leadsTo, problem }: Shown,
  { hasCode, withPasskeys }: { hasCode: boolean; withPasskeys: boolean },
): SentPage {
  return signInPage({
    title: 'One more step',
    leadsTo,
    ...(withPasskeys && { script: askScript }),
    content: html`<div class="card">${alertOf(problem)}
${withPasskeys && passkeyForm(action)}
<form method="post" action="${action}/code">
<label>${hasCode ? 'Code of your app' : 'Recovery code'} <small>${hasCode ? 'Six digits, or one of your recovery codes.' : 'One of the codes that you were given with your passkey.'}</small>
<input name="code" autocomplete="one-time-code" ${hasCode && html`inputmode="text" autofocus`} maxlength="40" required></label>
<button class="wide">Go on</button>
</form>
<form method="post" action="${action}/again"><button class="plain wide">Start again</button></form>
</div>`,
  });
}

export function expiredPage(publicURL: string): SentPage {
  return signInPage({
    title: 'This sign-in has expired',
    content: html`<div class="card"><p>It was open for too long, was finished already, or was begun in another browser.</p>
<p><a class="button" href="${publicURL}/console/">Start again</a></p></div>`,
  });
}

/** Works with a script alone, so the button is shown by it. */
function passkeyForm(action: string) {
  return html`<form method="post" action="${action}/passkey" id="passkey" data-options="${action}/passkey-options" hidden>
<input type="hidden" name="response"><button type="button" class="plain wide">Sign in with a passkey</button>
<p role="alert" hidden></p></form>`;
}

const askScript = `
const form = document.getElementById('passkey');
if (window.PublicKeyCredential && PublicKeyCredential.parseRequestOptionsFromJSON) {
  form.hidden = false;
  const [button, problem] = [form.querySelector('button'), form.querySelector('[role=alert]')];
  button.addEventListener('click', async () => {
    button.disabled = true;
    problem.hidden = true;
    try {
      const answer = await fetch(form.dataset.options, { method: 'POST' });
      if (!answer.ok) throw new Error('This sign-in has expired. Load the page again.');
      const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(await answer.json());
      const credential = await navigator.credentials.get({ publicKey });
      form.elements.response.value = JSON.stringify(credential.toJSON());
      form.submit();
    } catch (error) {
      problem.textContent = error.name === 'NotAllowedError' ? 'No passkey was given. Try again, or use your password.' : error.message;
      problem.hidden = false;
      button.disabled = false;
    }
  });
}`;
