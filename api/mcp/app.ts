import type { RequestListener } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { type AuthInfo, createMcpHandler } from '@modelcontextprotocol/server';
import express, { type Request, type Response } from 'express';
import helmet from 'helmet';
import { eventLoop } from '#shared/concurrency/event-loop-scheduler.ts';
import { AppError, toAppError } from '#shared/core/errors.ts';
import { isJsonObject } from '#shared/core/json.ts';
import { invalid } from '#shared/core/schema/issues.ts';
import { routeGroups } from '../app/routes.ts';
import type { Identified } from '../auth/identify.ts';
import type { ApiContext } from '../context/context.ts';
import { denied } from '../http/access/authorize.ts';
import { TenantID } from '../http/fields/id.ts';
import type { RequestCount } from '../http/limits/rate-limit.ts';
import { bodyReader } from '../http/request/body.ts';
import { requestID } from '../http/request/request-id.ts';
import { crossOrigin } from '../http/response/cors.ts';
import { sendErrors, unknownPath } from '../http/response/errors.ts';
import { readiness } from '../http/response/health.ts';
import { callerOf } from '../http/serve/mount.ts';
import { holdBytes } from '../http/serve/parse-request.ts';
import { resourceOf } from '../sign-in/apps.ts';
import { createToolRegistry, type ToolRegistry } from '../tools/registry.ts';
import type { ToolCaller } from '../tools/tool.ts';
import { clientOf, createCancellations, nameClient } from './cancellation.ts';
import { heedClose } from './heed-close.ts';
import { refuseManyParts } from './message-size.ts';
import { describeResource, RESOURCE_PATH, requireOrigin, withChallenge } from './resource-metadata.ts';
import { createMCPServer } from './server.ts';
import type { Session } from './session.ts';
import { readChoice, requireKnown } from './tool-choice.ts';
import { createToolEvents } from './tool-events.ts';

export const MCP_PATH = '/tenants/:tenantID/mcp';

export interface MCPApp {
  listener: RequestListener;
  /** Describes the tools in advance, which takes half a second of processor time, instead of during the first request. */
  describe(): Promise<void>;
  /** Ends the calls under way. */
  close(): Promise<void>;
}

/** Everything that the MCP service answers over HTTP. Requests do not depend on earlier ones, so every process can answer each of them. */
export function createMCPApp(context: ApiContext): MCPApp {
  const { http, mcp } = context.config;
  // Calls of tools are not counted again: the MCP request that contains the call has been counted.
  let described: Promise<ToolRegistry> | undefined;
  function registry(): Promise<ToolRegistry> {
    described ??= createToolRegistry(
      { ...context, requests: { ...context.requests, count: countedBefore } },
      routeGroups,
    );
    return described;
  }
  context.access.toolRights.use(registry);
  let isClosing = false;
  const events = createToolEvents(context.messaging.backplane.messages);
  const handler = createMcpHandler(
    async ({ authInfo, era }) =>
      createMCPServer({ context, registry: await registry(), isClosing: () => isClosing }, sessionOf(authInfo), era),
    {
      bus: events.bus,
      onerror: (error) => context.logger.debug({ err: error }, 'mcp request refused'),
    },
  );
  const serve = toNodeHandler(handler);
  const cancellations = createCancellations(context.messaging.backplane.messages);
  const readBody = bodyReader({ maxBytes: http.maxBodyBytes });

  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('trust proxy', [...http.trustedProxies]);
  app.use(helmet());
  app.use(requestID);
  app.use(crossOrigin(http.corsOrigins));
  app.get('/health', async (_request, response) => {
    response.json({ status: 'ok', tools: (await registry()).tools.size, timestamp: new Date().toISOString() });
  });
  app.get('/ready', readiness(context));
  app.get(RESOURCE_PATH + MCP_PATH, describeResource(context));
  app.all(MCP_PATH, requireOrigin(http.corsOrigins), async (request, response) => {
    const session = await openSession(context, request, response).catch((error: unknown) => {
      throw withChallenge(toAppError(error), { request, response, publicURL: mcp.publicURL });
    });
    const body = request.method === 'POST' ? await readMessage(request, response, session) : undefined;
    // A batch of a thousand calls would count as one request.
    if (Array.isArray(body)) throw new AppError('INVALID_REQUEST', 'Batches of messages are not supported: send one');
    refuseManyParts(body);
    requireKnown(session.choice, await registry());
    session.isBeginning = isBeginning(body);
    nameClient(body, response);
    heedClose(response);
    const { tenantID } = session.caller;
    const sender = { tenantID, callerID: callerOf(session.identity).id, sessionID: clientOf(request) };
    session.cancelled = cancellations.heed(sender, body, response);
    // The library writes the message again, for a web request whose text is not read: of five megabytes that holds the loop for 50 ms.
    if (isJsonObject(body)) Object.defineProperty(body, 'toJSON', { value: () => null });
    const auth: AuthInfo = { token: '', clientId: session.identity.userID, scopes: [], extra: { session } };
    const client = { tenantID, userID: session.identity.userID };
    await events.serve(client, { body, response }, () => serve(Object.assign(request, { auth }), response, body));
  });
  app.use(unknownPath);
  app.use(sendErrors({ logger: context.logger, refusals: context.requests.refusals }));

  /**
   * Reads a message like a body of the API: in turns with other work, and with memory reserved, since the call in it is
   * parsed once more.
   */
  async function readMessage(request: Request, response: Response, { caller, identity }: Session): Promise<unknown> {
    const flow = { tenantID: caller.tenantID, creatorID: identity.userID };
    await holdBytes({ services: context, request, response }, flow, http.maxBodyBytes);
    const { value, unstorable } = await readBody(request, response, {
      mayParse: (bytes) => eventLoop.start(flow, bytes),
    });
    if (unstorable) throw invalid([unstorable]);
    return value;
  }

  async function close(): Promise<void> {
    isClosing = true;
    cancellations[Symbol.dispose]();
    events[Symbol.dispose]();
    await handler.close();
  }

  return { listener: app, describe: async () => void (await registry()), close };
}

/**
 * Identifies the caller, counts the request and requires membership, for every request: keys are revoked, and members
 * leave.
 */
async function openSession(
  { config: { mcp }, access: { authenticator, signIn }, requests: { count: requestCount } }: ApiContext,
  request: Request,
  response: Response,
): Promise<Session> {
  const { authorization } = request.headers;
  const apiKey = request.get('x-api-key');
  const tenant = TenantID.safeParse(request.params);
  const found = await findApp(signIn, mcp.publicURL, { authorization, tenantID: tenant.data?.tenantID });
  const more = { tenantID: tenant.data?.tenantID };
  const identity = found
    ? { ...(await authenticator.identifyPerson(found.person, more)), app: found.app }
    : await authenticator.identify(authorization, { apiKey, ...more });
  await requestCount.count(identity, response);
  if (!tenant.success || !identity.membership) throw denied('membership');
  const caller: ToolCaller = {
    tenantID: tenant.data.tenantID,
    who: found ? { identity } : { authorization, apiKey },
    ip: request.ip,
    userAgent: request.get('user-agent'),
    requestID: String(response.getHeader('x-request-id')),
  };
  return { caller, identity, choice: readChoice(request.query.tools) };
}

/** The app whose access token a request brings, if it is good for this address. All other tokens have three parts. */
async function findApp(
  signIn: ApiContext['access']['signIn'],
  publicURL: string | undefined,
  { authorization, tenantID }: { authorization: string | undefined; tenantID: string | undefined },
) {
  const [, token = ''] = /^Bearer ([\w-]{20,100})$/i.exec(authorization ?? '') ?? [];
  if (!signIn || publicURL === undefined || tenantID === undefined || token === '') return undefined;
  return await signIn.findAppCall(token, resourceOf(publicURL, tenantID.toLowerCase()));
}

function isBeginning(message: unknown): boolean {
  return isJsonObject(message) && (message.method === 'initialize' || message.method === 'server/discover');
}

function sessionOf(authInfo: AuthInfo | undefined): Session {
  const session = authInfo?.extra?.session as Session | undefined;
  if (!session) throw new Error('A request was served without its caller');
  return session;
}

const countedBefore: RequestCount = {
  count: async (_identity: Identified) => undefined,
  countEvent: async () => undefined,
};
