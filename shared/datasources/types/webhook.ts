import { z } from 'zod';
import { namedEnum } from '../../core/schema/enum-names.ts';
import { secret } from '../../core/schema/secret.ts';
import { shownFor } from '../../core/schema/shown-for.ts';
import { connectionName } from '../fields/connection.ts';
import { defineDatasource } from './define-datasource.ts';

const text = z.string().max(8_000);
const header = z
  .string()
  .max(200)
  .regex(/^[\w!#$%&'*+.^`|~-]*$/, 'must be the name of a header');

const handshakeName = z
  .string()
  .max(200)
  .regex(/^[\x21-\x7e]*$/, 'must be a name without spaces');

/** How a delivery proves where it comes from. The last seven are methods of single providers, and of the standard that several follow. */
const AuthType = namedEnum({
  none: 'None: anyone may send',
  basic: 'User and password',
  bearer: 'Bearer token',
  header: 'Secret in a header',
  query_param: 'Secret in a parameter',
  hmac: 'HMAC signature',
  standard_webhooks: 'Standard Webhooks, Svix',
  stripe: 'Stripe',
  github: 'GitHub, Meta',
  slack: 'Slack',
  shopify: 'Shopify',
  gitlab: 'GitLab',
  twilio: 'Twilio',
});

/** Requests by which a provider asks whether an address is meant to receive its deliveries. */
const Handshake = z.enum([
  'none',
  'meta',
  'websub',
  'zoom',
  'x',
  'microsoft_graph',
  'dropbox',
  'twitch',
  'okta',
  'trello',
  'custom',
]);

/** The authentications by a secret that the sender sends or signs with. */
const usingSecret = [
  ...['header', 'query_param', 'hmac', 'standard_webhooks', 'stripe'],
  ...['github', 'slack', 'shopify', 'gitlab', 'twilio'],
];

/** The option that an authentication cannot do without. */
const needed: Readonly<Partial<Record<z.infer<typeof AuthType>, 'password' | 'bearerToken' | 'authSecret'>>> = {
  basic: 'password',
  bearer: 'bearerToken',
  header: 'authSecret',
  query_param: 'authSecret',
  hmac: 'authSecret',
  standard_webhooks: 'authSecret',
  stripe: 'authSecret',
  github: 'authSecret',
  slack: 'authSecret',
  shopify: 'authSecret',
  gitlab: 'authSecret',
  twilio: 'authSecret',
};

/** Senders that call an address of this service. Listeners of the type receive what they send. */
export const webhook = defineDatasource({
  type: 'webhook',
  label: 'Webhook',
  category: 'api',
  listensOnly: true,
  options: z
    .object({
      connectionName,
      allowedMethods: z.enum(['POST', 'PUT', 'PATCH', 'GET', 'DELETE', 'ANY']).default('POST').meta({
        title: 'Methods',
        description: 'What senders may use; `ANY` is all of these. Others are answered with 405',
      }),
      authType: AuthType.default('none').meta({
        title: 'Authentication',
        description:
          'How a delivery proves where it comes from: it has a password or a secret, or it is signed with a secret, by a method of your own or as a provider does it',
      }),
      username: text
        .default('')
        .meta({ ...shownFor({ authType: ['basic'] }), title: 'User', description: 'Name that senders sign in with' }),
      password: secret(text)
        .default('')
        .meta({
          ...shownFor({ authType: ['basic'] }),
          title: 'Password',
          description: 'Password of senders. It is stored encrypted',
        }),
      bearerToken: secret(text)
        .default('')
        .meta({
          ...shownFor({ authType: ['bearer'] }),
          title: 'Bearer token',
          description: 'What senders send as `Authorization: Bearer …`. It is stored encrypted',
        }),
      authHeaderName: header.default('').meta({
        ...shownFor({ authType: ['header', 'query_param'] }),
        title: 'Header or parameter',
        description: 'Name of what has the secret. Empty: x-api-key, or api_key as a parameter',
      }),
      authSecret: secret(text)
        .default('')
        .meta({
          ...shownFor({ authType: usingSecret, handshake: ['zoom', 'x', 'custom'] }),
          title: 'Secret',
          description:
            'What the sender sends or signs with: as the provider shows it, or one made up and given to the provider. It is stored encrypted',
        }),
      previousSecret: secret(text)
        .default('')
        .meta({
          ...shownFor({ authType: ['basic', 'bearer', ...usingSecret] }),
          title: 'Previous secret',
          description: 'The old password, token or secret, which is accepted too until this field is cleared',
        }),
      algorithm: z
        .enum(['sha1', 'sha256', 'sha384', 'sha512'])
        .default('sha256')
        .meta({
          ...shownFor({ authType: ['hmac'] }),
          title: 'Algorithm',
          description: 'The hash that signatures are made with',
        }),
      signatureHeader: header.default('x-signature').meta({
        ...shownFor({ authType: ['hmac'] }),
        title: 'Header with the signature',
        description: 'Name of the header',
      }),
      signatureEncoding: z
        .enum(['hex', 'base64', 'base64url'])
        .default('hex')
        .meta({
          ...shownFor({ authType: ['hmac'] }),
          title: 'Encoding of the signature',
          description: 'How the bytes of the signature are written',
        }),
      signaturePrefix: z
        .string()
        .max(50)
        .default('')
        .meta({
          ...shownFor({ authType: ['hmac'] }),
          title: 'Before the signature',
          description: 'A text in the header that is no part of the signature, such as sha256=',
        }),
      timestampHeader: header.default('').meta({
        ...shownFor({ authType: ['hmac'] }),
        title: 'Header with the time',
        description:
          'Seconds or milliseconds since 1970, or a time such as 2026-03-05T14:05:12Z, which is signed as well. Empty: there is no time',
      }),
      signedContent: z
        .string()
        .max(200)
        .default('{timestamp}.{body}')
        .meta({
          ...shownFor({ authType: ['hmac'] }),
          title: 'What is signed',
          description:
            'For `hmac`: {timestamp}, {body}, {method}, {url} and {header:x-id} stand for parts of the delivery; only these are proven. Without a time and without the last three it is the body alone',
        }),
      toleranceSeconds: z
        .int()
        .min(1)
        .max(86_400)
        .default(300)
        .meta({
          ...shownFor({ authType: ['hmac', 'standard_webhooks', 'stripe', 'slack'] }),
          title: 'Tolerance (s)',
          description: 'Seconds that a signed time may be away from now',
        }),
      publicUrl: z
        .union([z.literal(''), z.url({ protocol: /^https?$/ }).max(2_000)])
        .default('')
        .meta({
          ...shownFor({ authType: ['hmac', 'twilio'] }),
          title: 'Public address',
          description:
            'For senders that sign the URL, as Twilio does: scheme, host and prefix under which they reach this service, such as https://hooks.example.com. Path and query are those of each delivery. Empty: the setting PUBLIC_URL',
        }),
      handshake: Handshake.default('none').meta({
        title: 'Handshake',
        description:
          'The request by which a provider checks the address. It is answered at once, with any method, and is no event. `custom`: as the fields below say. Slack is always answered',
      }),
      verifyToken: secret(text)
        .default('')
        .meta({
          ...shownFor({ handshake: ['meta', 'websub', 'custom'] }),
          title: 'Verify token',
          description: 'A text that the handshake has to contain, or it is answered with 403. It is stored encrypted',
        }),
      handshakeFrom: z
        .enum(['query', 'header', 'body'])
        .default('query')
        .meta({
          ...shownFor({ handshake: ['custom'] }),
          title: 'Where the challenge is',
          description: 'A parameter, a header, or a field of a body of JSON',
        }),
      handshakeField: handshakeName.default('challenge').meta({
        ...shownFor({ handshake: ['custom'] }),
        title: 'Name of the challenge',
        description:
          'A request that has it is a handshake. A field of a body may be inside of others, such as payload.challenge',
      }),
      handshakeTokenField: handshakeName.default('').meta({
        ...shownFor({ handshake: ['custom'] }),
        title: 'Name of the token',
        description: 'For `custom` with a verify token: name of what contains it, in the same part of the request',
      }),
      handshakeAnswer: z
        .string()
        .max(2_000)
        .default('{challenge}')
        .meta({
          ...shownFor({ handshake: ['custom'] }),
          title: 'Answer to the challenge',
          description:
            'A text or JSON. {challenge} stands for what was sent, {hmac} for its signature with the secret, by the algorithm and encoding of signatures',
        }),
    })
    .superRefine((options, check) => {
      for (const path of missingForHandshake(options))
        check.addIssue({ code: 'custom', path: [path], message: 'is required' });
      const field = needed[options.authType];
      if (field && options[field] === '') check.addIssue({ code: 'custom', path: [field], message: 'is required' });
      if (options.authType === 'hmac' && options.signatureHeader === '')
        check.addIssue({ code: 'custom', path: ['signatureHeader'], message: 'is required' });
      if (options.authType === 'hmac' && usesTemplate(options) && !options.signedContent.includes('{body}'))
        check.addIssue({ code: 'custom', path: ['signedContent'], message: 'expected a text with {body}' });
    }),
  query: z.object({}),
  templates: {},
  // It has no queries.
  writes: () => null,
  defaults: { options: {}, query: {} },
});
export type WebhookOptions = z.output<(typeof webhook)['options']>;

/** Whether `signedContent` counts. Without a time and without parts other than the body, a signature is of the body alone. */
export function usesTemplate({
  timestampHeader,
  signedContent,
}: {
  timestampHeader: string;
  signedContent: string;
}): boolean {
  return timestampHeader !== '' || /\{(method|url|header:[^{}]*)\}/.test(signedContent);
}

interface HandshakeOptions {
  handshake: z.infer<typeof Handshake>;
  handshakeAnswer: string;
  handshakeField: string;
  handshakeTokenField: string;
  verifyToken: string;
  authSecret: string;
}

/** Whether a handshake is answered with a signature of what was sent, by the secret. */
export function signsHandshakes({
  handshake,
  handshakeAnswer,
}: Pick<HandshakeOptions, 'handshake' | 'handshakeAnswer'>): boolean {
  return handshake === 'zoom' || handshake === 'x' || (handshake === 'custom' && handshakeAnswer.includes('{hmac}'));
}

/** The options that a handshake cannot do without, and that are empty. */
function missingForHandshake(options: HandshakeOptions): (keyof HandshakeOptions)[] {
  const wanted: (keyof HandshakeOptions)[] = [
    ...(options.handshake === 'meta' ? (['verifyToken'] as const) : []),
    ...(signsHandshakes(options) ? (['authSecret'] as const) : []),
    ...(options.handshake === 'custom' ? (['handshakeField'] as const) : []),
    ...(options.handshake === 'custom' && options.verifyToken !== '' ? (['handshakeTokenField'] as const) : []),
  ];
  return wanted.filter((name) => options[name] === '');
}
