import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import type { RunOutcome } from '#shared/runs/completion-notices.ts';
import type { WebhookConfig } from '#shared/triggers/listeners/types/webhook.ts';
import type { Response } from '../../http/route/route.ts';

/** The response to a sender. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: Json;
}

/** The response that the listener's config contains, or one with the ids of the event. */
export function acknowledge(config: WebhookConfig, event: JsonObject): Reply {
  const { responseStatusCode: status, responseBody } = config;
  return { status, headers: {}, body: responseBody ?? { success: true, message: 'Event received', ...event } };
}

/** The answer of a listener that waits for its workflow. */
export function replyOf(outcome: RunOutcome | undefined, config: WebhookConfig, event: JsonObject): Reply {
  if (!outcome)
    return { status: 202, headers: {}, body: { success: true, message: 'The workflow has not ended yet', ...event } };
  // An error would have the sender repeat what the listener does not want.
  if (outcome.error?.code === 'EVENT_FILTERED') return acknowledge(config, event);
  if (outcome.status !== 'COMPLETED') {
    // The sender is anyone: what went wrong is for the tenant, who reads it with the run.
    const error = { code: outcome.error?.code ?? outcome.status, message: `The workflow ended as ${outcome.status}` };
    return { status: 500, headers: {}, body: { success: false, error, ...event } };
  }
  return ofOutput(outcome.output, config.responseStatusCode);
}

/**
 * A response from the outputs `status`, `headers` and `body`, if there is one of them; else with all outputs as the
 * body.
 */
function ofOutput(output: Json, usualStatus: number): Reply {
  if (!isJsonObject(output) || !NAMES.some((name) => Object.hasOwn(output, name)))
    return { status: usualStatus, headers: {}, body: output };
  const status = Number(output.status ?? usualStatus);
  const isStatus = Number.isInteger(status) && status >= 200 && status <= 599;
  return {
    status: isStatus ? status : usualStatus,
    headers: isJsonObject(output.headers) ? allowed(output.headers) : {},
    body: output.body ?? null,
  };
}

const NAMES = ['status', 'headers', 'body'];

/**
 * Headers that outputs may set: about the body, or for the sender. Others are about the connection or this service, such
 * as cookies.
 */
const ALLOWED: ReadonlySet<string> = new Set([
  'cache-control',
  'content-disposition',
  'content-language',
  'content-type',
  'etag',
  'expires',
  'last-modified',
  'link',
  'location',
  'retry-after',
  'vary',
  'www-authenticate',
]);
const OWN = /^x-(?!request-id$|frame-|content-type-|dns-|download-|permitted-|xss-|powered-|forwarded)[\w-]{1,100}$/;
const MAX_HEADERS = 50;

function allowed(headers: JsonObject): Record<string, string> {
  const named = Object.entries(headers).flatMap(([name, value]): [string, string][] => {
    const key = name.toLowerCase();
    const text = typeof value === 'number' ? String(value) : value;
    const isAllowed =
      (ALLOWED.has(key) || OWN.test(key)) && typeof text === 'string' && /^[\t\x20-\x7e]{0,4000}$/.test(text);
    return isAllowed ? [[key, text]] : [];
  });
  return Object.fromEntries(named.slice(0, MAX_HEADERS));
}

/** Sends a text as it is, and everything else as JSON. */
export function send(response: Response, { status, headers, body }: Reply, { isHead }: { isHead: boolean }): void {
  const isText = typeof body === 'string';
  response.status(status);
  response.setHeader(
    'content-type',
    isText && !isJSONText(body) ? 'text/plain; charset=utf-8' : 'application/json; charset=utf-8',
  );
  // A tenant's page must not act as a page of this service, whose origin it has.
  response.setHeader('content-security-policy', "sandbox; default-src 'none'");
  response.setHeader('x-content-type-options', 'nosniff');
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const text = isText ? body : JSON.stringify(body);
  const sent = status === 204 || status === 304 ? '' : text;
  response.setHeader('content-length', Buffer.byteLength(sent));
  // A text is written in one piece with the headers; bytes would be written separately.
  response.end(isHead ? undefined : sent);
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
