import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type IRouter, type RequestHandler, type Response, Router } from 'express';
import type { Config } from '#shared/process/config.ts';
import { html } from '../response/html.ts';
import { embeddedDocuments } from './embedded.ts';
import { createProviderOrigins } from './provider-origins.ts';

interface Built {
  /** The text of the page, with `NONCE` in the places of a response's nonce. */
  page: string;
  files: RequestHandler;
}

/** The console at `/console/`: one page for every address, and the hashed files that it loads. */
export function consolePages(config: Config): IRouter {
  const { files, page } = openConsole(config, 'index.html');
  const router = Router();
  router.use(files);
  router.use(embeddedDocuments());
  router.get(['/', '/*path'], (request, response, next) => {
    if (/^\/(?:assets|samples)\//.test(request.path)) return next();
    // Lets the window in which the user connects an account tell this page how that ended.
    response.set('cross-origin-opener-policy', 'same-origin-allow-popups');
    return page(request, response, next);
  });
  return router;
}

/**
 * A page of the build, and the files that it loads, which it expects at `/console/`. `details` are written into the
 * fleet's page as JSON.
 */
export function openConsole(
  { console: { folder, publicURL }, auth }: Config,
  name: 'index.html' | 'fleet.html',
  details: object = {},
) {
  const isHTTPS = publicURL?.startsWith('https:') ?? false;
  // The page of the board signs operators in itself, without a provider. The built-in one is of this origin.
  const findProvider = createProviderOrigins(name === 'index.html' && !auth.isBuiltIn ? auth.issuer : undefined);
  let built: Built | undefined;
  // The build of `npm start` may end after the start of the API.
  const load = async () => {
    built ??= folder === undefined ? undefined : await readBuilt(folder, name);
    return built;
  };

  const files = Router();
  files.get(['/assets/*path', '/samples/*path', '/scheme.js'], async (request, response, next) => {
    const found = await load();
    if (found) found.files(request, response, next);
    else next();
  });
  const page: RequestHandler = async (_request, response) => {
    const nonce = randomBytes(16).toString('base64url');
    response
      .set('content-security-policy', policy({ nonce, provider: await findProvider(), isHTTPS }))
      .set('cache-control', 'no-cache')
      .type('html');
    const found = await load();
    if (found) response.send(found.page.replaceAll('NONCE', nonce).replace('FACTS', () => asText(details)));
    else sendUnbuilt(response, folder);
  };
  return { files, page };
}

function asText(details: object): string {
  return html`${JSON.stringify(details)}`.text;
}

async function readBuilt(folder: string, name: string): Promise<Built | undefined> {
  const page = await readFile(join(folder, name), 'utf8').catch(() => undefined);
  if (page === undefined) return undefined;
  const { default: sirv } = await import('sirv');
  return {
    page,
    files: sirv(folder, {
      brotli: true,
      gzip: true,
      // Names in `assets/` contain a hash of the content.
      setHeaders(response, path) {
        const isHashed = path.startsWith('/assets/');
        response.setHeader('cache-control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache');
      },
    }),
  };
}

function policy({
  nonce,
  provider,
  isHTTPS,
}: {
  nonce: string;
  provider: readonly string[];
  isHTTPS: boolean;
}): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    // Files of the tenant are read with the token, and shown by addresses that only this page knows.
    "img-src 'self' data: blob:",
    'media-src data: blob:',
    // The page asks the provider for its configuration and for tokens.
    ['connect-src', "'self'", ...provider].join(' '),
    "font-src 'self'",
    // A frame may be led to no other site, with data of the page in the address.
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    // Over plain HTTP, this directive would turn the addresses of our own files into https.
    ...(isHTTPS ? ['upgrade-insecure-requests'] : []),
  ].join('; ');
}

function sendUnbuilt(response: Response, folder: string | undefined): void {
  const isAwaited = folder !== undefined;
  if (isAwaited) response.set('refresh', '3');
  response.status(503).send(
    html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Gantry</title></head>
<body>
<h1>The console is not built</h1>
${
  isAwaited
    ? html`<p><code>npm start</code> builds it beside the start, which takes a few seconds, and a minute if its packages are installed first. This page tries again by itself.</p>
<p>If it never comes, <code>node ops/tools/build-console.ts</code> builds it and says what is wrong.</p>`
    : html`<p>This server has no folder for it: build it with <code>node ops/tools/build-console.ts ${'<folder>'}</code>, and name the folder in <code>CONSOLE_DIR</code>.</p>`
}
</body>
</html>`.text,
  );
}
