import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import type { RunOutcome } from '#shared/runs/completion-notices.ts';
import type { WebhookConfig } from '#shared/triggers/listeners/types/webhook.ts';
import type { Response } from '../../http/route/route.ts';
import { AnswerFault } from './answer-fault.ts';
import { headersOf } from './answer-headers.ts';

/** The response to a sender. */
export interface Reply {
  status: number;
  headers: Record<string, string | string[]>;
  /** Bytes and texts are sent as they are, null as an empty body, everything else as JSON. */
  body: Json | Buffer;
}

/** The response that the listener's config contains, or one with the ids of the event. */
export function acknowledge(config: WebhookConfig, event: JsonObject): Reply {
  const { responseStatusCode: status, responseBody } = config;
  return { status, headers: {}, body: responseBody ?? { success: true, message: 'Event received', ...event } };
}

/** The answer of a listener that waits for its workflow. `event`: the ids of the event, and that of its run if there is one. */
export function replyOf(outcome: RunOutcome | undefined, config: WebhookConfig, event: JsonObject): Reply {
  if (!outcome)
    return { status: 202, headers: {}, body: { success: true, message: 'The workflow has not ended yet', ...event } };
  if (outcome.status !== 'COMPLETED') {
    // The sender is anyone: what went wrong is for the tenant, who reads it with the run.
    const error = { code: outcome.error?.code ?? outcome.status, message: `The workflow ended as ${outcome.status}` };
    return { status: 500, headers: {}, body: { success: false, error, ...event } };
  }
  try {
    return ofOutput(outcome.output, config.responseStatusCode);
  } catch (fault) {
    if (!(fault instanceof AnswerFault)) throw fault;
    const error = { code: 'INVALID_ANSWER', message: `The workflow has answered with ${fault.message}` };
    return { status: 500, headers: {}, body: { success: false, error, ...event } };
  }
}

/** The answer to a delivery whose event has started no run, and will start none. */
export function replyWithoutRun(
  { code, message, isOfSender }: { code: string; message: string; isOfSender: boolean },
  event: JsonObject,
): Reply {
  const error = isOfSender
    ? { code, message }
    : { code: 'EVENT_FAILED', message: `The event has started no workflow: ${code}` };
  return { status: isOfSender ? 400 : 500, headers: {}, body: { success: false, error, ...event } };
}

/**
 * A response from the outputs `status`, `headers` and `body`, if there is one of them; else with all outputs as the
 * body.
 */
function ofOutput(output: Json, usualStatus: number): Reply {
  if (!isJsonObject(output) || !NAMES.some((name) => Object.hasOwn(output, name)))
    return withBody(output, { status: usualStatus, headers: {} });
  return withBody(output.body ?? null, {
    status: statusOf(output.status ?? usualStatus),
    headers: isJsonObject(output.headers) ? headersOf(output.headers) : {},
  });
}

const NAMES = ['status', 'headers', 'body'];

/** A status below 200 announces another answer, so it cannot be the last one. */
function statusOf(value: Json): number {
  const status = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof status === 'number' && Number.isInteger(status) && status >= 200 && status <= 599) return status;
  throw new AnswerFault(`the status ${JSON.stringify(value).slice(0, 100)}: expected a whole number from 200 to 599`);
}

/** The names under which the type of bytes stands beside them. */
const TYPES = ['contentType', 'mimeType', 'type'];

/** Bytes are `{ "base64": … }`, with their type beside them or in the headers. */
function withBody(body: Json, { status, headers }: Pick<Reply, 'status' | 'headers'>): Reply {
  if (!isJsonObject(body) || typeof body.base64 !== 'string') return { status, headers, body };
  const { base64, ...rest } = body;
  const [type, ...others] = Object.keys(rest);
  if (others.length > 0 || (type !== undefined && !TYPES.includes(type))) return { status, headers, body };
  if (!/^[\w+/-]*={0,2}$/.test(base64.replace(/\s/g, ''))) throw new AnswerFault('base64 that is none');
  const own = type === undefined ? {} : headersOf({ 'content-type': rest[type] ?? null });
  return {
    status,
    headers: { 'content-type': 'application/octet-stream', ...own, ...headers },
    body: Buffer.from(base64, 'base64'),
  };
}

/** Statuses whose answers have no body, nor headers about one. */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

export function send(response: Response, { status, headers, body }: Reply, { isHead = false } = {}): void {
  const isEmpty = BODILESS.has(status) || status === 205;
  const { sent, type } = contentOf(isEmpty ? null : body);
  response.status(status);
  if (type !== undefined) response.setHeader('content-type', type);
  // A tenant's page must not act as a page of this service, whose origin it has.
  response.setHeader('content-security-policy', "sandbox; default-src 'none'");
  response.setHeader('x-content-type-options', 'nosniff');
  for (const [name, value] of Object.entries(headers))
    if (!(isEmpty && ABOUT_BODY.has(name))) response.setHeader(name, value);
  if (!BODILESS.has(status)) response.setHeader('content-length', Buffer.byteLength(sent));
  // A text is written in one piece with the headers; bytes would be written separately.
  response.end(isHead || isEmpty ? undefined : sent);
}

const ABOUT_BODY: ReadonlySet<string> = new Set(['content-type', 'content-disposition', 'content-language']);

/** The body as it is sent, and its type unless the headers name another. */
function contentOf(body: Reply['body']): { sent: string | Buffer; type?: string } {
  if (body === null) return { sent: '' };
  if (Buffer.isBuffer(body)) return { sent: body };
  if (typeof body === 'string' && !isJSONText(body)) return { sent: body, type: 'text/plain; charset=utf-8' };
  return { sent: typeof body === 'string' ? body : JSON.stringify(body), type: 'application/json; charset=utf-8' };
}

function isJSONText(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
