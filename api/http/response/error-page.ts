import type { IncomingMessage, ServerResponse } from 'node:http';
import { FORMS_PATH } from '#shared/runs/form-links.ts';
import { html } from './html.ts';
import { pageOf } from './page.ts';

/** The pages that browsers open from a link, or by a redirect of another site, and whose users need not have signed in. */
const OPENED: readonly { path: RegExp; title: string }[] = [
  { path: new RegExp(`^${FORMS_PATH}(?:[/?]|$)`, 'i'), title: 'This form cannot be answered' },
  { path: /^\/api\/v1\/oauth\/[^/]+\/callback(?:[/?]|$)/i, title: 'Not connected' },
  { path: /^\/sign-in(?:[/?]|$)/i, title: 'This cannot be shown' },
  { path: /^\/console(?:[/?]|$)/i, title: 'The console cannot be shown' },
];

/** The title of the page that shows an error to the person who opened the address; undefined if the client gets JSON. */
export function errorTitleFor({ url = '', headers }: Pick<IncomingMessage, 'url' | 'headers'>): string | undefined {
  return wantsHTML(headers) ? OPENED.find(({ path }) => path.test(url))?.title : undefined;
}

/** Whether the client is a browser that shows what it gets: programs name JSON, or nothing. */
export function wantsHTML({ accept = '' }: IncomingMessage['headers']): boolean {
  return /\btext\/html\b/i.test(accept) && !/\bjson\b/i.test(accept);
}

interface Failure {
  title: string;
  status: number;
  message: string;
  /** Seconds after which it may be tried again. */
  retryAfter?: number | undefined;
}

/** Sends a page in place of one that cannot be shown. The response may be one of Node, before there is an application. */
export function sendErrorPage(response: ServerResponse, failure: Failure): void {
  const { headers, text } = errorPage(failure);
  if (failure.retryAfter !== undefined) response.setHeader('retry-after', Math.ceil(failure.retryAfter));
  response.appendHeader('vary', 'accept');
  response.writeHead(failure.status, { ...headers, 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

function errorPage({ title, status, message, retryAfter }: Failure) {
  const isPassing = status === 429 || status === 503;
  const again = isPassing && html`<p>Try again in ${counted(Math.ceil(retryAfter ?? 1))}.</p>`;
  const shown = isPassing ? 'Not available at the moment' : title;
  return pageOf({ title: shown, content: html`<p role="alert">${message}.</p>${again}` });
}

function counted(seconds: number): string {
  return seconds === 1 ? 'a second' : `${seconds} seconds`;
}
