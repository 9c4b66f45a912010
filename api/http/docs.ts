import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RequestHandler } from 'express';
import { renderPage } from './docs/page.ts';
import type { OpenAPI } from './openapi/types.ts';

const read = (name: string) => readFileSync(new URL(`./docs/${name}`, import.meta.url), 'utf8');

/** The reference at `/docs`. Its own policy lets in its one style and its one script, and nothing from anywhere else. */
export function docs(document: OpenAPI): RequestHandler {
  const parts = { style: read('style.css'), script: read('script.js') };
  const page = renderPage(document, parts);
  const source = (text: string) => `'sha256-${hash('sha256', text, 'base64')}'`;
  const policy = [
    "default-src 'none'",
    `style-src ${source(parts.style)}`,
    `script-src ${source(parts.script)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return (_request, response) => {
    response.setHeader('content-security-policy', policy).type('html').send(page);
  };
}
