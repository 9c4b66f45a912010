import { z } from 'zod';
import { Json } from '../../core/json.ts';
import { namedEnum } from '../../core/schema/enum-names.ts';
import { Pairs } from '../../core/schema/pairs.ts';
import { idOf } from '../../core/schema/reference.ts';
import { destination, secret } from '../../core/schema/secret.ts';
import { shownFor } from '../../core/schema/shown-for.ts';
import {
  apiKeyValue,
  basicPassword,
  basicUser,
  bearerToken,
  ContentType,
  HTTPAddress,
  SecretPairs,
  sslVerify,
  timeout,
} from '../fields/http.ts';
import { defineDatasource } from './define-datasource.ts';

const text = z.string().max(8_000);
const param = z.string().min(1).max(100);
const itemsPath = z.string().max(200).default('').meta({
  title: 'Path of the items',
  description: 'Where the list is in an answer, such as data.items. Empty: the answer is the list',
});
const pageSize = z.int().min(1).max(10_000).meta({
  title: 'Items in a page',
  description: 'How many are asked for at once, up to what the API allows. A page with fewer is the last',
});
const maxPages = z.int().min(1).max(1_000).default(100).meta({
  title: 'Pages at most',
  description: 'Reading ends after so many, also if there are more',
});

function pagesBy<const Type extends string>(type: Type) {
  return z.literal(type).meta({
    title: 'Kind of pages',
    description:
      '`none`: one answer. `page`: pages have numbers. `offset`: a number of items is passed over. `cursor`: each answer has a mark of the next page. `link`: each answer has the URL of the next page',
  });
}

/** How a list is fetched page by page. */
export const Pagination = z.discriminatedUnion('type', [
  z.object({ type: pagesBy('none') }),
  z.object({
    type: pagesBy('page'),
    pageParam: param.default('page').meta({
      title: 'Parameter of the page',
      description: 'Name of the parameter with the number of the page',
    }),
    firstPage: z
      .int()
      .min(0)
      .default(1)
      .meta({ title: 'First page', description: 'Number of the first page: 1, or 0 for some APIs' }),
    sizeParam: param.optional().meta({
      title: 'Parameter of the size',
      description: 'Name of the parameter with the number of items in a page. Empty: none is sent',
    }),
    pageSize: pageSize.optional(),
    itemsPath,
    maxPages,
  }),
  z.object({
    type: pagesBy('offset'),
    offsetParam: param.default('offset').meta({
      title: 'Parameter of the offset',
      description: 'Name of the parameter with the number of items that are passed over',
    }),
    limitParam: param.default('limit').meta({
      title: 'Parameter of the size',
      description: 'Name of the parameter with the number of items in a page',
    }),
    pageSize: pageSize.default(100),
    itemsPath,
    maxPages,
  }),
  z.object({
    type: pagesBy('cursor'),
    cursorParam: param.default('cursor').meta({
      title: 'Parameter of the cursor',
      description: 'Name of the parameter, or of the field of the body, with the cursor',
    }),
    cursorIn: z.enum(['query', 'body']).default('query').meta({
      title: 'Place of the cursor',
      description: '`query`: a parameter of the URL. `body`: a field of the body, for APIs that list by POST',
    }),
    cursorPath: z.string().min(1).max(200).default('next_cursor').meta({
      title: 'Path of the next cursor',
      description: 'Where the cursor is in an answer; -1 is the last element of a list, as in data.-1.id',
    }),
    morePath: z.string().max(200).default('').meta({
      title: 'Path of the flag for more pages',
      description:
        'Where an answer says whether there are more, such as has_more. Empty: there are while there is a cursor',
    }),
    itemsPath,
    maxPages,
  }),
  z.object({
    type: pagesBy('link'),
    path: z.string().max(200).default('').meta({
      title: "Path of the next page's URL",
      description: 'Where the URL is in an answer, such as links.next. Empty: in the header `Link`',
    }),
    itemsPath,
    maxPages,
  }),
]);
export type Pagination = z.output<typeof Pagination>;

const AuthType = namedEnum({
  none: 'None',
  basic: 'User and password',
  bearer: 'Bearer token',
  apiKey: 'API key in a header or a parameter',
  oauth2: 'OAuth 2.0 client',
  oauthConnection: 'Connected account',
});

/** An API over HTTP that answers with JSON, XML, text or bytes. */
export const restapi = defineDatasource({
  type: 'restapi',
  label: 'REST API',
  category: 'api',
  options: z.object({
    baseUrl: destination(HTTPAddress).meta({
      title: 'Base URL',
      description: 'Such as https://api.example.com/v1. All requests stay below it',
    }),
    timeout,
    authType: AuthType.default('none').meta({
      title: 'Authentication',
      description: 'How requests prove who sends them',
    }),
    username: basicUser.meta(shownFor({ authType: ['basic'] })),
    password: basicPassword.meta(shownFor({ authType: ['basic'] })),
    bearerToken: bearerToken.meta(shownFor({ authType: ['bearer'] })),
    apiKey: z
      .object({
        in: z
          .enum(['header', 'query'])
          .default('header')
          .meta({ title: 'Sent as', description: 'Whether the key is a header, or a parameter of the URL' }),
        name: z.string().min(1).max(200).default('X-API-Key').meta({
          title: 'Name of the key',
          description: 'Name of the header or parameter, such as X-API-Key',
        }),
        value: apiKeyValue,
      })
      .prefault({})
      .meta({
        ...shownFor({ authType: ['apiKey'] }),
        title: 'API key',
        description: 'The key, and where it is sent',
      }),
    oauth2: z
      .object({
        clientId: text
          .default('')
          .meta({ title: 'Client ID', description: 'Id of the client at the provider of tokens' }),
        clientSecret: secret(text)
          .default('')
          .meta({ title: 'Client secret', description: 'Secret of the client. It is stored encrypted' }),
        tokenUrl: destination(HTTPAddress).optional().meta({
          title: 'Token URL',
          description: 'Where tokens are fetched, such as https://auth.example.com/oauth/token',
        }),
        scope: text.default('').meta({
          title: 'Scope',
          description:
            'What the token is for, with blanks between several. Empty: what the provider gives to the client',
        }),
        credentialsIn: z.enum(['header', 'body']).default('header').meta({
          title: 'Place of the credentials',
          description: '`header`: as `Authorization: Basic …`. `body`: as `client_id` and `client_secret`',
        }),
      })
      .prefault({})
      .meta({
        ...shownFor({ authType: ['oauth2'] }),
        title: 'OAuth 2.0 client credentials',
        description: 'Where a token is fetched, and with which credentials',
      }),
    oauthConnectionID: idOf('oauthConnection')
      .optional()
      .meta({
        ...shownFor({ authType: ['oauthConnection'] }),
        title: 'Connected account',
        description: 'The account that was connected at a provider',
      }),
    headers: SecretPairs.meta({ title: 'Headers', description: 'Sent with every request' }),
    queryParams: SecretPairs.meta({ title: 'Query parameters', description: 'Added to the URL of every request' }),
    contentType: z.enum(['json', 'xml', 'text']).default('json').meta({
      title: 'Preferred format of answers',
      description: 'What `Accept` asks for; answers in other formats are read as well',
    }),
    followRedirects: z.boolean().default(true).meta({
      title: 'Follow redirects',
      description: 'Ask again where the answer points to. Off: the redirect is the result',
    }),
    sslVerify,
  }),
  query: z.object({
    apiEndpoint: z.string().max(8_000).meta({
      title: 'Endpoint',
      description: 'Below the base URL, such as /users/{{inputs.id}}; values are encoded for their place',
    }),
    method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']).default('GET').meta({
      title: 'Method',
      description: 'GET and HEAD read; the others change something there',
    }),
    headers: Pairs.meta({
      title: 'Headers',
      description: 'Sent with this request, in place of headers of the datasource with the same names',
    }),
    queryParams: Pairs.meta({
      title: 'Query parameters',
      description: 'Added to the URL, beside those of the datasource',
    }),
    contentType: ContentType.default('json').meta({
      title: 'Format of the body',
      description: '`form` is an HTML form: fields with their values',
    }),
    body: Json.default('').meta({
      title: 'Body',
      contentMediaType: 'application/json',
      description: 'A text in the format, or JSON; a form is an object of its fields. GET and HEAD have none',
    }),
    pagination: Pagination.default({ type: 'none' }).meta({
      title: 'Pagination',
      description: 'How a list is read that comes in pages, up to "Rows at most"',
    }),
    retries: z.int().min(0).max(5).default(0).meta({
      title: 'Retries',
      description:
        'How often a request is repeated after 429, 502, 503, 504 or a lost connection. A POST or PATCH is repeated only with an idempotency key',
    }),
  }),
  templates: {
    apiEndpoint: { as: 'path' },
    body: {
      as: 'chosen',
      by: 'contentType',
      otherwise: 'json',
      uses: { json: { as: 'json' }, form: { as: 'json' }, xml: { as: 'xml' }, text: { as: 'text' } },
    },
  },
  writes: ({ method, apiEndpoint }) => (method === 'GET' || method === 'HEAD' ? null : `${method} ${apiEndpoint}`),
  defaults: {
    options: { baseUrl: 'https://api.example.com', authType: 'none' },
    query: { apiEndpoint: '/', method: 'GET', contentType: 'json', body: '' },
  },
});
