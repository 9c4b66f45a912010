import type { IRouter, Request } from 'express';
import { z } from 'zod';
import { yieldToEventLoop } from '#shared/concurrency/cooperative.ts';
import { IN_ORDER } from '#shared/concurrency/semaphore.ts';
import { withReservation } from '#shared/concurrency/work-context.ts';
import { type Caller, subjectsOf } from '#shared/core/caller.ts';
import { toAppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import { isJsonObject, type JsonObject } from '#shared/core/json.ts';
import type { IdempotencyClaim, StoredAnswer } from '#shared/db/idempotency.ts';
import type { EntityManager } from '#shared/entities/orm.ts';
import { recordingChanges } from '../../audit/changes.ts';
import type { Identified } from '../../auth/identify.ts';
import type { Identity } from '../../auth/identity.ts';
import { originOf } from '../../auth/operator-session.ts';
import { notFound } from '../../auth/user-token.ts';
import { tenantEntityManager } from '../../tenant/entity-manager.ts';
import { createAuthorizer, denied } from '../access/authorize.ts';
import { openOperatorEntries } from '../audit/operator-entries.ts';
import { failAnswer, noteAnswer, recordOutcome } from '../audit/outcome.ts';
import { createRecordPublic } from '../audit/record-public.ts';
import { openEntry } from '../audit/request-entry.ts';
import { asSpelled } from '../fields/field-aliases.ts';
import { ID, TenantID } from '../fields/id.ts';
import type { ReadBody } from '../request/body.ts';
import { createMatch, etagOf } from '../request/if-match.ts';
import { goneSignal, refuseGone } from '../request/request-signal.ts';
import { describeUnknown, openHandling, reportUnknown } from '../request/unknown-field-policy.ts';
import { validate } from '../request/validate.ts';
import type { RequestEntry } from '../route/audit-entry.ts';
import type { OperatorInput, PublicInput, TenantInput, UserInput } from '../route/input.ts';
import type { Route } from '../route/route.ts';
import { type BoundRoute, bindRoute } from './bind-route.ts';
import { createTools, type Tools } from './handler-input.ts';
import type { HttpServices } from './http-services.ts';
import { answerAtMostOnce, answerOnce, createKeys, noTenant, REPLAYED, readClaim } from './idempotency.ts';
import { type AnyParsed, parseRequest, readFile } from './parse-request.ts';
import type { RequestContext } from './request-context.ts';
import { createRouteIndex } from './route-index.ts';
import { isLarge, sendAnswer } from './send-response.ts';

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
      const handling = openHandling(request, response);
      const requestContext: RequestContext = { ...services, request, response, handling };
      const answer = await serve(route, requestContext);
      if (route.etag && !response.headersSent) response.setHeader('etag', etagOf(route.etag(answer.response)));
      if (response.headersSent) return noteAnswer(response);
      const fields = { success: true, ...answer.response };
      await sendAnswer(requestContext, { status: answer.status, fields }).catch((error) => failAnswer(response, error));
      noteAnswer(response, fields);
    });
}

function serve(route: BoundRoute, requestContext: RequestContext): Promise<StoredAnswer> {
  if (route.realm === 'tenant') return serveTenant(route, requestContext);
  if (route.realm === 'user') return serveUser(route, requestContext);
  if (route.realm === 'operator') return serveOperator(route, requestContext);
  return servePublic(route, requestContext);
}

/** Who is it, are they a member, is the request well-formed, may they: in this order, so that a stranger learns nothing. */
async function serveTenant(route: RouteOf<'tenant'>, requestContext: RequestContext): Promise<StoredAnswer> {
  const { services, request, handling } = requestContext;
  const tenant = TenantID.safeParse(request.params);
  const workflowID = route.withWorkflow ? WorkflowID.safeParse(request.params).data?.workflowID : undefined;
  const identity = await identify(requestContext, { tenantID: tenant.data?.tenantID, workflowID });
  await services.requests.count.count(identity, requestContext.response);
  if (!tenant.success) validate([{ part: 'params', schema: TenantID, value: request.params }], handling);
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
): Promise<StoredAnswer> {
  const { services, request, handling } = requestContext;
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
    reportUnknown: (found, at) => reportUnknown(handling, found, at),
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

async function serveUser(route: RouteOf<'user'>, requestContext: RequestContext): Promise<StoredAnswer> {
  const identity = await identify(requestContext);
  if (identity.apiKeyID) throw notFound('An API key is good for its tenant only: this needs the token of a user');
  await requestContext.services.requests.count.count(identity, requestContext.response);
  const parsed = await parseRequest(route, requestContext, { tenantID: identity.userID });
  const idempotency = readClaim(route, identity.userID, { ...requestContext, tenantID: noTenant });
  const tools = createTools(requestContext, { em: () => requestContext.services.orm.em.fork() });
  const input: UserInput<z.ZodType, z.ZodType, z.ZodType> = Object.assign(tools, parsed, { identity });
  return handle(route, requestContext, { input, tenantID: noTenant, idempotency });
}

async function serveOperator(route: RouteOf<'operator'>, requestContext: RequestContext): Promise<StoredAnswer> {
  const { services, request } = requestContext;
  const operator = await services.access.operators.identify(request.headers.authorization);
  const parsed = await parseRequest(route, requestContext, { tenantID: operator.operatorID });
  const idempotency = readClaim(route, operator.operatorID, { ...requestContext, tenantID: noTenant });
  const tools = createTools(requestContext, { em: () => services.orm.em.fork() });
  const { response } = requestContext;
  const entries = openOperatorEntries(services.requests.audit, { route, request, response, operator });
  const own = { operator, request, idempotency, concern: entries.concern };
  const input: OperatorInput<z.ZodType, z.ZodType, z.ZodType> = Object.assign(tools, parsed, own);
  const work = () => handle(route, requestContext, { input, tenantID: noTenant, idempotency });
  const recorded = () => recordOutcome(entries, response, () => entries.recordingChanges(work));
  if (route.method === 'get') return recorded();
  const { tenantID } = request.params;
  if (typeof tenantID === 'string') await entries.concern([tenantID]);
  if (route.isRecordedByHandler) return recorded();

  const noteOutcome = await services.access.operators.record(operator, 'REQUEST', originOf(request));
  return recorded().then(
    (answer) => {
      noteOutcome(answer.status);
      return answer;
    },
    (error: unknown) => {
      noteOutcome(toAppError(error).status);
      throw error;
    },
  );
}

async function servePublic(route: RouteOf<'public'>, requestContext: RequestContext): Promise<StoredAnswer> {
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
  const bounds = boundBy && { boundBy: [...boundBy] };
  return apiKeyID
    ? { type: 'apiKey', id: apiKeyID, userID, origin: 'direct', ...bounds }
    : { type: 'user', id: userID, userID, origin: 'direct', ...bounds };
}

const WorkflowID = z.object({ workflowID: ID });

function identify(
  { services, request }: RequestContext,
  place: { tenantID?: string | undefined; workflowID?: string | undefined } = {},
): Promise<Identified> {
  const { authorization } = request.headers;
  return services.access.authenticator.identify(authorization, { apiKey: request.get('x-api-key'), ...place });
}

interface Work {
  input: { em: EntityManager };
  tenantID: string;
  idempotency: IdempotencyClaim | undefined;
}

async function handle(
  route: BoundRoute,
  { services, request, response, handling, held }: RequestContext,
  { input, tenantID, idempotency }: Work,
): Promise<StoredAnswer> {
  const work = async () => {
    const answered = await runHandler();
    if (isLarge(answered)) await yieldToEventLoop();
    return { status: route.status ?? 200, response: describe(answered) };
  };
  const claimed = { tenantID, claim: idempotency };
  refuseGone(response);
  // A request that only reads may end at any wait. One that changes something goes on once it has begun.
  const gone = route.method === 'get' ? () => goneSignal(response) : undefined;
  const answer = await (held ? withReservation(held.flow, held.bytes, runClaimed, gone) : runClaimed());
  if (!('complete' in route) || !route.complete) return answer;
  const completed = await route.complete(answer.response, input).catch(endReplay);
  return { ...answer, response: describe(completed) };

  async function runHandler(): Promise<unknown> {
    try {
      return await route.handle(input);
    } catch (error) {
      return endReplay(route.spellings ? asSpelled(error, route.spellings, fieldsOf(request)) : error);
    }
  }

  function runClaimed(): Promise<StoredAnswer> {
    if (route.idempotent === 'transaction') return answerOnce(input.em, claimed, work);
    if (route.idempotent === 'outside') return answerAtMostOnce(services, claimed, work);
    return work();
  }

  /** Drops fields that the schema does not declare; a declared field called `unknownFields` wins over ours. */
  function describe(answered: unknown): JsonObject {
    // The schemas of answers describe JSON only.
    const fields = route.response.parse(answered) as JsonObject;
    return { ...describeUnknown(handling.unknown), ...fields };
  }

  /** An error after the answer of an earlier request was found is an answer of its own. */
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
