import { hash } from 'node:crypto';
import { HTML, html } from '../../http/response/html.ts';
import type { Response } from '../../http/route/route.ts';

/** The outcome, in the contract's message kinds. */
export type FlowOutcome =
  | { type: 'OAUTH_SUCCESS'; provider: string; oauthConnectionID: string }
  | { type: 'OAUTH_FAILURE'; provider: string; error: string };

// The message and its target stand in the page as data, so that the script has one hash.
const script = `
const { message, origin } = document.body.dataset;
if (origin && window.opener) {
  window.opener.postMessage(JSON.parse(message), origin);
  window.close();
}`;

const style = 'body { font: 1rem/1.5 system-ui, sans-serif; margin: 3rem auto; max-width: 32rem; padding: 0 1rem }';

const digest = (text: string) => `'sha256-${hash('sha256', text, 'base64')}'`;

const policy = [
  "default-src 'none'",
  `script-src ${digest(script)}`,
  `style-src ${digest(style)}`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The page at the end of the flow. It notifies its opener, if that has the origin `origin`. */
export function sendOutcome(response: Response, outcome: FlowOutcome, origin: string | null): void {
  const isDone = outcome.type === 'OAUTH_SUCCESS';
  // Older pages read `vaultCredentialID`.
  const message = isDone ? { ...outcome, vaultCredentialID: outcome.oauthConnectionID } : outcome;
  const heading = isDone ? 'Connected' : 'Not connected';
  const words = isDone ? `Your account at ${outcome.provider} is connected.` : `${outcome.error}.`;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${heading}</title>
<style>${new HTML(style)}</style>
</head>
<body data-message="${JSON.stringify(message)}" data-origin="${origin ?? ''}">
<h1>${heading}</h1>
<p>${words} You may close this window.</p>
<script>${new HTML(script)}</script>
</body>
</html>
`;
  response.set({
    'content-security-policy': policy,
    // The window was at another site, and must keep its reference to the page that opened it.
    'cross-origin-opener-policy': 'unsafe-none',
    'referrer-policy': 'no-referrer',
  });
  response.type('html').send(page.text);
}
