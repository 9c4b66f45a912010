import { createServer as createHTTPServer, type RequestListener, type Server } from 'node:http';
import express, { type Express } from 'express';
import helmet from 'helmet';
import { runCooperatively } from '#shared/concurrency/cooperative.ts';
import { SIGN_IN_PATH } from '#shared/process/config.ts';
import type { ApiContext } from '../context/context.ts';
import { consolePages } from '../http/console/console.ts';
import { describingRoutes } from '../http/openapi/describe-routes.ts';
import type { OpenAPI } from '../http/openapi/types.ts';
import { reference } from '../http/reference/reference.ts';
import { bodyReader } from '../http/request/body.ts';
import { requestID } from '../http/request/request-id.ts';
import { crossOrigin } from '../http/response/cors.ts';
import { sendErrors, unknownPath } from '../http/response/errors.ts';
import { health, readiness } from '../http/response/health.ts';
import { ICON_PATH, sendIcon } from '../http/response/icon.ts';
import type { RouteGroup } from '../http/route/route.ts';
import { mount } from '../http/serve/mount.ts';
import { describeEvents } from '../realtime/describe-events.ts';
import { otherMethods } from '../resources/webhooks/other-methods.ts';
import type { SignIn } from '../sign-in/sign-in.ts';
import { devIssuerRoutes } from './dev-issuer-routes.ts';

const timeouts = {
  /** Longer than a load balancer keeps an idle connection, so that it never sends a request into a closed one. */
  keepAliveTimeout: 75_000,
  /** From the first byte of a request. Clients that send headers a byte at a time would hold connections for nothing. */
  headersTimeout: 20_000,
  connectionsCheckingInterval: 5_000,
};

/** Clients look for the metadata of an issuer with a path at the root of its host (RFC 8414), or below that path. */
function serveSignIn(app: Express, { serve }: SignIn): void {
  app.use(SIGN_IN_PATH, serve);
  for (const name of ['oauth-authorization-server', 'openid-configuration'])
    app.all(`/.well-known/${name}${SIGN_IN_PATH}`, (request, response, next) => {
      request.url = `/.well-known/${name}`;
      return serve(request, response, next);
    });
}

/** The server, not listening yet. */
export function createServer(listener: RequestListener, limits: Partial<typeof timeouts> = {}): Server {
  return createHTTPServer({ ...timeouts, ...limits }, listener);
}

/** Everything that the service answers over HTTP. */
export function createApp(context: ApiContext, groups: readonly RouteGroup<ApiContext>[]): Express {
  const { http } = context.config;
  const served = context.access.devIssuer ? [...groups, devIssuerRoutes(context.access.devIssuer)] : groups;
  // Describing the routes takes 0.3 s, in turns with other work, and most processes are never asked for it.
  let description: Promise<OpenAPI> | undefined;
  const document = () => {
    description ??= runCooperatively(describingRoutes(served));
    return description;
  };
  // Anyone may ask for it, and to write it takes 10 ms.
  let text: Promise<Buffer> | undefined;
  const documentText = () => {
    text ??= document().then((whole) => Buffer.from(JSON.stringify(whole)));
    return text;
  };

  const app = express();
  app.disable('x-powered-by');
  // Answers are private and change often; an ETag would cost more than it saves.
  app.disable('etag');
  app.set('trust proxy', [...http.trustedProxies]);
  app.use(helmet());
  app.use(requestID);
  app.use(crossOrigin(http.corsOrigins));
  app.get(ICON_PATH, sendIcon);
  app.get('/health', health);
  app.get('/ready', readiness(context));
  app.get('/openapi.json', async (_request, response) => void response.type('json').send(await documentText()));
  app.get('/asyncapi.json', (request, response) => void response.json(describeEvents(request.get('host'))));
  app.use('/docs', reference(document));
  app.use('/console', consolePages(context.config));
  const { signIn } = context.access;
  if (signIn) serveSignIn(app, signIn);
  mount(
    app,
    served.flatMap(({ routes }) => routes),
    { context, readBody: bodyReader({ maxBytes: http.maxBodyBytes }) },
  );
  app.use(otherMethods(context));
  app.use(unknownPath);
  app.use(sendErrors({ logger: context.logger, refusals: context.requests.refusals }));
  return app;
}
