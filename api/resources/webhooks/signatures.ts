import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { WebhookOptions } from '#shared/datasources/types/webhook.ts';

/** The parts of a delivery that a signature may cover. */
export interface Delivery {
  method: string;
  headers: IncomingHttpHeaders;
  query: URLSearchParams;
  /** The URL that the sender called, as far as it can be known here. */
  url: string;
  body: Buffer;
}

/** Null if the delivery proves where it comes from; otherwise why it does not, for the sender. */
export function faultOf(delivery: Delivery, options: WebhookOptions, now = Date.now()): string | null {
  const check = checks[options.authType];
  return check(delivery, options, now);
}

/** The header or parameter with a credential, which is not recorded. */
export function credentialOf({ authType, authHeaderName }: WebhookOptions): { header?: string; parameter?: string } {
  if (authType === 'header') return { header: (authHeaderName || DEFAULT_HEADER).toLowerCase() };
  if (authType === 'gitlab') return { header: 'x-gitlab-token' };
  if (authType === 'query_param') return { parameter: authHeaderName || DEFAULT_PARAMETER };
  return {};
}

/** The id by which the provider tells repeated deliveries apart, if it sends one. */
export function deliveryIDOf({ headers, body }: Pick<Delivery, 'headers' | 'body'>, { authType }: WebhookOptions) {
  const names = idHeaders[authType];
  if (names) return names.map((name) => textOf(headers[name])).find((id) => id !== '');
  const field = idFields[authType];
  return field === undefined ? undefined : fieldOf(body, field);
}

const DEFAULT_HEADER = 'x-api-key';
const DEFAULT_PARAMETER = 'api_key';

const idHeaders: Readonly<Partial<Record<WebhookOptions['authType'], readonly string[]>>> = {
  standard_webhooks: ['webhook-id', 'svix-id'],
  github: ['x-github-delivery'],
  shopify: ['x-shopify-webhook-id'],
  twilio: ['i-twilio-idempotency-token'],
};

/** Fields of the body with the id, of providers that send it there. */
const idFields: Readonly<Partial<Record<WebhookOptions['authType'], string>>> = { stripe: 'id', slack: 'event_id' };

function fieldOf(body: Buffer, field: string): string | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    const id = typeof value === 'object' && value !== null ? Reflect.get(value, field) : undefined;
    return typeof id === 'string' && id !== '' ? id : undefined;
  } catch {
    return undefined;
  }
}

type Check = (delivery: Delivery, options: WebhookOptions, now: number) => string | null;

const checks: Readonly<Record<WebhookOptions['authType'], Check>> = {
  none: () => null,

  basic({ headers }, options) {
    const [scheme = '', sent = ''] = (headers.authorization ?? '').split(' ');
    const expected = secretsOf(options, options.password).map((password) => `${options.username}:${password}`);
    const given = Buffer.from(sent, 'base64').toString('utf8');
    return scheme.toLowerCase() === 'basic' && isOneOf(given, expected) ? null : 'the user or the password is wrong';
  },

  bearer({ headers }, options) {
    const [scheme = '', ...rest] = (headers.authorization ?? '').split(' ');
    const isRight =
      scheme.toLowerCase() === 'bearer' && isOneOf(rest.join(' ').trim(), secretsOf(options, options.bearerToken));
    return isRight ? null : 'the bearer token is wrong';
  },

  header({ headers }, options) {
    const { header = '' } = credentialOf(options);
    return isOneOf(textOf(headers[header]), secretsOf(options)) ? null : `the header ${header} is wrong`;
  },

  query_param({ query }, options) {
    const { parameter = '' } = credentialOf(options);
    return isOneOf(query.get(parameter) ?? '', secretsOf(options)) ? null : `the parameter ${parameter} is wrong`;
  },

  hmac({ headers, body }, options, now) {
    const { algorithm, signatureEncoding, signaturePrefix, timestampHeader, toleranceSeconds } = options;
    const header = options.signatureHeader.toLowerCase();
    const written = textOf(headers[header]);
    if (!written.startsWith(signaturePrefix)) return missing(header);
    const time = timestampHeader === '' ? null : textOf(headers[timestampHeader.toLowerCase()]);
    const late = time === null ? null : tooFar(time, { now, toleranceSeconds });
    if (late) return late;
    const signed = time === null ? [body] : contentOf(options.signedContent, { time, body });
    const given = [decoded(written.slice(signaturePrefix.length), signatureEncoding)];
    return isSigned(given, { algorithm, keys: secretsOf(options), signed }) ? null : WRONG;
  },

  /** https://www.standardwebhooks.com, also with the names of headers that Svix uses. */
  standard_webhooks({ headers, body }, options, now) {
    const read = (name: string) => textOf(headers[`webhook-${name}`] ?? headers[`svix-${name}`]);
    const time = read('timestamp');
    const late = tooFar(time, { now, toleranceSeconds: options.toleranceSeconds });
    if (late) return late;
    const given = read('signature')
      .split(' ')
      .filter((one) => one.startsWith('v1,'))
      .map((one) => decoded(one.slice(3), 'base64'));
    const keys = secretsOf(options).map((secret) => Buffer.from(secret.replace(/^whsec_/, ''), 'base64'));
    return isSigned(given, { algorithm: 'sha256', keys, signed: [`${read('id')}.${time}.`, body] }) ? null : WRONG;
  },

  /** https://docs.stripe.com/webhooks/signature: several signatures while a secret is rolled. */
  stripe({ headers, body }, options, now) {
    const parts = textOf(headers['stripe-signature']).split(',');
    const valuesOf = (key: string) =>
      parts.flatMap((part) => (part.startsWith(`${key}=`) ? [part.slice(key.length + 1)] : []));
    const [time = ''] = valuesOf('t');
    const late = tooFar(time, { now, toleranceSeconds: options.toleranceSeconds });
    if (late) return late;
    const given = valuesOf('v1').map((one) => decoded(one, 'hex'));
    return isSigned(given, { algorithm: 'sha256', keys: secretsOf(options), signed: [`${time}.`, body] })
      ? null
      : WRONG;
  },

  /** https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries */
  github({ headers, body }, options) {
    const written = textOf(headers['x-hub-signature-256']);
    if (!written.startsWith('sha256=')) return missing('x-hub-signature-256');
    const given = [decoded(written.slice('sha256='.length), 'hex')];
    return isSigned(given, { algorithm: 'sha256', keys: secretsOf(options), signed: [body] }) ? null : WRONG;
  },

  /** https://api.slack.com/authentication/verifying-requests-from-slack */
  slack({ headers, body }, options, now) {
    const time = textOf(headers['x-slack-request-timestamp']);
    const late = tooFar(time, { now, toleranceSeconds: options.toleranceSeconds });
    if (late) return late;
    const written = textOf(headers['x-slack-signature']);
    if (!written.startsWith('v0=')) return missing('x-slack-signature');
    const given = [decoded(written.slice('v0='.length), 'hex')];
    return isSigned(given, { algorithm: 'sha256', keys: secretsOf(options), signed: [`v0:${time}:`, body] })
      ? null
      : WRONG;
  },

  /** https://shopify.dev/docs/apps/build/webhooks/subscribe/https */
  shopify({ headers, body }, options) {
    const given = [decoded(textOf(headers['x-shopify-hmac-sha256']), 'base64')];
    return isSigned(given, { algorithm: 'sha256', keys: secretsOf(options), signed: [body] }) ? null : WRONG;
  },

  gitlab({ headers }, options) {
    return isOneOf(textOf(headers['x-gitlab-token']), secretsOf(options)) ? null : 'the header x-gitlab-token is wrong';
  },

  /** https://www.twilio.com/docs/usage/security: a form is signed by its fields, another body by its digest in the URL. */
  twilio({ headers, body, url }, options) {
    const given = [decoded(textOf(headers['x-twilio-signature']), 'base64')];
    const target = options.publicUrl || url;
    // The URL contains the header Host, which the sender chooses.
    if (!URL.canParse(url)) return 'the URL is wrong';
    const digest = new URL(target).searchParams.get('bodySHA256') ?? new URL(url).searchParams.get('bodySHA256');
    if (digest !== null && !isOneOf(hash('sha256', body), [digest.toLowerCase()]))
      return 'the body is not that of its digest';
    const isForm = textOf(headers['content-type']).startsWith('application/x-www-form-urlencoded');
    const fields = isForm ? [...new URLSearchParams(body.toString('utf8'))] : [];
    const sorted = fields.sort(([one], [other]) => (one < other ? -1 : Number(one > other))).flat();
    const keys = secretsOf(options);
    return isSigned(given, { algorithm: 'sha1', keys, signed: [target, ...sorted] }) ? null : WRONG;
  },
};

const WRONG = 'the signature is wrong';

function missing(header: string): string {
  return `the header ${header} is missing or has another form`;
}

/** The current secret and, while it is being rotated, the one before. */
function secretsOf({ authSecret, previousSecret }: WebhookOptions, current = authSecret): string[] {
  return [current, previousSecret].filter((secret) => secret !== '');
}

function textOf(header: string | string[] | undefined): string {
  return (Array.isArray(header) ? header[0] : header) ?? '';
}

/** Compares digests: the time that it takes tells nothing of the secret, its length included. */
function isOneOf(given: string, expected: readonly string[]): boolean {
  const digest = hash('sha256', given, 'buffer');
  let isFound = false;
  for (const one of expected) if (timingSafeEqual(digest, hash('sha256', one, 'buffer'))) isFound = true;
  return isFound && given !== '';
}

interface Signed {
  algorithm: string;
  keys: readonly (string | Buffer)[];
  /** The parts of the text that is signed. */
  signed: readonly (string | Buffer)[];
}

/** A sender may give several signatures, and there may be two secrets. */
const MAX_SIGNATURES = 10;

function isSigned(given: readonly Buffer[], { algorithm, keys, signed }: Signed): boolean {
  let isFound = false;
  for (const key of keys) {
    const mac = createHmac(algorithm, key);
    for (const part of signed) mac.update(part);
    const expected = mac.digest();
    for (const one of given.slice(0, MAX_SIGNATURES))
      if (one.length === expected.length && timingSafeEqual(one, expected)) isFound = true;
  }
  return isFound;
}

/** Decodes a signature. A text that is not in the encoding gives an empty buffer, which equals no signature. */
function decoded(text: string, encoding: 'hex' | 'base64' | 'base64url'): Buffer {
  const isWritten = encoding === 'hex' ? /^[\da-f]*$/i.test(text) : /^[\w+/-]*={0,2}$/.test(text);
  return isWritten ? Buffer.from(text, encoding) : Buffer.alloc(0);
}

/**
 * Why the time of a delivery is not near now; null if it is. Without this check an old delivery could be replayed. In
 * seconds or milliseconds.
 */
function tooFar(text: string, { now, toleranceSeconds }: { now: number; toleranceSeconds: number }): string | null {
  if (!/^\d{1,16}$/.test(text)) return 'the time of the delivery is missing';
  const time = Number(text);
  const ms = time > 100_000_000_000 ? time : time * 1000;
  return Math.abs(now - ms) <= toleranceSeconds * 1000 ? null : 'the time of the delivery is too far from now';
}

/** The parts of the signed content, with the body as it is. */
function contentOf(template: string, { time, body }: { time: string; body: Buffer }): (string | Buffer)[] {
  return template
    .split(/(\{timestamp\}|\{body\})/)
    .map((part) => (part === '{timestamp}' ? time : part === '{body}' ? body : part));
}
