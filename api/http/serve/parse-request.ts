import type { z } from 'zod';
import { runCooperatively, runSync, yieldToEventLoop } from '#shared/concurrency/cooperative.ts';
import { eventLoop } from '#shared/concurrency/event-loop-scheduler.ts';
import type { FlowKey } from '#shared/concurrency/fair-queue.ts';
import type { Reservation } from '#shared/concurrency/memory-budget.ts';
import { withReservation } from '#shared/concurrency/work-context.ts';
import { AppError } from '#shared/core/errors.ts';
import { MAX_PARTS } from '#shared/core/unstorable.ts';
import { type Body, bodyReader, LARGE_BYTES } from '../request/body.ts';
import { refuseDisconnected } from '../request/request-signal.ts';
import { reportUnknown } from '../request/unknown-field-policy.ts';
import { readUpload, type UploadedFile } from '../request/upload.ts';
import { isEncodedUTF8 } from '../request/utf8.ts';
import { validate, validation } from '../request/validate.ts';
import type { Parsed } from '../route/input.ts';
import type { BoundRoute } from './bind-route.ts';
import type { RequestContext } from './request-context.ts';

/** The request as parsed by the route's schemas; their types are erased here, and known to the handler. */
export type AnyParsed = Parsed<z.ZodType, z.ZodType, z.ZodType>;

/** Checks the ids of the path before it reads the body, then query and body together. */
export async function parseRequest(
  route: BoundRoute,
  requestContext: RequestContext,
  flow: FlowKey,
): Promise<AnyParsed> {
  const { request, unknownFieldPolicy } = requestContext;
  const [params] = validate([{ part: 'params', schema: route.params, value: request.params }], unknownFieldPolicy);
  if (!route.takesAnyQuery && !isEncodedUTF8(request.url))
    throw new AppError('INVALID_REQUEST', 'The query is not valid UTF-8');
  if (route.realm === 'public') await route.checkPublic?.({ params, request });
  const bytes = await holdBytes(requestContext, flow, mostBytes(route, requestContext));
  requestContext.reserved = { flow, bytes };
  const { query, body } = await withReservation(flow, bytes, () => parseContent(route, requestContext, flow));
  return { params, query, body };
}

async function parseContent(
  route: BoundRoute,
  requestContext: RequestContext,
  flow: FlowKey,
): Promise<Omit<AnyParsed, 'params'>> {
  const { request, response, unknownFieldPolicy } = requestContext;
  const readBody = isUnauthenticated(route) ? readUnauthenticatedBody : requestContext.readBody;
  const mayParse = (size?: number) => eventLoop.start(flow, size)?.then(() => refuseDisconnected(response));
  if (!route.body) await mayParse();
  const none: Body = { value: undefined, bytes: 0 };
  const options = { mayParse, ...(!route.takesData && { maxParts: MAX_PARTS }) };
  const { value, bytes, unstorable } = route.body ? await readBody(request, response, options) : none;
  const isUpdate = route.method === 'patch' || route.method === 'put';
  const steps = validation(
    [
      { part: 'query', schema: route.query, value: route.takesAnyQuery ? {} : request.query },
      { part: 'body', schema: route.body, value, isUpdate, ...(unstorable !== undefined && { unstorable }) },
    ],
    unknownFieldPolicy,
  );
  // Each pass over a large body takes milliseconds, so other requests get a turn between two passes.
  const isLarge = bytes > LARGE_BYTES;
  // The parsing of the JSON before, and the handler after it, get turns of the event loop of their own.
  if (isLarge) await yieldToEventLoop();
  const [query, body] = isLarge ? await runCooperatively(steps) : runSync(steps);
  if (isLarge) await yieldToEventLoop();
  return { query, body };
}

/**
 * Fifty times the size of a sign-in. Clients without a credential could otherwise send five megabytes each, again and
 * again.
 */
const UNAUTHENTICATED_BYTES = 20_000;
const readUnauthenticatedBody = bodyReader({ maxBytes: UNAUTHENTICATED_BYTES });

function isUnauthenticated(route: BoundRoute): boolean {
  return route.realm === 'public' && route.checkPublic === undefined;
}

/** The most bytes that a body of the route may have; 0 if the body is not read here, because no schema describes it. */
function mostBytes(route: BoundRoute, { services }: RequestContext): number {
  const { realm, body, upload } = route;
  if (upload) return upload.maxBytes;
  if (realm === 'public' && body === undefined) return 0;
  return isUnauthenticated(route) ? UNAUTHENTICATED_BYTES : services.config.http.maxBodyBytes;
}

/** Reserves the bytes of the body and of what is made from it, before they are read. They are released when the response is sent. */
export async function holdBytes(
  { services, request, response }: Pick<RequestContext, 'services' | 'request' | 'response'>,
  flow: FlowKey,
  maxBytes: number,
): Promise<Reservation> {
  const bytes = services.requests.bytes.openReservation(flow);
  if (response.destroyed) bytes[Symbol.dispose]();
  else response.once('close', () => bytes[Symbol.dispose]());
  const isLengthKnown = request.headers['transfer-encoding'] === undefined && !request.headers['content-encoding'];
  const length = Math.min(isLengthKnown ? Number(request.headers['content-length'] ?? 0) : maxBytes, maxBytes);
  if (length > LARGE_BYTES) await bytes.reserve(2 * length);
  return bytes;
}

export async function readFile(
  { upload, path }: BoundRoute,
  { request, unknownFieldPolicy }: RequestContext,
): Promise<UploadedFile> {
  if (!upload) throw new Error(`${path} does not say that it takes a file`);
  const file = await readUpload(request, upload);
  const fields = file.otherParts.map((name) => ({ path: [name], message: 'not known here' }));
  reportUnknown(unknownFieldPolicy, { fields, count: fields.length });
  return file;
}
