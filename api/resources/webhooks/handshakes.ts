import { createHmac } from 'node:crypto';
import type { Json } from '#shared/core/json.ts';
import { signsHandshakes, type WebhookOptions } from '#shared/datasources/types/webhook.ts';
import type { Reply } from './answer.ts';
import { fieldOf, jsonOf } from './json-field.ts';
import { type Delivery, isOneOf, textOf } from './signatures.ts';

/** Answers the request by which a provider checks an address; undefined if it is another request. */
type Handshake = (delivery: Delivery, options: WebhookOptions) => Reply | undefined;

/** Handshakes that providers do not sign, or that may come before the sender has the secret. */
const unsigned: Readonly<Record<WebhookOptions['handshake'], Handshake>> = {
  none: () => undefined,

  /** https://developers.facebook.com/docs/graph-api/webhooks/getting-started */
  meta: (delivery, options) =>
    delivery.query.get('hub.mode') === 'subscribe' ? hubAnswer(delivery, options) : undefined,

  /** https://www.w3.org/TR/websub/#hub-verifies-intent; the token is that of PubSubHubbub, or a parameter of the address. */
  websub({ method, query, ...rest }, options) {
    const mode = query.get('hub.mode');
    if (method !== 'GET') return undefined;
    // A hub that has refused a subscription wants no answer but success.
    if (mode === 'denied') return text('');
    return mode === 'subscribe' || mode === 'unsubscribe' ? hubAnswer({ method, query, ...rest }, options) : undefined;
  },

  /** https://developers.zoom.us/docs/api/webhooks/#validate-your-webhook-endpoint */
  zoom({ body }, { authSecret }) {
    const sent = body.includes('endpoint.url_validation') ? jsonOf(body) : null;
    const token = fieldOf(sent, 'payload.plainToken');
    if (fieldOf(sent, 'event') !== 'endpoint.url_validation' || token === undefined) return undefined;
    if (!TOKEN.test(token)) return refused('the plain token has another form');
    return json({ plainToken: token, encryptedToken: hmacOf(token, { algorithm: 'sha256', authSecret }, 'hex') });
  },

  /** https://docs.x.com/x-api/webhooks/quickstart */
  x({ method, query }, { authSecret }) {
    const token = query.get('crc_token');
    if (method !== 'GET' || token === null) return undefined;
    if (!TOKEN.test(token)) return refused('the crc_token has another form');
    return json({ response_token: `sha256=${hmacOf(token, { algorithm: 'sha256', authSecret }, 'base64')}` });
  },

  /** https://learn.microsoft.com/graph/change-notifications-delivery-webhooks */
  microsoft_graph: ({ query }) => echoOf(query.get('validationToken')),

  /** https://www.dropbox.com/developers/reference/webhooks */
  dropbox: ({ method, query }) => (method === 'GET' ? echoOf(query.get('challenge')) : undefined),

  twitch: () => undefined,

  /** https://developer.okta.com/docs/concepts/event-hooks */
  okta({ method, headers }) {
    const verification = textOf(headers['x-okta-verification-challenge']);
    return method === 'GET' && verification !== '' ? json({ verification }) : undefined;
  },

  /** https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks */
  trello: ({ method }) => (method === 'HEAD' ? text('') : undefined),

  custom: (delivery, options) => (options.handshakeFrom === 'body' ? undefined : customAnswer(delivery, options)),
};

/** Handshakes that are signed as deliveries are, of presets and of senders. */
const signed: Readonly<Partial<Record<WebhookOptions['handshake'], Handshake>>> = {
  /** https://dev.twitch.tv/docs/eventsub/handling-webhook-events */
  twitch({ headers, body }) {
    if (textOf(headers['twitch-eventsub-message-type']) !== 'webhook_callback_verification') return undefined;
    return echoOf(fieldOf(jsonOf(body), 'challenge') ?? null);
  },
  custom: (delivery, options) => (options.handshakeFrom === 'body' ? customAnswer(delivery, options) : undefined),
};

/** The answer to a handshake before the sender is checked; undefined if the request is none. */
export function unsignedHandshakeOf(delivery: Delivery, options: WebhookOptions): Reply | undefined {
  return unsigned[options.handshake](delivery, options);
}

/** The answer to a handshake whose sender has been checked; undefined if the request is none. */
export function signedHandshakeOf(delivery: Delivery, options: WebhookOptions): Reply | undefined {
  return (
    (options.authType === 'slack' ? slackAnswer(delivery) : undefined) ?? signed[options.handshake]?.(delivery, options)
  );
}

/**
 * Tokens that this service signs for anyone who asks. Without this form, a stranger could ask for the signature of a forged delivery, since
 * some providers sign deliveries with the same secret.
 */
const TOKEN = /^[\w+/.-]{1,200}={0,2}$/;
const MAX_TOKEN = 202;

/** Whether the body of a delivery could be a token that was signed for a stranger. No provider with such a handshake sends one. */
export function isSignedToken({ body }: Delivery, options: WebhookOptions): boolean {
  return signsHandshakes(options) && body.length <= MAX_TOKEN && TOKEN.test(body.toString('latin1'));
}

function hubAnswer({ method, query }: Delivery, { verifyToken }: WebhookOptions): Reply | undefined {
  const challenge = query.get('hub.challenge');
  if (method !== 'GET' || challenge === null) return undefined;
  if (verifyToken !== '' && !isOneOf(query.get('hub.verify_token') ?? '', [verifyToken]))
    return refused('the verify token is wrong');
  return text(challenge);
}

/** The text that Slack sends once, before it sends events, and wants back. */
function slackAnswer({ body }: Delivery): Reply | undefined {
  const sent = body.includes('url_verification') ? jsonOf(body) : null;
  return fieldOf(sent, 'type') === 'url_verification' ? echoOf(fieldOf(sent, 'challenge') ?? null) : undefined;
}

function customAnswer(delivery: Delivery, options: WebhookOptions): Reply | undefined {
  const { handshakeField, handshakeTokenField, handshakeAnswer, verifyToken, algorithm, signatureEncoding } = options;
  const read = readerOf(delivery, options);
  const challenge = read(handshakeField);
  if (challenge === undefined) return undefined;
  if (verifyToken !== '' && !isOneOf(read(handshakeTokenField) ?? '', [verifyToken]))
    return refused('the verify token is wrong');
  const signs = signsHandshakes(options);
  if (signs && !TOKEN.test(challenge)) return refused('the challenge has another form');
  const hmac = signs ? hmacOf(challenge, { algorithm, authSecret: options.authSecret }, signatureEncoding) : '';
  const isJSON = /^\s*[[{]/.test(handshakeAnswer.replaceAll(/\{(challenge|hmac)\}/g, ''));
  const written = isJSON ? JSON.stringify(challenge).slice(1, -1) : challenge;
  const answer = handshakeAnswer.replaceAll(/\{(challenge|hmac)\}/g, (_all, name) =>
    name === 'hmac' ? hmac : written,
  );
  return { ...text(answer), headers: { 'content-type': isJSON ? 'application/json; charset=utf-8' : PLAIN } };
}

function readerOf({ query, headers, body }: Delivery, { handshakeFrom }: WebhookOptions) {
  if (handshakeFrom === 'query') return (name: string) => query.get(name) ?? undefined;
  if (handshakeFrom === 'header') return (name: string) => textOf(headers[name.toLowerCase()]) || undefined;
  const sent = jsonOf(body);
  return (name: string) => fieldOf(sent, name);
}

function hmacOf(
  token: string,
  { algorithm, authSecret }: Pick<WebhookOptions, 'algorithm' | 'authSecret'>,
  encoding: WebhookOptions['signatureEncoding'],
): string {
  return createHmac(algorithm, authSecret).update(token).digest(encoding);
}

const PLAIN = 'text/plain; charset=utf-8';

function echoOf(challenge: string | null): Reply | undefined {
  return challenge === null ? undefined : text(challenge);
}

function text(body: string): Reply {
  return { status: 200, headers: { 'content-type': PLAIN }, body };
}

function json(body: Json): Reply {
  return { status: 200, headers: {}, body };
}

/** The reason for which a handshake is refused; undefined if it is answered. */
export function refusalIn({ status, body }: Reply): { status: number; code: string; message: string } | undefined {
  if (status !== REFUSED) return undefined;
  // Safe: `refused` makes the only answers with this status.
  const { error } = body as unknown as { error: { code: string; message: string } };
  return { status, ...error };
}

const REFUSED = 403;

function refused(why: string): Reply {
  const error = { code: 'INVALID_REQUEST', message: `This handshake is refused: ${why}` };
  return { status: REFUSED, headers: {}, body: { success: false, error } };
}
