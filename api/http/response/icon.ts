import { readFileSync } from 'node:fs';
import type { Request, Response } from 'express';
import { html } from './html.ts';

const svg = readFileSync(new URL('./icon.svg', import.meta.url));

/** The address that browsers ask for where a page names no icon. */
export const ICON_PATH = '/favicon.ico';

/** A page that contains it needs `img-src 'self'` in its policy. */
export const iconLink = html`<link rel="icon" href="${ICON_PATH}" type="image/svg+xml">`;

/** Sends the icon of all pages of the API and the board. Browsers go by its type, not by the name. */
export function sendIcon(_request: Request, response: Response): void {
  response.type('svg').set('cache-control', 'public, max-age=86400').send(svg);
}
