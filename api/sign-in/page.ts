import { type HTML, html } from '../http/response/html.ts';
import { pageOf } from '../http/response/page.ts';

/** Colours and shapes of the console. */
const style = `
:root { color-scheme: light dark; --page: #f8f9fa; --card: #fff; --text: #1f2328; --dim: #5c636a; --line: #dee2e6; --link: #1864ab; --bad: #c92a2a; --good: #2b6e3f; --field: #fff }
@media (prefers-color-scheme: dark) { :root { --page: #1a1b1e; --card: #242424; --text: #dcdfe3; --dim: #a3a8ae; --line: #424242; --link: #74c0fc; --bad: #ff8787; --good: #8ce99a; --field: #2e2e2e } }
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--text); font: .9375rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; overflow-wrap: anywhere }
main { max-width: 27rem; margin: 0 auto; padding: 9vh 1rem 3rem }
main.wide { max-width: 44rem; padding-top: 2.5rem }
h1 { font-size: 1.5rem; font-weight: 600; line-height: 1.3; margin: 0 0 1rem }
h2 { font-size: 1.0625rem; font-weight: 600; margin: 0 0 .5rem }
section, .card { background: var(--card); border: 1px solid var(--line); border-radius: 4px; padding: 1.25rem; margin: 0 0 1rem }
p { margin: 0 0 .75rem } section > :last-child, .card > :last-child { margin-bottom: 0 }
label { display: block; margin: 0 0 .9rem; font-weight: 500 }
label small { display: block; font-weight: 400; color: var(--dim) }
input { display: block; width: 100%; margin-top: .25rem; padding: .5rem .65rem; font: inherit; color: inherit; background: var(--field); border: 1px solid #868e96; border-radius: 4px }
fieldset { border: 0; border-top: 1px solid var(--line); margin: 0 0 .75rem; padding: .75rem 0 0 } legend { font-weight: 600; padding: 0 .5rem 0 0 }
.choice { display: flex; gap: .6rem; align-items: flex-start; font-weight: 400; margin: 0 0 .5rem } .choice input { width: auto; flex: none; margin: .3rem 0 0 }
input:read-only:not([type=checkbox]) { border-style: dashed }
button, .button { display: inline-block; font: inherit; font-weight: 600; padding: .5rem 1.1rem; border: 1px solid #1971c2; border-radius: 4px; background: #1971c2; color: #fff; cursor: pointer; text-decoration: none }
button:hover, .button:hover { background: #1864ab } button[disabled] { opacity: .6; cursor: default }
button.plain { background: transparent; color: var(--link); border-color: var(--line) } button.plain:hover { background: var(--page) }
button.wide { width: 100%; margin-bottom: .6rem }
a { color: var(--link) } p > a:only-child:not(.button) { display: inline-block; padding: .15rem 0 } :focus-visible { outline: 2px solid #339af0; outline-offset: 2px }
[role=alert] { border-left: 4px solid var(--bad); padding: .1rem 0 .1rem .75rem; margin: 0 0 1rem }
[role=status] { border-left: 4px solid var(--good); padding: .1rem 0 .1rem .75rem; margin: 0 0 1rem }
.dim { color: var(--dim) } .row { display: flex; gap: .75rem; align-items: center; justify-content: space-between; flex-wrap: wrap; border-top: 1px solid var(--line); padding: .6rem 0 }
.row p { margin: 0 } .row form { margin: 0 }
.qr { display: block; width: 12rem; height: 12rem; margin: 0 0 1rem; background: #fff; padding: .5rem; border-radius: 4px }
code, .codes { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace } .codes { columns: 2; padding-left: 1.25rem }
@media (max-width: 30rem) { .codes { columns: 1 } }
details { margin-top: .5rem } summary { cursor: pointer; color: var(--link) } details form { margin-top: .75rem }`;

interface SignInPage {
  title: string;
  content: HTML;
  isWide?: boolean;
  script?: string;
  /** Where the answer to its forms may lead the browser, besides this site. */
  leadsTo?: readonly string[];
}

export interface SentPage {
  headers: Readonly<Record<string, string>>;
  text: string;
}

/** A page of the sign-in. Only its own script runs, if it has one, and no other site may show it in a frame. */
export function signInPage({ title, content, isWide = false, script, leadsTo = [] }: SignInPage): SentPage {
  const { headers, text } = pageOf({
    title,
    content,
    style,
    leadsTo,
    mainClass: isWide ? 'wide' : '',
    ...(script !== undefined && { script }),
  });
  return {
    text,
    headers: {
      ...headers,
      'cache-control': 'no-store',
      // With `no-referrer`, browsers also leave out the Origin by which a form is known to be our own.
      'referrer-policy': 'same-origin',
      'x-frame-options': 'DENY',
    },
  };
}

export function alertOf(problem: string | undefined): HTML | undefined {
  return problem === undefined ? undefined : html`<p role="alert">${problem}.</p>`;
}

/** The fields of a form that every password of this service has. */
export function newPasswordField(minLength: number): HTML {
  return html`<label>New password <small>At least ${minLength} characters. Several words in a row are easy to remember.</small>
<input type="password" name="password" autocomplete="new-password" minlength="${minLength}" required></label>`;
}
