/** The board's own pages: plain HTML without scripts. */
import { iconLink } from '#api/http/response/icon.ts';

export const pagePolicy =
  "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

export function loginPage({ formToken, problem }: { formToken: string; problem?: string }): string {
  return page(
    'Sign in',
    `${problem ? `<p role="alert">${escapeHTML(problem)}</p>` : ''}
    <form method="post" action="/login">
      <input type="hidden" name="formToken" value="${escapeHTML(formToken)}">
      <label>E-mail address <input type="email" name="email" autocomplete="username" required autofocus></label>
      <label>Password <input type="password" name="password" autocomplete="current-password" required></label>
      <button>Sign in</button>
    </form>`,
  );
}

export function logoutPage({ email }: { email: string }): string {
  return page(
    'Sign out',
    `<p>Signed in as ${escapeHTML(email)}.</p>
    <form method="post" action="/logout"><button>Sign out</button></form>
    <p><a href="/">Back to the queues</a></p>`,
  );
}

export function problemPage(problem: string): string {
  return page('Gantry', `<p role="alert">${escapeHTML(problem)}</p><p><a href="/">Try again</a></p>`);
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>${title} · Gantry queues</title>
    ${iconLink.text}
    <style>
      body { font: 16px/1.5 system-ui, sans-serif; max-width: 22rem; margin: 15vh auto; padding: 0 1rem; }
      label { display: block; margin: 1rem 0; }
      input { display: block; width: 100%; box-sizing: border-box; font: inherit; padding: 0.4rem; }
      button { font: inherit; padding: 0.4rem 1rem; }
      [role='alert'] { border-left: 4px solid #c33; padding-left: 0.75rem; }
    </style>
  </head>
  <body>
    <h1>${title}</h1>
    ${content}
  </body>
</html>
`;
}

function escapeHTML(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
