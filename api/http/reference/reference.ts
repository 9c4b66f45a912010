import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createGunzip } from 'node:zlib';
import { type IRouter, type Response, Router } from 'express';
import type { OpenAPI } from '../openapi/types.ts';
import { html } from '../response/html.ts';
import { iconLink } from '../response/icon.ts';
import { type Bundle, readBundle } from './bundle.ts';

/** The reference at `/docs`: Scalar's page, all of it from this server, under a policy that lets in nothing else. */
export function reference(document: () => Promise<OpenAPI>): IRouter {
  const start = readFileSync(new URL('./start.js', import.meta.url), 'utf8');
  const startName = `start.${hash('sha256', start).slice(0, 12)}.js`;
  let loading: Promise<Bundle> | undefined;
  // Loaded on demand: most processes never need it.
  const load = () => {
    loading ??= readBundle();
    return loading;
  };

  const router = Router();
  router.get('/', async (_request, response) => {
    const { name } = await load();
    const { info, paths } = await document();
    const devEmail = paths['/dev/token'] ? 'you@example.com' : '';
    response
      .set('content-security-policy', POLICY)
      .type('html')
      .send(
        html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title} API</title>
${iconLink}
</head>
<body>
<div id="reference"></div>
<script src="/docs/${startName}" data-dev-email="${devEmail}"></script>
<script src="/docs/${name}"></script>
</body>
</html>`.text,
      );
  });
  router.get(`/${startName}`, (_request, response) => void keep(response).send(start));
  router.get(/^\/scalar\.\w+\.js$/, async (request, response, next) => {
    const { name, gzipped } = await load();
    if (request.path !== `/${name}`) return next();
    keep(response).vary('accept-encoding');
    if (request.acceptsEncodings('gzip')) return void response.set('content-encoding', 'gzip').send(gzipped);
    return void createGunzip().end(gzipped).pipe(response);
  });
  return router;
}

/** Cached for a year: the name of a file contains a hash of its content. */
function keep(response: Response): Response {
  return response.type('js').set('cache-control', 'public, max-age=31536000, immutable');
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  // Vue and the editor set styles in attributes and in elements they create. A style can run nothing.
  "style-src 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');
