import { createHmac, hash } from 'node:crypto';
import { usesTemplate, type WebhookOptions } from '#shared/datasources/types/webhook.ts';
import { credentialOf } from './signatures.ts';

/** Values that a part of a header or of a signed text stands for; other parts are texts. */
type Variable = 'secret' | 'time' | 'id' | 'body' | 'method' | 'url' | 'digest' | 'basic' | 'signature';
type Part = { text: string } | { of: Variable };
type Parts = readonly Part[];

/** How a delivery proves where it comes from, by an option of the datasource. */
interface Scheme {
  headers: readonly (readonly [name: string, value: Parts])[];
  parameters?: readonly (readonly [name: string, value: Parts])[];
  signature?: {
    content: Parts;
    algorithm: string;
    encoding: 'hex' | 'base64' | 'base64url';
    /** Whether the secret is the text of the key in base64, behind `whsec_`. */
    isEncodedKey?: boolean;
  };
}

export interface TestDelivery {
  method: string;
  /** Without a query. */
  url: string;
  headers: readonly (readonly [string, string])[];
  body: string;
}

const text = (literal: string): Part => ({ text: literal });
const of = (variable: Variable): Part => ({ of: variable });

function schemeOf(options: WebhookOptions, headers: TestDelivery['headers']): Scheme {
  const { authType } = options;
  const sha256 = { algorithm: 'sha256', encoding: 'hex' } as const;
  switch (authType) {
    case 'none':
      return { headers: [] };
    case 'basic':
      return { headers: [['authorization', [text('Basic '), of('basic')]]] };
    case 'bearer':
      return { headers: [['authorization', [text('Bearer '), of('secret')]]] };
    case 'header':
    case 'gitlab':
      return { headers: [[credentialOf(options).header ?? '', [of('secret')]]] };
    case 'query_param':
      return { headers: [], parameters: [[credentialOf(options).parameter ?? '', [of('secret')]]] };
    case 'hmac':
      return hmacScheme(options, headers);
    case 'standard_webhooks':
      return {
        headers: [
          ['webhook-id', [of('id')]],
          ['webhook-timestamp', [of('time')]],
          ['webhook-signature', [text('v1,'), of('signature')]],
        ],
        signature: {
          content: [of('id'), text('.'), of('time'), text('.'), of('body')],
          ...{ algorithm: 'sha256', encoding: 'base64', isEncodedKey: true },
        },
      };
    case 'stripe':
      return {
        headers: [['stripe-signature', [text('t='), of('time'), text(',v1='), of('signature')]]],
        signature: { content: [of('time'), text('.'), of('body')], ...sha256 },
      };
    case 'github':
      return {
        headers: [['x-hub-signature-256', [text('sha256='), of('signature')]]],
        signature: { content: [of('body')], ...sha256 },
      };
    case 'slack':
      return {
        headers: [
          ['x-slack-request-timestamp', [of('time')]],
          ['x-slack-signature', [text('v0='), of('signature')]],
        ],
        signature: { content: [text('v0:'), of('time'), text(':'), of('body')], ...sha256 },
      };
    case 'shopify':
      return {
        headers: [['x-shopify-hmac-sha256', [of('signature')]]],
        signature: { content: [of('body')], algorithm: 'sha256', encoding: 'base64' },
      };
    case 'twilio':
      return {
        headers: [['x-twilio-signature', [of('signature')]]],
        parameters: [['bodySHA256', [of('digest')]]],
        signature: {
          content: [of('url'), text('?bodySHA256='), of('digest')],
          ...{ algorithm: 'sha1', encoding: 'base64' },
        },
      };
  }
}

function hmacScheme(options: WebhookOptions, headers: TestDelivery['headers']): Scheme {
  const { timestampHeader, signatureHeader, signaturePrefix, algorithm, signatureEncoding: encoding } = options;
  const content = usesTemplate(options) ? contentParts(options.signedContent, headers) : [of('body')];
  return {
    headers: [
      ...(timestampHeader === '' ? [] : [[timestampHeader.toLowerCase(), [of('time')]] as const]),
      [signatureHeader.toLowerCase(), [text(signaturePrefix), of('signature')]],
    ],
    signature: { content, algorithm, encoding },
  };
}

const PARTS: Readonly<Record<string, Variable>> = {
  '{timestamp}': 'time',
  '{body}': 'body',
  '{method}': 'method',
  '{url}': 'url',
};

function contentParts(template: string, headers: TestDelivery['headers']): Parts {
  return template.split(/(\{(?:timestamp|body|method|url|header:[^{}]*)\})/).map((part) => {
    const variable = PARTS[part];
    if (variable) return of(variable);
    const header = /^\{header:(.*)\}$/.exec(part)?.[1]?.toLowerCase();
    return text(header === undefined ? part : (headers.find(([name]) => name === header)?.[1] ?? ''));
  });
}

/** The headers and the query that prove a delivery. */
export function signDelivery(
  delivery: TestDelivery,
  options: WebhookOptions,
  now: { at: number; id: string },
): { headers: [string, string][]; query: string } {
  const { headers, parameters = [], signature } = schemeOf(options, delivery.headers);
  const secret = secretOf(options);
  const values: Record<Exclude<Variable, 'signature'>, string> = {
    ...{ secret, id: now.id, time: String(Math.floor(now.at / 1_000)) },
    ...{ body: delivery.body, method: delivery.method, url: delivery.url },
    digest: hash('sha256', delivery.body),
    basic: Buffer.from(`${options.username}:${secret}`).toString('base64'),
  };
  const fill = (parts: Parts, all: Partial<Record<Variable, string>>) =>
    parts.map((part) => ('text' in part ? part.text : (all[part.of] ?? ''))).join('');
  const signed = signature && {
    signature: createHmac(signature.algorithm, signature.isEncodedKey ? keyOf(secret) : secret)
      .update(fill(signature.content, values))
      .digest(signature.encoding),
  };
  const all = { ...values, ...signed };
  return {
    headers: headers.map(([name, parts]) => [name, fill(parts, all)]),
    query: new URLSearchParams(parameters.map(([name, parts]) => [name, fill(parts, all)])).toString(),
  };
}

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
}

function secretOf({ authType, password, bearerToken, authSecret }: WebhookOptions): string {
  if (authType === 'basic') return password;
  return authType === 'bearer' ? bearerToken : authSecret;
}

/** A script for a shell that sends the delivery by `curl`, signed anew with a secret that the person puts in. */
export function curlOf({ method, url, headers, body }: TestDelivery, options: WebhookOptions): string {
  const scheme = schemeOf(options, headers);
  const { parameters = [], signature } = scheme;
  const proofs = scheme.headers.map(([name, parts]) => `-H "${inQuotes(name)}: ${inShell(parts)}"`);
  const parts = [...scheme.headers.flatMap(([, all]) => all), ...parameters.flatMap(([, all]) => all)];
  const used = new Set([...parts, ...(signature?.content ?? [])].flatMap((part) => ('of' in part ? part.of : [])));
  const needsSecret = options.authType !== 'none';
  const lines = [
    ...(needsSecret ? ["SECRET='put the secret here'"] : []),
    `URL=${quoted(url)}`,
    ...(body === '' && !used.has('body') && !used.has('digest') ? [] : [`BODY=${quoted(body)}`]),
    ...(used.has('time') ? ['TIME=$(date +%s)'] : []),
    ...(used.has('id') ? ['ID=test_$(date +%s)_$$'] : []),
    ...(used.has('digest') ? [`DIGEST=$(printf '%s' "$BODY" | openssl dgst -sha256 | sed 's/^.* //')`] : []),
    ...(used.has('basic')
      ? [`BASIC=$(printf '%s' "${inQuotes(options.username)}:$SECRET" | base64 | tr -d '\\n')`]
      : []),
    ...(signature ? shellSignature(signature, method) : []),
    [
      `curl -i -X ${method} "$URL"`,
      ...parameters.map(([name, value]) => `--url-query "${inQuotes(name)}=${inShell(value)}"`),
      ...headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
      ...proofs,
      ...(body === '' ? [] : ['--data-raw "$BODY"']),
    ].join(' \\\n  '),
  ];
  return lines.join('\n');
}

const encoders = {
  hex: `| sed 's/^.* //'`,
  base64: `-binary | base64 | tr -d '\\n'`,
  base64url: `-binary | base64 | tr -d '\\n=' | tr '+/' '-_'`,
} as const;

function shellSignature(
  { content, algorithm, encoding, isEncodedKey = false }: NonNullable<Scheme['signature']>,
  method: string,
) {
  const key = isEncodedKey ? '-mac HMAC -macopt "hexkey:$KEY"' : '-hmac "$SECRET"';
  return [
    ...(isEncodedKey ? [`KEY=$(printf '%s' "\${SECRET#whsec_}" | base64 -d | od -An -tx1 | tr -d ' \\n')`] : []),
    `SIGNATURE=$(printf '%s' "${inShell(content, method)}" | openssl dgst -${algorithm} ${key} ${encoders[encoding]})`,
  ];
}

const NAMES: Readonly<Record<Exclude<Variable, 'method'>, string>> = {
  ...{ secret: 'SECRET', time: 'TIME', id: 'ID', body: 'BODY', url: 'URL' },
  ...{ digest: 'DIGEST', basic: 'BASIC', signature: 'SIGNATURE' },
};

/** For double quotes. Braces end a name that letters follow. */
function inShell(parts: Parts, method = ''): string {
  return parts
    .map((part) => {
      if ('text' in part) return inQuotes(part.text);
      return part.of === 'method' ? method : `\${${NAMES[part.of]}}`;
    })
    .join('');
}

function inQuotes(literal: string): string {
  return literal.replace(/[\\"$`]/g, '\\$&');
}

function quoted(literal: string): string {
  return `'${literal.replaceAll("'", "'\\''")}'`;
}
