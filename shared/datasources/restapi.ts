import { z } from 'zod';
import { Json } from '../json.ts';
import { destination, secret } from '../secret.ts';
import { defineDatasource } from './define-datasource.ts';
import { ContentType, HTTPAddress, Pairs, SecretPairs, sslVerify, timeout } from './http-fields.ts';

const text = z.string().max(8_000);
const param = z.string().min(1).max(100);
const itemsPath = z.string().max(200).default('').meta({
  title: 'Path of the items',
  description: 'Path of the list in the response, such as data.items; empty: the response is the list',
});
const pageSize = z.int().min(1).max(10_000);
const maxPages = z.int().min(1).max(1_000).default(100).meta({ title: 'Pages at most' });

/** How a list is fetched page by page. */
export const Pagination = z.discriminatedUnion('type', [
  z.object({ type: z.literal('none') }),
  z.object({
    type: z.literal('page'),
    pageParam: param.default('page'),
    firstPage: z.int().min(0).default(1),
    sizeParam: param.optional(),
    pageSize: pageSize.optional(),
    itemsPath,
    maxPages,
  }),
  z.object({
    type: z.literal('offset'),
    offsetParam: param.default('offset'),
    limitParam: param.default('limit'),
    pageSize: pageSize.default(100),
    itemsPath,
    maxPages,
  }),
  z.object({
    type: z.literal('cursor'),
    cursorParam: param.default('cursor'),
    cursorIn: z.enum(['query', 'body']).default('query').meta({ title: 'The cursor is sent in the' }),
    cursorPath: z.string().min(1).max(200).default('next_cursor').meta({
      title: 'Path of the next cursor',
      description: 'In the response; -1 is the last element of a list, such as data.-1.id',
    }),
    morePath: z.string().max(200).default('').meta({
      title: 'Path of the flag for more pages',
      description: 'Empty: there are more pages while there is a cursor',
    }),
    itemsPath,
    maxPages,
  }),
  z.object({
    type: z.literal('link'),
    path: z.string().max(200).default('').meta({
      title: "Path of the next page's URL",
      description: 'In the response; empty: from the header Link',
    }),
    itemsPath,
    maxPages,
  }),
]);
export type Pagination = z.output<typeof Pagination>;

/** An API over HTTP that answers with JSON, XML, text or bytes. */
export const restapi = defineDatasource({
  type: 'restapi',
  label: 'REST API',
  category: 'api',
  options: z.object({
    baseUrl: destination(HTTPAddress).meta({ title: 'Base URL', description: 'All requests stay below it' }),
    timeout,
    authType: z
      .enum(['none', 'basic', 'bearer', 'apiKey', 'oauth2', 'oauthConnection'])
      .default('none')
      .meta({ title: 'Authentication' }),
    username: text.default('').meta({ title: 'User' }),
    password: secret(text).default('').meta({ title: 'Password' }),
    bearerToken: secret(text).default('').meta({ title: 'Bearer token' }),
    apiKey: z
      .object({
        in: z.enum(['header', 'query']).default('header').meta({ title: 'Sent as' }),
        name: z.string().min(1).max(200).default('X-API-Key').meta({ title: 'Name' }),
        value: secret(text).default('').meta({ title: 'Key' }),
      })
      .prefault({})
      .meta({ title: 'API key' }),
    oauth2: z
      .object({
        clientId: text.default('').meta({ title: 'Client ID' }),
        clientSecret: secret(text).default('').meta({ title: 'Client secret' }),
        tokenUrl: destination(HTTPAddress).optional().meta({ title: 'Token URL' }),
        scope: text.default('').meta({ title: 'Scope' }),
        credentialsIn: z.enum(['header', 'body']).default('header').meta({ title: 'Client credentials sent in' }),
      })
      .prefault({})
      .meta({ title: 'OAuth 2.0 client credentials' }),
    oauthConnectionID: z
      .uuid()
      .toLowerCase()
      .optional()
      .meta({ title: 'OAuth connection', description: 'An account that was connected at a provider' }),
    headers: SecretPairs.meta({ title: 'Headers' }),
    queryParams: SecretPairs.meta({ title: 'Query parameters' }),
    contentType: z.enum(['json', 'xml', 'text']).default('json').meta({ title: 'Preferred format of answers' }),
    followRedirects: z.boolean().default(true).meta({ title: 'Follow redirects' }),
    sslVerify,
  }),
  query: z.object({
    apiEndpoint: z
      .string()
      .max(8_000)
      .meta({ title: 'Endpoint', description: 'Below the base URL, such as /users/{{inputs.id}}' }),
    method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']).default('GET').meta({ title: 'Method' }),
    headers: Pairs.meta({ title: 'Headers' }),
    queryParams: Pairs.meta({ title: 'Query parameters' }),
    contentType: ContentType.default('json').meta({ title: 'Format of the body' }),
    body: Json.default('').meta({
      title: 'Body',
      description: 'A text in the format, or JSON; a form is an object of its fields',
    }),
    pagination: Pagination.default({ type: 'none' }).meta({ title: 'Pagination' }),
    retries: z.int().min(0).max(5).default(0).meta({
      title: 'Retries',
      description: 'After 429, 502, 503, 504 and lost connections, of requests that may be repeated',
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
