import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { readMediaType } from '#shared/core/media-type.ts';
import { usesTemplate, type WebhookOptions } from '#shared/datasources/types/webhook.ts';
import { FORM } from '#shared/triggers/listeners/event-body.ts';
import { withAndWithoutPort } from './called-url.ts';

/** The parts of a delivery that a signature may cover. */
export interface Delivery {
  method: string;
  headers: IncomingHttpHeaders;
  query: URLSearchParams;
  /** The URL that the sender called: see `calledURL`. */
  url: string;
  body: Buffer;
}

/**
 * The proof of a delivery. `fault`: why it does not prove where it comes from, for the sender. `signed`: the parts that its signature covers;
 * null if it proves by a credential, which says nothing of single parts.
 */
export type Proof = { fault: string } | { fault: null; signed: SignedParts | null };
export type SignedParts = readonly (string | Buffer)[];

export function proofOf(delivery: Delivery, options: WebhookOptions, now = Date.now()): Proof {
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

const DEFAULT_HEADER = 'x-api-key';
const DEFAULT_PARAMETER = 'api_key';

type Check = (delivery: Delivery, options: WebhookOptions, now: number) => Proof;

const checks: Readonly<Record<WebhookOptions['authType'], Check>> = {
  none: () => PROVEN,

  basic({ headers }, options) {
    const [scheme = '', sent = ''] = (headers.authorization ?? '').split(' ');
    const expected = secretsOf(options, options.password).map((password) => `${options.username}:${password}`);
    const given = Buffer.from(sent, 'base64').toString('utf8');
    return scheme.toLowerCase() === 'basic' && isOneOf(given, expected)
      ? PROVEN
      : { fault: 'the user or the password is wrong' };
  },

  bearer({ headers }, options) {
    const [scheme = '', ...rest] = (headers.authorization ?? '').split(' ');
    const isRight =
      scheme.toLowerCase() === 'bearer' && isOneOf(rest.join(' ').trim(), secretsOf(options, options.bearerToken));
    return isRight ? PROVEN : { fault: 'the bearer token is wrong' };
  },

  header({ headers }, options) {
    const { header = '' } = credentialOf(options);
    return credential(textOf(headers[header]), options, `the header ${header}`);
  },

  query_param({ query }, options) {
    const { parameter = '' } = credentialOf(options);
    return credential(query.get(parameter) ?? '', options, `the parameter ${parameter}`);
  },

  hmac(delivery, options, now) {
    const { headers, body } = delivery;
    const { algorithm, signatureEncoding, signaturePrefix, timestampHeader, toleranceSeconds } = options;
    const header = options.signatureHeader.toLowerCase();
    const written = textOf(headers[header]);
    if (!written.startsWith(signaturePrefix)) return missing(header);
    const time = timestampHeader === '' ? null : textOf(headers[timestampHeader.toLowerCase()]);
    const late = time === null ? null : tooFar(time, { now, toleranceSeconds });
    if (late) return { fault: late };
    const signed = usesTemplate(options) ? contentOf(options.signedContent, delivery, time ?? '') : [body];
    const given = [decoded(written.slice(signaturePrefix.length), signatureEncoding)];
    return signature(given, { algorithm, keys: secretsOf(options), signed });
  },

  /** https://www.standardwebhooks.com, also with the names of headers that Svix uses. */
  standard_webhooks({ headers, body }, options, now) {
    const read = (name: string) => textOf(headers[`webhook-${name}`] ?? headers[`svix-${name}`]);
    const time = read('timestamp');
    const late = tooFar(time, { now, toleranceSeconds: options.toleranceSeconds });
    if (late) return { fault: late };
    const given = read('signature')
      .split(' ')
      .filter((one) => one.startsWith('v1,'))
      .map((one) => decoded(one.slice(3), 'base64'));
    const keys = secretsOf(options).map((secret) => Buffer.from(secret.replace(/^whsec_/, ''), 'base64'));
    return signature(given, { algorithm: 'sha256', keys, signed: [`${read('id')}.${time}.`, body] });
  },

  /** https://docs.stripe.com/webhooks/signature: several signatures while a secret is rolled. */
  stripe({ headers, body }, options, now) {
    const parts = textOf(headers['stripe-signature']).split(',');
    const valuesOf = (key: string) =>
      parts.flatMap((part) => (part.startsWith(`${key}=`) ? [part.slice(key.length + 1)] : []));
    const [time = ''] = valuesOf('t');
    const late = tooFar(time, { now, toleranceSeconds: options.toleranceSeconds });
    if (late) return { fault: late };
    const given = valuesOf('v1').map((one) => decoded(one, 'hex'));
    return signature(given, { algorithm: 'sha256', keys: secretsOf(options), signed: [`${time}.`, body] });
  },

  /** https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries */
  github({ headers, body }, options) {
    const written = textOf(headers['x-hub-signature-256']);
    if (!written.startsWith('sha256=')) return missing('x-hub-signature-256');
    const given = [decoded(written.slice('sha256='.length), 'hex')];
    return signature(given, { algorithm: 'sha256', keys: secretsOf(options), signed: [body] });
  },

  /** https://api.slack.com/authentication/verifying-requests-from-slack */
  slack({ headers, body }, options, now) {
    const time = textOf(headers['x-slack-request-timestamp']);
    const late = tooFar(time, { now, toleranceSeconds: options.toleranceSeconds });
    if (late) return { fault: late };
    const written = textOf(headers['x-slack-signature']);
    if (!written.startsWith('v0=')) return missing('x-slack-signature');
    const given = [decoded(written.slice('v0='.length), 'hex')];
    return signature(given, { algorithm: 'sha256', keys: secretsOf(options), signed: [`v0:${time}:`, body] });
  },

  /** https://shopify.dev/docs/apps/build/webhooks/subscribe/https */
  shopify({ headers, body }, options) {
    const given = [decoded(textOf(headers['x-shopify-hmac-sha256']), 'base64')];
    return signature(given, { algorithm: 'sha256', keys: secretsOf(options), signed: [body] });
  },

  gitlab({ headers }, options) {
    return credential(textOf(headers['x-gitlab-token']), options, 'the header x-gitlab-token');
  },

  /** https://www.twilio.com/docs/usage/security: a form is signed by its fields, another body by its digest in the URL. */
  twilio({ headers, body, url, query }, options) {
    const given = [decoded(textOf(headers['x-twilio-signature']), 'base64')];
    const digest = query.get('bodySHA256');
    if (digest !== null && !isOneOf(hash('sha256', body), [digest.toLowerCase()]))
      return { fault: 'the body is not that of its digest' };
    const fields = readMediaType(headers['content-type']).type === FORM ? formPartsOf(body) : [];
    if (digest === null && fields.length === 0 && body.length > 0)
      return { fault: 'the body is no form, and the parameter bodySHA256 with its digest is missing' };
    // Only the text that verifies is the same for every copy of a delivery.
    const proofs = withAndWithoutPort(url).map((called) =>
      signature(given, { algorithm: 'sha1', keys: secretsOf(options), signed: [called, ...fields] }),
    );
    return proofs.find(({ fault }) => fault === null) ?? WRONG;
  },
};

const PROVEN: Proof = { fault: null, signed: null };
const WRONG: Proof = { fault: 'the signature is wrong' };

function missing(header: string): Proof {
  return { fault: `the header ${header} is missing or has another form` };
}

function credential(given: string, options: WebhookOptions, carrier: string): Proof {
  return isOneOf(given, secretsOf(options)) ? PROVEN : { fault: `${carrier} is wrong` };
}

/** The current secret and, while it is being rotated, the one before. */
function secretsOf({ authSecret, previousSecret }: WebhookOptions, current = authSecret): string[] {
  return [current, previousSecret].filter((secret) => secret !== '');
}

export function textOf(header: string | string[] | undefined): string {
  return (Array.isArray(header) ? header[0] : header) ?? '';
}

/** Compares digests: the time that it takes tells nothing of the secret, its length included. */
export function isOneOf(given: string, expected: readonly string[]): boolean {
  const digest = hash('sha256', given, 'buffer');
  let isFound = false;
  for (const one of expected) if (timingSafeEqual(digest, hash('sha256', one, 'buffer'))) isFound = true;
  return isFound && given !== '';
}

interface Signed {
  algorithm: string;
  keys: readonly (string | Buffer)[];
  /** The parts of the text that is signed. */
  signed: SignedParts;
}

/** A sender may give several signatures, and there may be two secrets. */
const MAX_SIGNATURES = 10;

function signature(given: readonly Buffer[], of: Signed): Proof {
  return isSigned(given, of) ? { fault: null, signed: of.signed } : WRONG;
}

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

/** Why the time of a delivery is not near now; null if it is. Without this check an old delivery could be replayed. */
function tooFar(text: string, { now, toleranceSeconds }: { now: number; toleranceSeconds: number }): string | null {
  const ms = momentOf(text);
  if (ms === undefined) return 'the time of the delivery is missing, or has another form';
  return Math.abs(now - ms) <= toleranceSeconds * 1000 ? null : 'the time of the delivery is too far from now';
}

/** Reads seconds or milliseconds since 1970, or a date and time of RFC 3339. */
function momentOf(text: string): number | undefined {
  if (/^\d{1,16}$/.test(text)) return Number(text) > 100_000_000_000 ? Number(text) : Number(text) * 1000;
  const ms = RFC_3339.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/** The parts of the signed content, with the body as it is. */
function contentOf(template: string, { method, url, headers, body }: Delivery, time: string): SignedParts {
  return template.split(/(\{(?:timestamp|body|method|url|header:[^{}]*)\})/).map((part) => {
    if (part === '{timestamp}') return time;
    if (part === '{body}') return body;
    if (part === '{method}') return method;
    if (part === '{url}') return url;
    const header = /^\{header:(.*)\}$/.exec(part)?.[1];
    return header === undefined ? part : textOf(headers[header.toLowerCase()]);
  });
}

/** Names and values of a form as Twilio signs them: by name, and of a repeated name its different values, sorted. */
function formPartsOf(body: Buffer): string[] {
  const form = new URLSearchParams(body.toString('utf8'));
  const names = [...new Set(form.keys())].sort();
  return names.flatMap((name) => [...new Set(form.getAll(name))].sort().flatMap((value) => [name, value]));
}
