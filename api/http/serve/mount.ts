import type { IRouter, Request } from 'express';
import { z } from 'zod';
import { yieldToEventLoop } from '#shared/concurrency/cooperative.ts';
import { IN_ORDER } from '#shared/concurrency/semaphore.ts';
import { withReservation } from '#shared/concurrency/work-context.ts';
import { type Caller, subjectsOf } from '#shared/core/caller.ts';
import { toAppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import { isJsonObject, type JsonObject } from '#shared/core/json.ts';
import { idOf } from '#shared/core/schema/reference.ts';
import type { IdempotencyClaim, StoredResponse } from '#shared/db/idempotency.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { recordingChanges } from '../../audit/changes.ts';
import type { Identified } from '../../auth/identify.ts';
import type { Identity } from '../../auth/identity.ts';
import { originOf } from '../../auth/operator-session.ts';
import { notFound } from '../../auth/user-token.ts';
import { tenantEntityManager } from '../../tenant/entity-manager.ts';
import { createAuthorizer, denied } from '../access/authorize.ts';
import { openOperatorEntries } from '../audit/operator-entries.ts';
import { recordFailure, recordOutcome, recordResponse } from '../audit/outcome.ts';
import { createRecordPublic } from '../audit/record-public.ts';
import { openEntry } from '../audit/request-entry.ts';
import { withClientNames } from '../fields/field-aliases.ts';
import { TenantID } from '../fields/id.ts';
import type { ReadBody } from '../request/body.ts';
import { createMatch, etagOf } from '../request/if-match.ts';
import { refuseDisconnected, requestSignal } from '../request/request-signal.ts';
import {
  describeUnknown,
  lenientPolicy,
  openUnknownFieldPolicy,
  reportUnknown,
} from '../request/unknown-field-policy.ts';
import { validate } from '../request/validate.ts';
import type { RequestEntry } from '../route/audit-entry.ts';
import type { OperatorInput, PublicInput, TenantInput, UserInput } from '../route/input.ts';
import type { Route } from '../route/route.ts';
import { type BoundRoute, bindRoute } from './bind-route.ts';
import { createTools, type Tools } from './handler-input.ts';
import type { HttpServices } from './http-services.ts';
import { createKeys, noTenant, REPLAYED, readClaim, runAtMostOnce, runOnce } from './idempotency.ts';
import { type AnyParsed, parseRequest, readFile } from './parse-request.ts';
import type { RequestContext } from './request-context.ts';
import { createRouteIndex } from './route-index.ts';
import { isLarge, sendResponse } from './send-response.ts';

type RouteOf<Realm extends BoundRoute['realm']> = Extract<BoundRoute, { realm: Realm }>;

/** Mounts the routes. Where several match a path, the first answers. */
export function mount<C extends HttpServices>(
  router: IRouter,
  routes: readonly Route<C>[],
  { context, readBody }: { context: C; readBody: ReadBody },
): void {
  const services = { services: context, readBody, keys: createKeys(context.pool, context.logger) };
  const index = createRouteIndex(router);
  for (const route of routes.map((each) => bindRoute(each, context)))
    index.routerOf(route.path)[route.method](route.path, async (request, response) => {
      if (route.isSecret) response.setHeader('cache-control', 'no-store');
      const unknownFieldPolicy = route.takesAnyQuery ? lenientPolicy() : openUnknownFieldPolicy(request, response);
      const requestContext: RequestContext = { ...services, request, response, unknownFieldPolicy };
      const result = await serve(route, requestContext);
      if (route.etag && !response.headersSent) response.setHeader('etag', etagOf(route.etag(result.response)));
      if (response.headersSent) return recordResponse(response);
      const fields = { success: true, ...result.response };
      await sendResponse(requestContext, { status: result.status, fields }).catch((error) =>
        recordFailure(response, error),
      );
      recordResponse(response, fields);
    });
}

function serve(route: BoundRoute, requestContext: RequestContext): Promise<StoredResponse> {
  if (route.realm === 'tenant') return serveTenant(route, requestContext);
  if (route.realm === 'user') return serveUser(route, requestContext);
  if (route.realm === 'operator') return serveOperator(route, requestContext);
  return servePublic(route, requestContext);
}

/** Authenticates, requires membership, validates, then authorizes: in this order, so that a stranger learns nothing. */
async function serveTenant(route: RouteOf<'tenant'>, requestContext: RequestContext): Promise<StoredResponse> {
  const { services, request, unknownFieldPolicy } = requestContext;
  const tenant = TenantID.safeParse(request.params);
  const workflowID = route.withWorkflow ? WorkflowID.safeParse(request.params).data?.workflowID : undefined;
  const identity = await identify(requestContext, { tenantID: tenant.data?.tenantID, workflowID });
  await services.requests.count.count(identity, requestContext.response);
  if (!tenant.success) validate([{ part: 'params', schema: TenantID, value: request.params }], unknownFieldPolicy);
  if (!tenant.success || !identity.membership) throw denied('membership');
  const { tenantID } = tenant.data;
  const { membership } = identity;
  const { response } = requestContext;
  const entry = openEntry(services.requests.audit, { route, request, response, tenantID, identity });
  return recordOutcome(entry, response, () =>
    serveMember(route, requestContext, { tenantID, identity, membership, entry }),
  );
}

interface Member {
  tenantID: string;
  identity: Identified;
  membership: NonNullable<Identified['membership']>;
  entry: RequestEntry;
}

async function serveMember(
  route: RouteOf<'tenant'>,
  requestContext: RequestContext,
  { tenantID, identity, membership, entry }: Member,
): Promise<StoredResponse> {
  const { services, request, unknownFieldPolicy } = requestContext;
  const caller = callerOf(identity);

  const parsed = await parseRequest(route, requestContext, { tenantID, creatorID: identity.userID });
  const authorizer = createAuthorizer(services.access.policy, {
    tenantID,
    version: membership.policyVersion,
    subjects: subjectsOf(caller),
  });
  const access = route.access(parsed);
  await (route.filter ? authorizer.requireSome(access, route.alternative) : authorizer.require(access));

  const idempotency = readClaim(route, caller.id, { ...requestContext, tenantID });
  const tools = createTools(requestContext, {
    tenantID,
    em: () => tenantEntityManager(services.orm.em, tenantID, identity.userID),
  });
  const { visible, require, requireUndenied, holds, scopeOf } = authorizer;
  const file = () => readFile(route, requestContext);
  const { response } = requestContext;
  if (route.method !== 'get' && !route.writesEntry) await entry.begin();
  const own: Omit<TenantInput<z.ZodType, z.ZodType, z.ZodType>, keyof Tools | keyof AnyParsed> = {
    tenantID,
    caller,
    identity,
    newAssetID: newID,
    workflow: membership.workflow,
    visible,
    require,
    requireUndenied,
    holds,
    scopeOf,
    reportUnknown: (found, at) => reportUnknown(unknownFieldPolicy, found, at),
    requireMatch: createMatch(route.conditional ? request.get('if-match') : undefined),
    idempotency,
    entry,
    file,
    response,
  };
  const input: TenantInput<z.ZodType, z.ZodType, z.ZodType> = Object.assign(tools, parsed, own);
  const work = () => handle(route, requestContext, { input, tenantID, idempotency });
  if (route.method === 'get') return work();
  const { userID, apiKeyID } = identity;
  return recordingChanges(
    { entryIn: () => ({ tenantID, entryID: entry.id }), userID, apiKeyID: apiKeyID ?? null },
    work,
  );
}

async function serveUser(route: RouteOf<'user'>, requestContext: RequestContext): Promise<StoredResponse> {
  const identity = await identify(requestContext);
  if (identity.apiKeyID) throw notFound('An API key is good for its tenant only: this needs the token of a user');
  await requestContext.services.requests.count.count(identity, requestContext.response);
  const parsed = await parseRequest(route, requestContext, { tenantID: identity.userID });
  const idempotency = readClaim(route, identity.userID, { ...requestContext, tenantID: noTenant });
  const tools = createTools(requestContext, { em: () => requestContext.services.orm.em.fork() });
  const input: UserInput<z.ZodType, z.ZodType, z.ZodType> = Object.assign(tools, parsed, { identity });
  return handle(route, requestContext, { input, tenantID: noTenant, idempotency });
}

async function serveOperator(route: RouteOf<'operator'>, requestContext: RequestContext): Promise<StoredResponse> {
  const { services, request } = requestContext;
  const operator = await services.access.operators.identify(request.headers.authorization);
  const parsed = await parseRequest(route, requestContext, { tenantID: operator.operatorID });
  const idempotency = readClaim(route, operator.operatorID, { ...requestContext, tenantID: noTenant });
  const tools = createTools(requestContext, { em: () => services.orm.em.fork() });
  const { response } = requestContext;
  const entries = openOperatorEntries(services.requests.audit, { route, request, response, operator });
  const own = { operator, request, idempotency, auditFor: entries.auditFor };
  const input: OperatorInput<z.ZodType, z.ZodType, z.ZodType> = Object.assign(tools, parsed, own);
  const work = () => handle(route, requestContext, { input, tenantID: noTenant, idempotency });
  const recorded = () => recordOutcome(entries, response, () => entries.recordingChanges(work));
  if (route.method === 'get') return recorded();
  const { tenantID } = request.params;
  if (typeof tenantID === 'string') await entries.auditFor([tenantID]);
  if (route.isRecordedByHandler) return recorded();

  const noteOutcome = await services.access.operators.record(operator, 'REQUEST', originOf(request));
  return recorded().then(
    (result) => {
      noteOutcome(result.status);
      return result;
    },
    (error: unknown) => {
      noteOutcome(toAppError(error).status);
      throw error;
    },
  );
}

async function servePublic(route: RouteOf<'public'>, requestContext: RequestContext): Promise<StoredResponse> {
  const { request, response } = requestContext;
  const parsed = await parseRequest(route, requestContext, IN_ORDER);
  const tools = createTools(requestContext, { em: () => requestContext.services.orm.em.fork() });
  const recorded = createRecordPublic(requestContext.services.requests, { route, request, response });
  const input: PublicInput<z.ZodType, z.ZodType, z.ZodType> = Object.assign(tools, parsed, {
    request,
    response,
    recorded,
  });
  return handle(route, requestContext, { input, tenantID: noTenant, idempotency: undefined });
}

/** The caller of a request, as its runs and rows name it. */
export function callerOf({ userID, apiKeyID, boundBy }: Identity): Caller {
  const boundary = boundBy && { boundBy: [...boundBy] };
  return apiKeyID
    ? { type: 'apiKey', id: apiKeyID, userID, origin: 'direct', ...boundary }
    : { type: 'user', id: userID, userID, origin: 'direct', ...boundary };
}

const WorkflowID = z.object({ workflowID: idOf('workflow') });

function identify(
  { services, request }: RequestContext,
  scope: { tenantID?: string | undefined; workflowID?: string | undefined } = {},
): Promise<Identified> {
  const { authorization } = request.headers;
  return services.access.authenticator.identify(authorization, { apiKey: request.get('x-api-key'), ...scope });
}

interface Work {
  input: { em: EntityManager };
  tenantID: string;
  idempotency: IdempotencyClaim | undefined;
}

async function handle(
  route: BoundRoute,
  { services, request, response, unknownFieldPolicy, reserved }: RequestContext,
  { input, tenantID, idempotency }: Work,
): Promise<StoredResponse> {
  const work = async () => {
    const handled = await runHandler();
    if (isLarge(handled)) await yieldToEventLoop();
    return { status: route.status ?? 200, response: describe(handled) };
  };
  const claimed = { tenantID, claim: idempotency };
  refuseDisconnected(response);
  // A request that only reads is aborted when its client disconnects. One that changes something runs to its end.
  const readSignal = route.method === 'get' ? () => requestSignal(response) : undefined;
  const result = await (reserved
    ? withReservation(reserved.flow, reserved.bytes, runClaimed, readSignal)
    : runClaimed());
  if (!('complete' in route) || !route.complete) return result;
  const completed = await route.complete(result.response, input).catch(endReplay);
  return { ...result, response: describe(completed) };

  async function runHandler(): Promise<unknown> {
    try {
      return await route.handle(input);
    } catch (error) {
      return endReplay(route.aliases ? withClientNames(error, route.aliases, fieldsOf(request)) : error);
    }
  }

  function runClaimed(): Promise<StoredResponse> {
    if (route.idempotent === 'transaction') return runOnce(input.em, claimed, work);
    if (route.idempotent === 'outside') return runAtMostOnce(services, claimed, work);
    return work();
  }

  /** Drops fields that the schema does not declare; a declared field called `unknownFields` wins over ours. */
  function describe(handled: unknown): JsonObject {
    // Safe cast: the schemas of responses describe JSON only.
    const fields = route.response.parse(handled) as JsonObject;
    return { ...describeUnknown(unknownFieldPolicy.unknown), ...fields };
  }

  /** Throws an error after a response was replayed: it is a new response, so it must not have the header of a replay. */
  function endReplay(error: unknown): never {
    response.removeHeader(REPLAYED);
    throw error;
  }
}

/** The fields of the body, or of the query of a request without a body, by the names that the client used. */
function fieldsOf({ query, body }: Request): JsonObject {
  // The query was parsed from text, so it holds nothing but JSON.
  return isJsonObject(body) ? body : (query as JsonObject);
}
