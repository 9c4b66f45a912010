import { encode } from 'uqr';
import { type HTML, html } from '../http/response/html.ts';
import { appSection } from './app-section.ts';
import type { ShownApp } from './apps.ts';
import { alertOf, newPasswordField, type SentPage, signInPage } from './page.ts';
import type { ShownPasskey } from './passkeys.ts';
import { MIN_PASSWORD_LENGTH } from './password-rules.ts';
import type { ShownSession } from './sessions.ts';

export interface ShownAccount {
  email: string;
  hasTOTP: boolean;
  recoveryCodes: number;
  passkeys: readonly ShownPasskey[];
  /** False where browsers cannot have any. */
  mayHavePasskeys: boolean;
  sessions: readonly ShownSession[];
  apps: readonly ShownApp[];
  publicURL: string;
  /** Address of this page. */
  url: string;
  problem?: string | undefined;
  done?: string | undefined;
}

export function accountPage(account: ShownAccount): SentPage {
  const { email, publicURL, problem, done } = account;
  return signInPage({
    title: 'Sign-in and security',
    isWide: true,
    content: html`<p class="dim">Signed in as <strong>${email}</strong>. <a href="${publicURL}/console/">Back to Gantry</a></p>
${alertOf(problem)}${done !== undefined && html`<p role="status">${done}.</p>`}
${passwordSection(account)}${codeSection(account)}${passkeySection(account)}${recoverySection(account)}${sessionSection(account)}${appSection(account.url, account.apps)}`,
  });
}

function passwordSection({ url }: ShownAccount): HTML {
  return html`<section><h2>Password</h2>
<details><summary>Change the password</summary>
<form method="post" action="${url}/password">${currentPassword}${newPasswordField(MIN_PASSWORD_LENGTH)}
<p class="dim">Other sign-ins of yours end.</p><button>Change the password</button></form></details></section>`;
}

function codeSection({ url, hasTOTP }: ShownAccount): HTML {
  const change = hasTOTP
    ? html`<details><summary>Remove it</summary><form method="post" action="${url}/totp/remove">${currentPassword}<button>Remove the app</button></form></details>`
    : html`<details><summary>Set it up</summary><form method="post" action="${url}/totp">${currentPassword}<button>Set up an app</button></form></details>`;
  return html`<section><h2>Codes of an app</h2>
<p>${hasTOTP ? 'On: after the password, a code of your app is asked for.' : 'Off. With an app for codes, a stolen password alone opens nothing.'}</p>${change}</section>`;
}

function passkeySection({ url, passkeys, mayHavePasskeys }: ShownAccount): HTML {
  if (!mayHavePasskeys)
    return html`<section><h2>Passkeys</h2><p>Passkeys need a host name, and this service is reached by an address of numbers.</p></section>`;
  const rows = passkeys.map(
    ({
      id,
      name,
      createdAt,
      lastUsedAt,
    }) => html`<div class="row"><p><strong>${name}</strong><br><span class="dim">Added ${dayOf(createdAt)}, ${lastUsedAt ? `last used ${dayOf(lastUsedAt)}` : 'not used yet'}</span></p>
<details><summary>Remove</summary><form method="post" action="${url}/passkeys/remove"><input type="hidden" name="id" value="${id}">${currentPassword}<button>Remove ${name}</button></form></details></div>`,
  );
  return html`<section><h2>Passkeys</h2>
<p>A passkey is on your device, and needs no password. With one, a password alone opens nothing.</p>${rows}
<details><summary>Add a passkey</summary><form method="post" action="${url}/passkeys">${currentPassword}
<label>Name <small>For example that of the device.</small><input name="name" maxlength="60" required></label><button>Go on</button></form></details></section>`;
}

function recoverySection({ url, recoveryCodes, hasTOTP, passkeys }: ShownAccount): HTML | undefined {
  if (!hasTOTP && passkeys.length === 0) return undefined;
  return html`<section><h2>Recovery codes</h2>
<p>${recoveryCodes === 1 ? 'One code is left.' : `${recoveryCodes} codes are left.`} Each opens the account once, after the password, if the device is lost.</p>
<details><summary>Make new ones</summary><form method="post" action="${url}/recovery-codes">${currentPassword}<p class="dim">The ones before stop to work.</p><button>Make new codes</button></form></details></section>`;
}

function sessionSection({ url, sessions }: ShownAccount): HTML {
  const rows = sessions.map(
    ({
      uid,
      userAgent,
      ipAddress,
      createdAt,
      isOwn,
    }) => html`<div class="row"><p><strong>${nameOfBrowser(userAgent)}</strong><br><span class="dim">${ipAddress ?? ''}, since ${timeOf(createdAt)}${isOwn && ', this one'}</span></p>
<form method="post" action="${url}/sessions/end"><input type="hidden" name="uid" value="${uid}"><button class="plain">${isOwn ? 'Sign out' : 'End'}</button></form></div>`,
  );
  return html`<section><h2>Where you are signed in</h2>${rows}
${sessions.length > 1 && html`<form method="post" action="${url}/sessions/end-others"><button class="plain">End all others</button></form>`}</section>`;
}

export function totpPage({ url, address, secret, sealed, problem }: TOTPSetup): SentPage {
  return signInPage({
    title: 'Set up codes of an app',
    content: html`<div class="card">${alertOf(problem)}
<p>1. Read this code with your app, or type the key into it.</p>
<img class="qr" alt="QR code of the key below" src="${qrCode(address)}">
<p><code>${secret.match(/.{1,4}/g)?.join(' ') ?? ''}</code></p>
<form method="post" action="${url}/totp/confirm"><input type="hidden" name="sealed" value="${sealed}">
<label>2. Type the code that it shows <input name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="10" required autofocus></label>
<button>Turn it on</button></form>
<p><a href="${url}">Not now</a></p></div>`,
  });
}

interface TOTPSetup {
  url: string;
  address: string;
  secret: string;
  sealed: string;
  problem?: string;
}

export function recoveryCodesPage(url: string, codes: readonly string[], done: string): SentPage {
  return signInPage({
    title: 'Your recovery codes',
    content: html`<div class="card"><p role="status">${done}.</p>
<p>Keep these codes where the device is not: on paper, or in a safe for passwords. Each opens your account once if the device is lost. They are not shown again.</p>
<ul class="codes">${codes.map((code) => html`<li>${code}</li>`)}</ul>
<p><a class="button" href="${url}">I have kept them</a></p></div>`,
  });
}

export function newPasskeyPage({ url, name, sealed, options }: PasskeySetup): SentPage {
  return signInPage({
    title: 'Add a passkey',
    script: createScript,
    content: html`<div class="card"><p>Your browser asks how to unlock the passkey.</p>
<form method="post" action="${url}/passkeys/save" id="passkey" data-options="${JSON.stringify(options)}">
<input type="hidden" name="sealed" value="${sealed}"><input type="hidden" name="name" value="${name}"><input type="hidden" name="response">
<button type="button">Make the passkey</button><p role="alert" hidden></p></form>
<noscript><p>This needs JavaScript.</p></noscript><p><a href="${url}">Not now</a></p></div>`,
  });
}

interface PasskeySetup {
  url: string;
  name: string;
  sealed: string;
  options: object;
}

const createScript = `
const form = document.getElementById('passkey');
const [button, problem] = [form.querySelector('button'), form.querySelector('[role=alert]')];
button.addEventListener('click', async () => {
  button.disabled = true;
  problem.hidden = true;
  try {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(JSON.parse(form.dataset.options));
    const credential = await navigator.credentials.create({ publicKey });
    form.elements.response.value = JSON.stringify(credential.toJSON());
    form.submit();
  } catch (error) {
    problem.textContent = error.name === 'InvalidStateError' ? 'This device has a passkey of this account already.' : 'No passkey was made. Try again.';
    problem.hidden = false;
    button.disabled = false;
  }
});`;

const currentPassword = html`<label>Your password <input type="password" name="current" autocomplete="current-password" maxlength="1024" required></label>`;

/** An image of one path: each dark module is a square of the length 1. */
function qrCode(text: string): string {
  const { data, size } = encode(text, { border: 2 });
  const path = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('');
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}"><path d="${path}"/></svg>`;
  return `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`;
}

/** The kind of browser and of machine, as people call them. */
function nameOfBrowser(userAgent: string | null): string {
  const browsers = { Edge: /Edg/, Firefox: /Firefox/, Chrome: /Chrom/, Safari: /Safari/ };
  const machines = {
    iPhone: /iPhone/,
    iPad: /iPad/,
    Android: /Android/,
    Windows: /Windows/,
    Mac: /Macintosh/,
    Linux: /Linux/,
  };
  const find = (kinds: Record<string, RegExp>) => Object.keys(kinds).find((kind) => kinds[kind]?.test(userAgent ?? ''));
  const [browser, machine] = [find(browsers), find(machines)];
  return `${browser ?? userAgent?.slice(0, 60) ?? 'A program without a name'}${machine ? ` on ${machine}` : ''}`;
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}

function timeOf(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
