import { z } from 'zod';
import { Json } from '../json.ts';
import { destination, secret } from '../secret.ts';
import { defineDatasource } from './define-datasource.ts';
import { HTTPAddress, SecretPairs, sslVerify, timeout } from './http-fields.ts';

const text = z.string().max(8_000);

/** A GraphQL endpoint over HTTP. */
export const graphql = defineDatasource({
  type: 'graphql',
  label: 'GraphQL',
  category: 'api',
  options: z.object({
    connectionName: z.string().max(255).optional().meta({ title: 'Name' }),
    endpoint: destination(HTTPAddress).meta({ title: 'Endpoint' }),
    subscriptionEndpoint: destination(
      z.union([
        z.literal(''),
        z
          .url({ protocol: /^wss?$/, error: 'must be a URL that begins with ws:// or wss://' })
          .max(2_000)
          .refine((text) => {
            const url = URL.parse(text);
            return url === null || (url.username === '' && url.password === '' && url.hash === '');
          }, 'must not contain a user, a password or a #'),
      ]),
    )
      .default('')
      .meta({
        title: 'Endpoint of subscriptions',
        description: 'ws:// or wss://. Empty: the same address as that of queries',
      }),
    authType: z.enum(['none', 'bearer', 'apiKey', 'basic']).default('none').meta({ title: 'Authentication' }),
    bearerToken: secret(text).default('').meta({ title: 'Bearer token' }),
    apiKey: z
      .object({
        headerName: z.string().min(1).max(200).default('x-api-key').meta({ title: 'Header' }),
        value: secret(text).default('').meta({ title: 'Key' }),
      })
      .prefault({})
      .meta({ title: 'API key' }),
    basicAuth: z
      .object({
        username: text.default('').meta({ title: 'User' }),
        password: secret(text).default('').meta({ title: 'Password' }),
      })
      .prefault({})
      .meta({ title: 'Basic authentication' }),
    headers: SecretPairs.meta({ title: 'Headers' }),
    timeout,
    sslVerify,
  }),
  query: z.object({
    operationType: z.enum(['query', 'mutation']).default('query').meta({ title: 'Operation' }),
    query: z.string().min(1).max(200_000).meta({ title: 'GraphQL' }),
    variables: z
      .union([z.record(z.string(), Json), z.string().max(200_000)])
      .default('')
      .meta({ title: 'Variables', description: 'JSON, such as {"id": {{inputs.id}}}' }),
    operationName: z.string().max(200).optional().meta({ title: 'Operation name' }),
  }),
  templates: {
    query: { as: 'none', instead: 'must be a variable such as $id, with its value in "variables"' },
    variables: { as: 'json' },
  },
  writes: ({ operationType, operationName = '' }) =>
    operationType === 'query' ? null : `${operationType} ${operationName}`.trim(),
  defaults: {
    options: { endpoint: 'https://api.example.com/graphql', authType: 'none' },
    query: { operationType: 'query', query: 'query { __typename }', variables: '{}' },
  },
});
