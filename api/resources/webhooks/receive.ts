import { AppError } from '#shared/core/errors.ts';
import { newID } from '#shared/core/ids.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { isUnreadableSecret } from '#shared/core/key-ring.ts';
import { MASK } from '#shared/core/schema/secret.ts';
import type { WebhookOptions } from '#shared/datasources/types/webhook.ts';
import { takesMethod } from '#shared/triggers/listeners/endpoint-path.ts';
import type { NewEvent } from '#shared/triggers/listeners/event-recorder.ts';
import type { ReadListener } from '#shared/triggers/listeners/listener-reader.ts';
import { orderKeyOf } from '#shared/triggers/listeners/order-key.ts';
import { requireUsable } from '#shared/triggers/listeners/require-usable.ts';
import { runIDOf } from '#shared/triggers/listeners/run-id.ts';
import { type WebhookConfig, webhook } from '#shared/triggers/listeners/types/webhook.ts';
import type { ApiContext } from '../../context/context.ts';
import { ID } from '../../http/fields/id.ts';
import type { Request, Response } from '../../http/route/route.ts';
import { acknowledge, type Reply, replyOf, replyWithoutRun, send } from './answer.ts';
import { calledURL, PREFIX } from './called-url.ts';
import { dedupOf } from './delivery-id.ts';
import { type EventFate, findFate } from './event-fate.ts';
import { isSignedToken, signedHandshakeOf, unsignedHandshakeOf } from './handshakes.ts';
import { decompressBody, readRawBody } from './read-body.ts';
import { credentialOf, type Delivery, type Proof, proofOf, type SignedParts } from './signatures.ts';

/** Receives a delivery: finds the listener, checks the sender, records the event, answers. In this order, and nothing else. */
export async function receiveDelivery(request: Request, response: Response, context: ApiContext): Promise<void> {
  const { listener, params } = await findListener(request, context);
  const { tenantID } = listener;
  await context.runs.ingestion.deliveries.start({ tenantID });
  const options = openOptions(listener);
  const config = webhook.config.parse(listener.config);
  const url = calledURL(request, options, context.config.console.publicURL);
  const isHead = request.method === 'HEAD';
  const early = unsignedHandshakeOf(deliveryOf(request, { url, body: Buffer.alloc(0) }), options);
  if (early) return send(response, early, { isHead });
  requireMethod(request, response, options);
  // HEAD asks what GET would answer, and changes nothing.
  if (isHead) return send(response, { status: config.responseStatusCode, headers: {}, body: null }, { isHead });

  using reserved = context.requests.bytes.openReservation({ tenantID });
  const { maxBodyBytes } = context.config.http;
  const limits = { maxBytes: Math.min(config.maxBodyBytes ?? maxBodyBytes, maxBodyBytes), reserved };
  // A signature is about the bytes that were sent; everything else about what they were before they were compressed.
  const sent = deliveryOf(request, { url, body: await readRawBody(request, limits) });
  const withBody = sent.body.length > 0 ? unsignedHandshakeOf(sent, options) : undefined;
  if (withBody) return send(response, withBody);
  const proof: Proof = isSignedToken(sent, options)
    ? { fault: 'the body is that of a handshake' }
    : proofOf(sent, options);
  if (proof.fault !== null)
    throw new AppError('INVALID_REQUEST', `This delivery is refused: ${proof.fault}`, { status: 401 });
  const body = await decompressBody(request, sent.body, limits);
  const delivery = { ...sent, body };
  const handshake = signedHandshakeOf(delivery, options);
  if (handshake) return send(response, handshake);
  requireUsable({ params, query: rawQueryOf(request), contentType: request.headers['content-type'] ?? '', body });
  await requireCapacity(context, tenantID, body.length);

  const event = eventOf(delivery, { request, listener, params, options, config, signed: proof.signed });
  const bound = config.answerMode === 'result' ? listener.actions.find(startsWorkflow) : undefined;
  if (!bound) {
    const { eventID, duplicateOf } = await context.runs.ingestion.recorder.record(event);
    await context.runs.ingestion.deliveries.start({ tenantID });
    const ids = { listenerID: listener.id, eventID, ...(duplicateOf && { duplicateOf }) };
    return send(response, acknowledge(config, ids));
  }
  send(response, await waitForRun({ context, response, listener, config, event, actionID: bound.id }));
}

/** 503 and not the 409 of other requests: the sender shall send it again. */
function openOptions(listener: ReadListener): WebhookOptions {
  try {
    // Safe: this is what the type's own schema has parsed.
    return listener.options() as WebhookOptions;
  } catch (error) {
    if (!isUnreadableSecret(error)) throw error;
    const message =
      "This listener cannot check deliveries: its datasource's secret was sealed with a key that is not here";
    throw new AppError('UNAVAILABLE', message, { cause: error, retryAfter: 60 });
  }
}

function startsWorkflow({ actionType }: { actionType: string }): boolean {
  return actionType === 'trigger_workflow';
}

/**
 * Finds a listener by its id, or by its tenant and the pattern of its path. The response does not tell which of them does not
 * exist.
 */
async function findListener(request: Request, { runs: { ingestion } }: ApiContext) {
  const segments = request.path.slice(PREFIX.length).split('/').map(decodeSegment);
  const [first, ...rest] = segments;
  const id = ID.safeParse(first).data;
  const isPath = rest.length > 0 && !(rest.length === 1 && rest[0] === '');
  const found = id === undefined || segments.includes(undefined) ? undefined : await read(id);
  // A listener that has stopped by an error still takes events, which are processed once it is activated again.
  if (found && found.listener.status !== 'inactive' && found.listener.type === webhook.type) return found;
  throw new AppError('NOT_FOUND', 'Webhook listener not found or inactive');

  async function read(known: string): Promise<{ listener: ReadListener; params: JsonObject } | undefined> {
    // Checked above: no segment is undefined.
    if (isPath) return ingestion.reader.byPath(known, rest as string[], request.method);
    const listener = await ingestion.reader.byID(known);
    return listener && { listener, params: {} };
  }
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

function requireMethod({ method }: Request, response: Response, { allowedMethods: allowed }: WebhookOptions): void {
  if (takesMethod(allowed, method)) return;
  response.setHeader('allow', allowed === 'ANY' ? 'GET, POST, PUT, PATCH, DELETE' : allowed);
  throw new AppError('INVALID_REQUEST', `This listener takes ${allowed}, received ${method}`, { status: 405 });
}

function deliveryOf(request: Request, { url, body }: Pick<Delivery, 'url' | 'body'>): Delivery {
  const { method, headers } = request;
  return { method, headers, body, query: new URLSearchParams(rawQueryOf(request)), url };
}

/** The query as it was received; what stands behind a second question mark belongs to it. */
function rawQueryOf({ originalUrl }: Request): string {
  const at = originalUrl.indexOf('?');
  return at < 0 ? '' : originalUrl.slice(at + 1);
}

/** A tenant at its limits is refused until some of its events are processed. */
async function requireCapacity({ runs: { ingestion } }: ApiContext, tenantID: string, bytes: number): Promise<void> {
  const [events, ofBytes] = await Promise.all([
    ingestion.events.add(tenantID),
    ingestion.bytes.addMany(tenantID, Math.max(bytes, 1)),
  ]);
  const refusal = events ?? ofBytes.refusal;
  if (refusal) throw refusal;
}

interface Found {
  request: Request;
  listener: ReadListener;
  params: JsonObject;
  options: WebhookOptions;
  config: WebhookConfig;
  signed: SignedParts | null;
}

function eventOf(delivery: Delivery, { request, listener, params, options, config, signed }: Found): NewEvent {
  const { header, parameter } = credentialOf(options);
  const query = withoutCredential(delivery.query, parameter) ?? rawQueryOf(request);
  const event = {
    id: newID(),
    tenantID: listener.tenantID,
    listenerID: listener.id,
    source: listener.type,
    method: delivery.method,
    path: request.path,
    query,
    params,
    headers: shownHeaders(request.rawHeaders, header),
    body: delivery.body,
  };
  const orderKey = orderKeyOf(config.orderBy, { ...event, receivedAt: new Date(), meta: null });
  return {
    ...event,
    ...(orderKey !== undefined && { orderKey }),
    dedup: dedupOf(delivery, { options, config, signed }),
  };
}

const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'proxy-authorization', 'cookie']);

/** The headers as they were sent, with names in lower case and without credentials. */
function shownHeaders(raw: readonly string[], credential: string | undefined): [string, string][] {
  const shown: [string, string][] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at]?.toLowerCase() ?? '';
    shown.push([name, CREDENTIALS.has(name) || name === credential ? MASK : (raw[at + 1] ?? '')]);
  }
  return shown;
}

function withoutCredential(query: URLSearchParams, parameter: string | undefined): string | undefined {
  if (parameter === undefined || !query.has(parameter)) return undefined;
  const shown = new URLSearchParams(query);
  shown.set(parameter, MASK);
  return shown.toString();
}

interface Waiting {
  context: ApiContext;
  response: Response;
  listener: ReadListener;
  config: WebhookConfig;
  event: NewEvent;
  actionID: string;
}

/** Records the event and waits for the run that it starts, or for that of the first delivery with its id. */
async function waitForRun({ context, response, listener, config, event, actionID }: Waiting): Promise<Reply> {
  const {
    pool,
    runs: { awaited: awaitedRuns, ingestion },
  } = context;
  const { tenantID } = listener;
  const disconnected = new AbortController();
  response.once('close', () => disconnected.abort());
  // Before the event is recorded, so that the end of the run cannot be missed.
  using own = awaitedRuns.expect({ tenantID, instanceID: runIDOf(event.id, actionID), untilParked: true });
  const { eventID, duplicateOf } = await ingestion.recorder.record({ ...event, awaitedBy: awaitedRuns.channel });
  const ids = { listenerID: listener.id, eventID, ...(duplicateOf && { duplicateOf }) };
  const started = { eventID: duplicateOf ?? eventID, tenantID, instanceID: runIDOf(duplicateOf ?? eventID, actionID) };
  const known = duplicateOf ? await findFate(pool, started) : undefined;
  if (known && !known.hasRun && known.state !== 'pending') return replyToFate(known, config, ids);
  using first = duplicateOf ? awaitedRuns.expect({ ...started, untilParked: true }) : undefined;
  first?.poll();
  const outcome = await (first ?? own).outcome(config.resultTimeoutSeconds * 1_000, disconnected.signal);
  const withRun = { ...ids, instanceID: started.instanceID };
  if (outcome && outcome.error?.code !== 'EVENT_FILTERED' && outcome.error?.code !== 'EVENT_FAILED')
    return replyOf(outcome, config, withRun);
  const fate = disconnected.signal.aborted ? undefined : await findFate(pool, started).catch(() => undefined);
  if (fate?.hasRun) return replyOf(undefined, config, withRun);
  return fate ? replyToFate(fate, config, ids) : replyOf(undefined, config, ids);
}

/** The answer to a delivery whose event has no run. */
function replyToFate(fate: EventFate, config: WebhookConfig, ids: JsonObject): Reply {
  if (fate.state === 'pending') return replyOf(undefined, config, ids);
  // An error would have the sender repeat what the listener does not want.
  return fate.state === 'dead' ? replyWithoutRun(fate, ids) : acknowledge(config, ids);
}
