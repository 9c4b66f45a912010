import { z } from 'zod';
import { JsonObject } from '../../core/json.ts';
import { namedEnum } from '../../core/schema/enum-names.ts';
import { destination } from '../../core/schema/secret.ts';
import { shownFor } from '../../core/schema/shown-for.ts';
import { connectionName } from '../fields/connection.ts';
import {
  apiKeyValue,
  basicPassword,
  basicUser,
  bearerToken,
  HTTPAddress,
  SecretPairs,
  sslVerify,
  timeout,
  WebSocketAddress,
} from '../fields/http.ts';
import { defineDatasource } from './define-datasource.ts';

const AuthType = namedEnum({
  none: 'None',
  bearer: 'Bearer token',
  apiKey: 'API key in a header',
  basic: 'User and password',
});

/** A GraphQL endpoint over HTTP. */
export const graphql = defineDatasource({
  type: 'graphql',
  label: 'GraphQL',
  category: 'api',
  options: z.object({
    connectionName,
    endpoint: destination(HTTPAddress).meta({
      title: 'Endpoint',
      description: 'URL of the API, such as https://api.example.com/graphql',
    }),
    subscriptionEndpoint: destination(z.union([z.literal(''), WebSocketAddress]))
      .default('')
      .meta({
        title: 'Endpoint of subscriptions',
        description:
          'Such as wss://api.example.com/graphql, for listeners. Empty: the endpoint, with ws in place of http',
      }),
    authType: AuthType.default('none').meta({
      title: 'Authentication',
      description: 'How requests prove who sends them',
    }),
    bearerToken: bearerToken.meta(shownFor({ authType: ['bearer'] })),
    apiKey: z
      .object({
        headerName: z.string().min(1).max(200).default('x-api-key').meta({
          title: 'Name of the key',
          description: 'Name of the header, such as x-api-key',
        }),
        value: apiKeyValue,
      })
      .prefault({})
      .meta({
        ...shownFor({ authType: ['apiKey'] }),
        title: 'API key',
        description: 'The key, and the header that it is sent in',
      }),
    basicAuth: z
      .object({
        username: basicUser,
        password: basicPassword,
      })
      .prefault({})
      .meta({
        ...shownFor({ authType: ['basic'] }),
        title: 'Basic authentication',
        description: 'The user and the password',
      }),
    headers: SecretPairs.meta({ title: 'Headers', description: 'Sent with every request' }),
    timeout,
    sslVerify,
  }),
  query: z.object({
    operationType: z.enum(['query', 'mutation']).default('query').meta({
      title: 'Operation',
      description: '`query` reads, `mutation` changes something there; the text has to be the same',
    }),
    query: z.string().min(1).max(200_000).meta({
      title: 'GraphQL',
      description: 'Such as query($id: ID!) { user(id: $id) { name } }; values are variables, not templates',
    }),
    variables: z
      .union([JsonObject, z.string().max(200_000)])
      .default('')
      .meta({
        title: 'Variables',
        contentMediaType: 'application/json',
        description: 'Values of the variables as JSON, such as {"id": {{inputs.id}}}',
      }),
    operationName: z.string().max(200).optional().meta({
      title: 'Operation name',
      description: 'Which operation of the text is meant, if it has several',
    }),
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
