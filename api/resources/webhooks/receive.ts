import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { WebhookOptions } from '#shared/datasources/types/webhook.ts';
import { takesMethod } from '#shared/triggers/listeners/endpoint-path.ts';
import type { ReadListener } from '#shared/triggers/listeners/listener-reader.ts';
import { webhook } from '#shared/triggers/listeners/types/webhook.ts';
import type { ApiContext } from '../../context/context.ts';
import { ID } from '../../http/fields/id.ts';
import type { Request, Response } from '../../http/route/route.ts';
import { acceptDelivery } from './accept.ts';
import { type Reply, send } from './answer.ts';
import { calledURL, PREFIX } from './called-url.ts';
import { isSignedToken, refusalIn, signedHandshakeOf, unsignedHandshakeOf } from './handshakes.ts';
import { openOptions } from './open-options.ts';
import { decompressBody, readRawBody } from './read-body.ts';
import { recordRefusal, type SeenDelivery } from './record-refusal.ts';
import { type Delivery, type Proof, proofOf } from './signatures.ts';

/** Receives a delivery: finds the listener, checks the sender, records the event, answers. In this order, and nothing else. */
export async function receiveDelivery(request: Request, response: Response, context: ApiContext): Promise<void> {
  const seen: SeenDelivery = {};
  try {
    await receive({ request, response, context, seen });
  } catch (error) {
    if (error instanceof AppError) recordRefusal(context, request, { ...seen, error });
    throw error;
  }
}

interface Receiving {
  request: Request;
  response: Response;
  context: ApiContext;
  /** The known parts of the delivery, for the trace that a refusal leaves. */
  seen: SeenDelivery;
}

async function receive({ request, response, context, seen }: Receiving): Promise<void> {
  const { listener, params } = await findListener(request, context, seen);
  const { tenantID } = listener;
  await context.runs.ingestion.deliveries.start({ tenantID });
  const options = openOptions(listener);
  const config = webhook.config.parse(listener.config);
  const url = calledURL(request, options, context.config.console.publicURL);
  const isHead = request.method === 'HEAD';
  const early = unsignedHandshakeOf(deliveryOf(request, { url, body: Buffer.alloc(0) }), options);
  const answerHandshake = (reply: Reply) => {
    const error = refusalIn(reply);
    if (error) recordRefusal(context, request, { ...seen, error });
    send(response, reply, { isHead });
  };
  if (early) return answerHandshake(early);
  requireMethod(request, response, options);
  // HEAD asks what GET would answer, and changes nothing.
  if (isHead) return send(response, { status: config.responseStatusCode, headers: {}, body: null }, { isHead });

  using reserved = context.requests.bytes.openReservation({ tenantID });
  const { maxBodyBytes } = context.config.http;
  const limits = { maxBytes: Math.min(config.maxBodyBytes ?? maxBodyBytes, maxBodyBytes), reserved };
  // A signature is about the bytes that were sent; everything else about what they were before they were compressed.
  const sent = deliveryOf(request, { url, body: await readRawBody(request, limits) });
  seen.body = sent.body;
  const withBody = sent.body.length > 0 ? unsignedHandshakeOf(sent, options) : undefined;
  if (withBody) return answerHandshake(withBody);
  const proof: Proof = isSignedToken(sent, options)
    ? { fault: 'the body is that of a handshake' }
    : proofOf(sent, options);
  if (proof.fault !== null)
    throw new AppError('INVALID_REQUEST', `This delivery is refused: ${proof.fault}`, { status: 401 });
  const delivery = { ...sent, body: await decompressBody(request, sent.body, limits) };
  const handshake = signedHandshakeOf(delivery, options);
  if (handshake) return answerHandshake(handshake);
  const left = new AbortController();
  response.once('close', () => left.abort());
  const { path, rawHeaders } = request;
  const proven = {
    ...{ listener, params, options, config, delivery, signed: proof.signed },
    sent: { path, query: rawQueryOf(request), rawHeaders },
  };
  const { reply } = await acceptDelivery(context, proven, left.signal);
  send(response, reply);
}

/**
 * Finds a listener by its id, or by its tenant and the pattern of its path. The response does not tell which of them does not
 * exist.
 */
async function findListener(request: Request, { runs: { ingestion } }: ApiContext, seen: SeenDelivery) {
  const segments = request.path.slice(PREFIX.length).split('/').map(decodeSegment);
  const [first, ...rest] = segments;
  const id = ID.safeParse(first).data;
  const isPath = rest.length > 0 && !(rest.length === 1 && rest[0] === '');
  const found = id === undefined || segments.includes(undefined) ? undefined : await read(id);
  if (found?.listener.type === webhook.type) seen.listener = found.listener;
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
