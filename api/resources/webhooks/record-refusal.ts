import { MASK } from '#shared/core/schema/secret.ts';
import type { WebhookOptions } from '#shared/datasources/types/webhook.ts';
import type { ReadListener } from '#shared/triggers/listeners/listener-reader.ts';
import type { Refusal } from '#shared/triggers/listeners/refusal-recorder.ts';
import type { ApiContext } from '../../context/context.ts';
import type { Request } from '../../http/route/route.ts';

/** The known parts of a delivery when it is refused. */
export interface SeenDelivery {
  listener?: ReadListener;
  /** As it was sent; absent if it was not read. */
  body?: Buffer;
}

const MAX_BODY = 2_048;
/** The mask as a body has it, whose bytes are read as single characters. */
const MASK_BYTES = Buffer.from(MASK).toString('latin1');
const MAX_PATH = 500;
/** Together with the body, a refusal has about 15 kB at most. */
const MAX_NAMES = 30;
const MAX_NAME = 100;
const MAX_VALUE = 200;

/** Records the refusal of a delivery to a known listener, without secrets and without what could be sent again as a proof. */
export function recordRefusal(
  { runs: { ingestion } }: ApiContext,
  request: Request,
  { listener, body, error }: SeenDelivery & { error: Fault },
): void {
  if (listener) ingestion.refusals.record(listener.id, () => describe(request, { listener, body, error }));
}

/** The answer to the sender. */
interface Fault {
  status: number;
  code: string;
  message: string;
}

interface Refused {
  listener: ReadListener;
  body: Buffer | undefined;
  error: Fault;
}

function describe(request: Request, { listener, body, error }: Refused): Refusal {
  const options = optionsOf(listener);
  const secrets = secretsOf(options);
  // Before a text is cut: a secret that is cut would not be recognized.
  const clean = (text: string, mask = MASK) =>
    secrets.reduce((cleaned, secret) => cleaned.replaceAll(secret, mask), text);
  const start = (bytes: Buffer) => {
    const end = MAX_BODY + (secrets[0]?.length ?? 0);
    return Buffer.from(clean(bytes.toString('latin1', 0, end), MASK_BYTES).slice(0, MAX_BODY), 'latin1');
  };
  return {
    ...{ tenantID: listener.tenantID, listenerID: listener.id },
    ...{ status: error.status, code: error.code },
    reason: listener.status === 'inactive' ? 'The listener is inactive' : error.message.slice(0, MAX_PATH),
    address: request.ip ?? null,
    method: request.method,
    path: clean(request.path).slice(0, MAX_PATH),
    parameters: parameterNames(request).map((name) => clean(name).slice(0, MAX_NAME)),
    headers: shownHeaders(request.rawHeaders, options).map(([name, value]) => [name, clean(value).slice(0, MAX_VALUE)]),
    body: options && body ? start(body) : null,
    bodyBytes: body?.length ?? null,
  };
}

/** Without its secrets, nothing can be cleaned of them. */
function optionsOf(listener: ReadListener): WebhookOptions | undefined {
  try {
    // Safe: this is what the type's own schema has parsed.
    return listener.options() as WebhookOptions;
  } catch {
    return undefined;
  }
}

/** All secrets of the listener, the longest first, as a sender may have put them anywhere. */
function secretsOf(options: WebhookOptions | undefined): string[] {
  if (!options) return [];
  const { password, bearerToken, authSecret, previousSecret, verifyToken } = options;
  return (
    [password, bearerToken, authSecret, previousSecret, verifyToken]
      .filter((secret) => secret !== '')
      // In a body they are bytes of UTF-8, which are read as single characters; in a path they may be escaped.
      .flatMap((secret) => [secret, Buffer.from(secret).toString('latin1'), encodeURIComponent(secret)])
      .sort((one, other) => other.length - one.length)
  );
}

function parameterNames({ originalUrl }: Request): string[] {
  const at = originalUrl.indexOf('?');
  const names = at < 0 ? [] : [...new URLSearchParams(originalUrl.slice(at + 1)).keys()];
  return [...new Set(names)].slice(0, MAX_NAMES);
}

/** Headers whose values say nothing secret. Of the others the names are shown. */
const PLAIN = new Set([
  ...[
    'accept',
    'accept-encoding',
    'accept-language',
    'connection',
    'content-encoding',
    'content-length',
    'content-type',
    'host',
    'transfer-encoding',
    'user-agent',
  ],
  ...['svix-id', 'svix-timestamp', 'webhook-id', 'webhook-timestamp', 'x-slack-request-timestamp'],
  ...['x-github-delivery', 'x-github-event', 'x-gitlab-event', 'x-shopify-topic'],
]);
const SIGNATURES = new Set([
  ...['stripe-signature', 'svix-signature', 'webhook-signature', 'x-hub-signature', 'x-hub-signature-256'],
  ...['x-shopify-hmac-sha256', 'x-slack-signature', 'x-twilio-signature'],
]);
/** The form of a signature can be told by its beginning. */
const SHOWN_OF_SIGNATURE = 12;

function shownHeaders(raw: readonly string[], options: WebhookOptions | undefined): [string, string][] {
  const isHMAC = options?.authType === 'hmac';
  const time = isHMAC ? options.timestampHeader.toLowerCase() : '';
  const signature = isHMAC ? options.signatureHeader.toLowerCase() : '';
  const shown: [string, string][] = [];
  for (let at = 0; at + 1 < raw.length && shown.length < MAX_NAMES; at += 2) {
    const name = raw[at]?.toLowerCase().slice(0, MAX_NAME) ?? '';
    const value = raw[at + 1] ?? '';
    const isSignature = SIGNATURES.has(name) || name === signature;
    if (isSignature) shown.push([name, startOf(value)]);
    else shown.push([name, PLAIN.has(name) || name === time ? value : MASK]);
  }
  return shown;
}

function startOf(signature: string): string {
  return signature.length > 2 * SHOWN_OF_SIGNATURE ? `${signature.slice(0, SHOWN_OF_SIGNATURE)}…` : MASK;
}
