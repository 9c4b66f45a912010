import type { Request, RequestHandler, Response } from 'express';
import { AppError } from '#shared/core/errors.ts';
import { scopes } from '../auth/app-scopes.ts';
import type { ApiContext } from '../context/context.ts';

/** RFC 9728: where clients read which authorization server signs users in. */
export const RESOURCE_PATH = '/.well-known/oauth-protected-resource';

/** Scopes of another provider. Members are invited by address, so it is asked for that. */
const SCOPES = ['openid', 'email', 'profile'];

export function describeResource({ config }: ApiContext): RequestHandler {
  const { issuer, isBuiltIn } = config.auth;
  // The development issuer is no server that a client could ask, and tokens of the built-in one name the address of this service.
  const canSignIn = isBuiltIn ? config.mcp.publicURL !== undefined : issuer !== undefined;
  return (request, response) => {
    response.setHeader('access-control-allow-origin', '*');
    response.json({
      resource: addressOf(request, config.mcp.publicURL) + request.path.slice(RESOURCE_PATH.length),
      ...(canSignIn && { authorization_servers: [issuer], scopes_supported: isBuiltIn ? scopes : SCOPES }),
      bearer_methods_supported: ['header'],
      resource_name: 'Gantry',
    });
  };
}

/** Tells a client without a valid credential where to get one. */
export function withChallenge(
  error: AppError,
  { request, response, publicURL }: { request: Request; response: Response; publicURL: string | undefined },
): AppError {
  if (error.status !== 401) return error;
  const metadata = addressOf(request, publicURL) + RESOURCE_PATH + request.path;
  response.setHeader('www-authenticate', `Bearer resource_metadata="${metadata.replaceAll('"', '%22')}"`);
  return error;
}

/** The public address of the service. If none is set, the one that the client used, which only this client gets to see. */
function addressOf(request: Request, publicURL: string | undefined): string {
  return publicURL ?? `${request.protocol}://${request.host}`;
}

/** A page of another origin must not speak through its visitor's browser, also where the service is on the visitor's machine. */
export function requireOrigin(origins: readonly string[]): RequestHandler {
  return (request, _response, next) => {
    const origin = request.get('origin');
    if (origin !== undefined && !origins.includes(origin) && !isLoopback(origin))
      throw new AppError('PERMISSION_DENIED', 'This origin is not allowed: CORS_ORIGINS lists those that are');
    next();
  };
}

function isLoopback(origin: string): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(URL.parse(origin)?.hostname ?? '');
}
