import { z } from 'zod';
import { secret } from '../secret.ts';
import { defineDatasource } from './define-datasource.ts';

const text = z.string().max(8_000);
const header = z
  .string()
  .max(200)
  .regex(/^[\w!#$%&'*+.^`|~-]*$/, 'must be the name of a header');

/** How a delivery proves where it comes from. The last seven are those of providers. */
const AuthType = z.enum([
  'none',
  'basic',
  'bearer',
  'header',
  'query_param',
  'hmac',
  'standard_webhooks',
  'stripe',
  'github',
  'slack',
  'shopify',
  'gitlab',
  'twilio',
]);

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
      connectionName: z.string().max(255).optional().meta({ title: 'Name' }),
      allowedMethods: z
        .enum(['POST', 'PUT', 'PATCH', 'GET', 'DELETE', 'ANY'])
        .default('POST')
        .meta({ title: 'Methods', description: 'Other methods are answered with 405' }),
      authType: AuthType.default('none').meta({ title: 'Authentication' }),
      username: text.default('').meta({ title: 'User' }),
      password: secret(text).default('').meta({ title: 'Password' }),
      bearerToken: secret(text).default('').meta({ title: 'Bearer token' }),
      authHeaderName: header.default('').meta({
        title: 'Header or parameter',
        description: 'With the secret. Default: x-api-key in a header, api_key as a parameter',
      }),
      authSecret: secret(text).default('').meta({ title: 'Secret' }),
      previousSecret: secret(text).default('').meta({
        title: 'Previous secret',
        description: 'Accepted in the place of the password, the token or the secret as well, until it is cleared',
      }),
      algorithm: z.enum(['sha1', 'sha256', 'sha384', 'sha512']).default('sha256').meta({ title: 'Algorithm' }),
      signatureHeader: header.default('x-signature').meta({ title: 'Header with the signature' }),
      signatureEncoding: z
        .enum(['hex', 'base64', 'base64url'])
        .default('hex')
        .meta({ title: 'Signature is written in' }),
      signaturePrefix: z.string().max(50).default('').meta({
        title: 'Before the signature',
        description: 'A text in the header that is no part of it, such as sha256=',
      }),
      timestampHeader: header.default('').meta({
        title: 'Header with the time',
        description: 'Seconds or milliseconds since 1970; it is then signed as well. Empty: no time',
      }),
      signedContent: z.string().max(200).default('{timestamp}.{body}').meta({
        title: 'What is signed with a time',
        description: '{timestamp} and {body} stand for the header and the body',
      }),
      toleranceSeconds: z
        .int()
        .min(1)
        .max(86_400)
        .default(300)
        .meta({ title: 'Tolerance (s)', description: 'A signed time may be so far from now' }),
      publicUrl: z
        .union([z.literal(''), z.url({ protocol: /^https?$/ }).max(2_000)])
        .default('')
        .meta({
          title: 'URL at the sender',
          description: 'For senders that sign the URL, as Twilio does, if it is not the one that requests have here',
        }),
    })
    .superRefine((options, check) => {
      const field = needed[options.authType];
      if (field && options[field] === '') check.addIssue({ code: 'custom', path: [field], message: 'is required' });
      if (options.authType === 'hmac' && options.signatureHeader === '')
        check.addIssue({ code: 'custom', path: ['signatureHeader'], message: 'is required' });
      if (options.authType === 'hmac' && options.timestampHeader !== '' && !options.signedContent.includes('{body}'))
        check.addIssue({ code: 'custom', path: ['signedContent'], message: 'expected a text with {body}' });
    }),
  query: z.object({}),
  templates: {},
  // It has no queries.
  writes: () => null,
  defaults: { options: {}, query: {} },
});
export type WebhookOptions = z.output<(typeof webhook)['options']>;
