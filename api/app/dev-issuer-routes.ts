import type { Request } from 'express';
import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { looseObject } from '#shared/core/record.ts';
import type { DevIssuer } from '../auth/dev-issuer.ts';
import type { ApiContext } from '../context/context.ts';
import { publicRoute } from '../context/routes.ts';
import type { RouteGroup } from '../http/route/route.ts';

/** Issues tokens to every client on this machine. */
export function devIssuerRoutes(devIssuer: DevIssuer): RouteGroup<ApiContext> {
  const routes = [
    publicRoute({
      name: 'getDevKeys',
      method: 'get',
      path: '/dev/jwks.json',
      summary: 'Get the keys of the development issuer',
      description: 'Returns the public keys that verify the tokens of the development issuer.',
      response: z.object({ keys: z.array(looseObject({})) }),

      async handle() {
        return { keys: devIssuer.jwks.keys.map((key) => ({ ...key })) };
      },
    }),

    publicRoute({
      name: 'createDevToken',
      method: 'post',
      idempotent: false,
      path: '/dev/token',
      summary: 'Get a development token',
      description:
        'Returns an ID token for any email address, valid for one hour. It is issued on the machine of the server only.',
      body: DevTokenRequest,
      response: z.object({ token: z.string(), expiresAt: z.iso.datetime() }),

      async handle({ body, request }) {
        if (!isFromThisMachine(request))
          throw new AppError('PERMISSION_DENIED', 'The development issuer answers only on the machine it runs on');
        const { token, expiresAt } = await devIssuer.issue(body.email);
        return { token, expiresAt: expiresAt.toISOString() };
      },
    }),
  ];
  return { tag: 'Development', description: 'ID tokens without an identity provider, on this machine only.', routes };
}

const DevTokenRequest = z
  .object({ email: z.email().max(320) })
  .meta({ id: 'DevTokenRequest', examples: [{ email: 'you@example.com' }] });

/** The client's address decides. The other checks refuse requests through a proxy, and pages whose host name resolves to this machine. */
function isFromThisMachine({ socket, headers }: Request): boolean {
  const isLoopback = /^(::1$|127\.|::ffff:127\.)/.test(socket.remoteAddress ?? '');
  const isForwarded = headers['x-forwarded-for'] !== undefined || headers.forwarded !== undefined;
  return isLoopback && !isForwarded && /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/i.test(headers.host ?? '');
}
