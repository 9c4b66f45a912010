import { hash } from 'node:crypto';
import { HTML, html } from './html.ts';
import { iconLink } from './icon.ts';

const plainStyle = `
:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 3rem auto; max-width: 32rem; padding: 0 1rem; overflow-wrap: anywhere }
label { display: block; margin: 1rem 0 } input, select, textarea { box-sizing: border-box; font: inherit; width: 100% }
[type=checkbox] { width: auto } button { font: inherit; margin-right: .5rem } pre { font: inherit; white-space: pre-wrap }`;

/** A page for a person who has followed a link, without the console. */
interface Page {
  title: string;
  content: HTML;
  script?: string;
  style?: string;
  /** Where the answer to its forms may lead the browser, besides this site. */
  leadsTo?: readonly string[];
  /** Given: the content is in an element `main` of this class. */
  mainClass?: string;
}

interface SentPage {
  headers: Readonly<Record<string, string>>;
  text: string;
}

/** The text of a page, and the headers that it is sent with. Its policy lets it run its own script, and send forms to its own site. */
export function pageOf({ title, content, script, style = plainStyle, leadsTo = [], mainClass }: Page): SentPage {
  const policy = [
    "default-src 'none'",
    `script-src ${script === undefined ? "'none'" : digest(script)}`,
    `style-src ${digest(style)}`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    ["form-action 'self'", ...leadsTo].join(' '),
    "frame-ancestors 'none'",
  ].join('; ');
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>${title}</title>
${iconLink}
<style>${new HTML(style)}</style>
</head>
<body>
${mainClass !== undefined && html`<main class="${mainClass}">`}
<h1>${title}</h1>
${content}
${mainClass !== undefined && html`</main>`}
${script !== undefined && html`<script>${new HTML(script)}</script>`}
</body>
</html>
`;
  // The address may be a credential, as that of a form is: no other site may learn it.
  const headers = {
    'content-security-policy': policy,
    'content-type': 'text/html; charset=utf-8',
    'referrer-policy': 'no-referrer',
  };
  return { headers, text };
}

function digest(text: string): string {
  return `'sha256-${hash('sha256', text, 'base64')}'`;
}
