import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import express, { type Express } from 'express';
import inject, { type InjectOptions } from 'light-my-request';
import { runCooperatively } from '#shared/concurrency/cooperative.ts';
import { writing } from '#shared/concurrency/write-json.ts';
import type { Json } from '#shared/core/json.ts';
import type { Authenticator } from '../auth/identify.ts';
import type { ApiContext } from '../context/context.ts';
import type { ApiRoute } from '../context/routes.ts';
import { bodyReader } from '../http/request/body.ts';
import { requestID } from '../http/request/request-id.ts';
import { sendErrors, unknownPath } from '../http/response/errors.ts';
import type { Identity, Route } from '../http/route/route.ts';
import { mount } from '../http/serve/mount.ts';
import type { ToolCaller } from './tool.ts';

export interface InProcessRequest {
  method: Route['method'];
  url: string;
  body?: unknown;
  /** The JSON of the body, instead of `body`. */
  text?: string;
  idempotencyKey?: string;
  signal?: AbortSignal | undefined;
}

/** Sends requests to routes of this process without a network. Everything else is as over HTTP. */
export interface InProcess {
  send(caller: ToolCaller, request: InProcessRequest): Promise<{ status: number; text: string }>;
  /** The response as a stream, while the route writes it. */
  stream(caller: ToolCaller, request: InProcessRequest): Promise<{ status: number; stream: Readable }>;
}

export function createInProcess(context: ApiContext, routes: readonly ApiRoute[]): InProcess {
  const known = new Map<string, Identity>();
  const authenticator = acceptingKnown(context.access.authenticator, known);
  const app = express();
  app.disable('etag');
  app.use(requestID);
  const { maxBodyBytes } = context.config.http;
  const signedIn = { ...context, access: { ...context.access, authenticator } };
  mount(app, routes, { context: signedIn, readBody: bodyReader({ maxBytes: maxBodyBytes }) });
  app.use(unknownPath);
  app.use(sendErrors({ logger: context.logger, refusals: context.requests.refusals }));

  return {
    async send(caller, request) {
      using signedIn = signIn(known, caller);
      const { statusCode, payload } = await inject(
        dispatch(app, request.signal),
        await options(caller, request, signedIn),
      );
      return { status: statusCode, text: payload };
    },
    async stream(caller, request) {
      const signedIn = signIn(known, caller);
      const response = await inject(dispatch(app, request.signal), {
        ...(await options(caller, request, signedIn)),
        payloadAsStream: true,
      });
      const stream = response.stream();
      // Until then, the route checks the rights of the caller again and again.
      stream.once('close', () => signedIn[Symbol.dispose]());
      return { status: response.statusCode, stream };
    },
  };
}

/** Dispatches a request. The signal closes its response, as a closed connection does. */
function dispatch(app: Express, signal: AbortSignal | undefined): Parameters<typeof inject>[0] {
  return (request, response) => {
    keepMethods(request, ['destroy']);
    keepMethods(response, ['writeHead', 'write', 'end', 'destroy', 'addTrailers', 'setTimeout']);
    const end = () => void response.destroy();
    signal?.addEventListener('abort', end, { once: true });
    response.once('close', () => signal?.removeEventListener('abort', end));
    if (signal?.aborted) end();
    else app(request, response);
  };
}

/**
 * Keeps the methods that collect the response. Express gives requests and responses its own prototypes, which hide these
 * methods. If the library received the app itself, it would change the prototypes of every Express app of the process.
 */
function keepMethods<Name extends string>(message: Readonly<Record<Name, unknown>>, names: readonly Name[]): void {
  for (const name of names)
    Object.defineProperty(message, name, { value: message[name], configurable: true, writable: true });
}

async function options(
  caller: ToolCaller,
  { method, url, body, text, idempotencyKey }: InProcessRequest,
  signedIn: SignedIn,
): Promise<InjectOptions> {
  const { authorization, apiKey } = signedIn;
  // Safe: it was made from the JSON of a caller, and may have millions of values.
  const payload = text ?? (body === undefined ? undefined : await runCooperatively(writing(body as Json)));
  return {
    method,
    url,
    remoteAddress: caller.ip ?? '127.0.0.1',
    headers: {
      host: 'gantry.internal',
      'user-agent': caller.userAgent ?? 'gantry-tools',
      ...(authorization !== undefined && { authorization }),
      ...(apiKey !== undefined && { 'x-api-key': apiKey }),
      ...(caller.requestID !== undefined && { 'x-request-id': caller.requestID }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      ...(payload !== undefined && { 'content-type': 'application/json' }),
    },
    ...(payload !== undefined && { payload }),
  };
}

interface SignedIn extends Disposable {
  authorization?: string | undefined;
  apiKey?: string | undefined;
}

const SCHEME = 'Gantry-Caller ';

/**
 * The credentials of a request. A caller without credentials receives a token that is valid in this process, for one
 * request.
 */
function signIn(known: Map<string, Identity>, { who }: ToolCaller): SignedIn {
  if (!('identity' in who)) return { ...who, [Symbol.dispose]: () => undefined };
  const token = randomUUID();
  known.set(token, who.identity);
  return { authorization: SCHEME + token, [Symbol.dispose]: () => void known.delete(token) };
}

function acceptingKnown(authenticator: Authenticator, known: ReadonlyMap<string, Identity>): Authenticator {
  return {
    identifyToken: authenticator.identifyToken,
    identifyKey: authenticator.identifyKey,
    identifyPerson: authenticator.identifyPerson,
    findMembership: authenticator.findMembership,
    async identify(authorization, more = {}) {
      const identity = authorization?.startsWith(SCHEME) ? known.get(authorization.slice(SCHEME.length)) : undefined;
      if (!identity) return authenticator.identify(authorization, more);
      const { tenantID, workflowID } = more;
      if (identity.apiKeyID)
        return { ...(await authenticator.identifyKey(identity.apiKeyID, more)), boundBy: identity.boundBy };
      const membership = tenantID ? await authenticator.findMembership(identity.userID, tenantID, workflowID) : null;
      return { ...identity, membership };
    },
  };
}
