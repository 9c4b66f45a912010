import { hash } from 'node:crypto';
import { z } from 'zod';
import { Json } from '#shared/json.ts';
import { type Method, type Route, TENANT_PREFIX } from './route.ts';

/** JSON Schema 2020-12, which is what OpenAPI 3.1 speaks. */
export interface Schema {
  type?: string | string[];
  title?: string;
  format?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  additionalProperties?: Schema | boolean;
  $ref?: string;
  $defs?: Record<string, Schema>;
  [keyword: string]: unknown;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description?: string;
  schema: Schema;
}

/** By media type. */
type Content = Record<string, { schema: Schema }>;

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  parameters: Parameter[];
  requestBody?: { required: boolean; content: Content };
  responses: Record<string, { description: string; content: Content } | { $ref: string }>;
  security: Record<string, string[]>[];
  'x-permission'?: string | string[];
}

export interface OpenAPI {
  openapi: '3.1.0';
  info: { title: string; version: string; description: string };
  tags: { name: string }[];
  paths: Record<string, Partial<Record<Method, Operation>>>;
  components: {
    schemas: Record<string, Schema>;
    responses: Record<string, { description: string; content: Content }>;
    securitySchemes: Record<string, object>;
  };
}

/** The route table as an OpenAPI document: nothing in it is written by hand, so nothing in it can be out of date. */
export function describeRoutes(routes: readonly Route[]): OpenAPI {
  const schemas: Record<string, Schema> = { Error: errorSchema };
  const paths: OpenAPI['paths'] = {
    '/health': { get: healthOperation },
    '/ready': { get: readyOperation },
  };
  const tags = new Set(['service']);
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    const operation = describeRoute(route, schemas);
    paths[path] = { ...paths[path], [route.method]: operation };
    for (const tag of operation.tags) tags.add(tag);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gantry',
      version: '1.0.0',
      description:
        'Multi-tenant backend for admin applications. Every answer carries `success`; a failure has `error.code` and `error.message`.',
    },
    tags: [...tags].map((name) => ({ name })),
    paths,
    components: { schemas, responses: errorResponses, securitySchemes },
  };
}

function describeRoute(route: Route, schemas: Record<string, Schema>): Operation {
  const toSchema = (schema: z.ZodType, io: 'input' | 'output') => hoist(jsonSchema(schema, io), schemas);
  const status = String(route.status ?? 200);
  const permissions = permissionsOf(route);
  return {
    operationId: operationID(route),
    tags: [tagOf(route)],
    summary: route.summary,
    parameters: [
      ...pathParameters(route, toSchema),
      ...queryParameters(route, toSchema),
      ...(route.idempotent ? [idempotencyKey] : []),
    ],
    ...(route.body && {
      requestBody: {
        required: !route.body.safeParse(undefined).success,
        content: json(toSchema(route.body, 'input')),
      },
    }),
    ...(route.upload && {
      requestBody: { required: true, content: { 'multipart/form-data': { schema: fileSchema } } },
    }),
    responses: {
      [status]: {
        description: 'Done',
        content: route.produces
          ? { [route.produces]: { schema: { type: 'string', format: 'binary' } } }
          : json(inEnvelope(toSchema(route.response, 'output'))),
      },
      ...Object.fromEntries(errorsOf(route).map((code) => [code, { $ref: `#/components/responses/${code}` }])),
    },
    security: securityOf(route),
    ...(permissions.length > 0 && { 'x-permission': permissions.length > 1 ? permissions : permissions[0] }),
  };
}

/** All that a request needs whatever is in it: a body may ask for more. */
function permissionsOf(route: Route): string[] {
  if (route.realm !== 'tenant') return [];
  const params = Object.fromEntries([...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, name]));
  const access = route.access({ params, query: {}, body: {} });
  return [...new Set(access.map(({ permission }) => permission))];
}

function securityOf({ realm }: Route): Operation['security'] {
  return {
    public: [],
    user: [{ idToken: [] }],
    tenant: [{ idToken: [] }, { apiKey: [] }, { apiKeyHeader: [] }],
    operator: [{ operatorSession: [] }],
  }[realm];
}

type ToSchema = (schema: z.ZodType, io: 'input' | 'output') => Schema;

function pathParameters(route: Route, toSchema: ToSchema): Parameter[] {
  const known = route.params ? toSchema(route.params, 'input').properties : {};
  const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  return names.map((name) => ({
    name,
    in: 'path',
    required: true,
    schema: known?.[name] ?? { type: 'string', format: 'uuid' },
  }));
}

function queryParameters(route: Route, toSchema: ToSchema): Parameter[] {
  if (!route.query) return [];
  const { properties = {}, required = [] } = toSchema(route.query, 'input');
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
}

const idempotencyKey: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'The same key and request within 24 hours have one effect and the same answer.',
  schema: { type: 'string', maxLength: 255 },
};

/** The resource: the word after the tenant, or after the version. */
function tagOf({ path }: Route): string {
  const rest = path.startsWith(`${TENANT_PREFIX}/`) ? path.slice(TENANT_PREFIX.length) : path.replace(/^\/api\/v1/, '');
  return rest.split('/')[1] ?? 'service';
}

/** `post /workflows/:workflowID/execute` is `postWorkflowsByWorkflowIDExecute`: as unique as the path, and it changes only with it. */
function operationID({ method, path }: Route): string {
  const rest = path.startsWith(TENANT_PREFIX)
    ? path.slice(TENANT_PREFIX.length) || '/tenant'
    : path.replace(/^\/api\/v1/, '');
  const words = rest.split(/[/\-._]/).filter(Boolean);
  return method + words.map((word) => (word.startsWith(':') ? `By${capital(word.slice(1))}` : capital(word))).join('');
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function errorsOf(route: Route): string[] {
  const byRealm = { public: [], user: ['401'], operator: ['401'], tenant: ['401', '403', '404', '429'] }[route.realm];
  const idempotent = route.idempotent ? ['409'] : [];
  const large = route.body || route.upload ? ['413'] : [];
  return [...new Set(['400', ...byRealm, ...idempotent, ...large, ...(route.errors ?? []), '503'])].sort();
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Schema {
  const { $schema, ...made } = z.toJSONSchema(schema, { io, unrepresentable: 'any', override: shorten });
  return made as Schema;
}

/** What a reader needs, and nothing a client would have to be changed for when an answer grows by a field. */
function shorten({ zodSchema, jsonSchema }: { zodSchema: unknown; jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.format) delete jsonSchema.pattern;
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  if (zodSchema !== Json) return;
  for (const keyword of Object.keys(jsonSchema)) delete jsonSchema[keyword];
  Object.assign(jsonSchema, { title: 'Json', description: 'Any JSON value' });
}

/** References are to the document's root, so definitions move there; one that several schemas have is kept once. */
function hoist({ $defs = {}, ...schema }: Schema, schemas: Record<string, Schema>): Schema {
  const digest = hash('sha1', JSON.stringify($defs)).slice(0, 8);
  const nameOf = (local: string) =>
    `#/components/schemas/${$defs[local]?.title ?? `${local.replace(/^_+/, '')}_${digest}`}`;
  const rename = (value: Schema): Schema =>
    JSON.parse(
      JSON.stringify(value).replace(/"#\/\$defs\/(\w+)"/g, (_reference, local) => JSON.stringify(nameOf(local))),
    );
  for (const [local, definition] of Object.entries($defs))
    schemas[nameOf(local).slice('#/components/schemas/'.length)] = rename(definition);
  return rename(schema);
}

function inEnvelope(schema: Schema): Schema {
  for (const choice of ['anyOf', 'oneOf'] as const)
    if (schema[choice]) return { ...schema, [choice]: schema[choice].map(inEnvelope) };
  const { properties = {}, required = [], ...rest } = schema;
  return {
    ...rest,
    type: 'object',
    properties: { success: { const: true }, ...properties },
    required: ['success', ...required],
  };
}

const fileSchema: Schema = {
  type: 'object',
  properties: { file: { type: 'string', format: 'binary' } },
  required: ['file'],
};

/** The one schema of a body or an answer: each is of one media type. */
export function schemaOf(content: Content): Schema {
  return Object.values(content)[0]?.schema ?? {};
}

function json(schema: Schema): Content {
  return { 'application/json': { schema } };
}

const errorSchema: Schema = {
  type: 'object',
  properties: {
    success: { const: false },
    error: {
      type: 'object',
      properties: { code: { type: 'string' }, message: { type: 'string' }, details: { type: 'object' } },
      required: ['code', 'message'],
    },
  },
  required: ['success', 'error'],
};

const errorResponses = Object.fromEntries(
  Object.entries({
    400: 'The request is malformed or fails validation: INVALID_REQUEST, VALIDATION_ERROR',
    401: 'No valid credential: USER_AUTH_TOKEN_NOT_FOUND, USER_AUTH_TOKEN_EXPIRED, INVALID_API_KEY, INVALID_LOGIN',
    403: 'Not a member of the tenant, or not allowed to do this: PERMISSION_DENIED',
    404: 'There is no such thing in this tenant: NOT_FOUND',
    409: 'The Idempotency-Key, or what the request would make, is taken: CONFLICT',
    413: 'The body is too large: PAYLOAD_TOO_LARGE',
    429: 'Too many; `Retry-After` says when to try again: RATE_LIMITED, QUOTA_EXCEEDED',
    502: 'What lies behind the service has failed: UPSTREAM_FAILED',
    503: 'Temporarily not available; `Retry-After` says when to try again: UNAVAILABLE',
    504: 'What lies behind the service has not answered in time: UPSTREAM_TIMEOUT',
  }).map(([status, description]) => [status, { description, content: json({ $ref: '#/components/schemas/Error' }) }]),
);

const securitySchemes = {
  idToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'The ID token of an end user' },
  apiKey: { type: 'apiKey', in: 'header', name: 'Authorization', description: '`api_key <API_KEY>`' },
  apiKeyHeader: { type: 'apiKey', in: 'header', name: 'x-api-key' },
  operatorSession: {
    type: 'http',
    scheme: 'bearer',
    description: 'The token that an operator was given at login; good for 12 hours under /api/v1/operator',
  },
};

/** What is answered before there is a route table, and even while there is no database. */
function probe(
  name: string,
  words: Pick<Operation, 'summary'> & { description: string },
  properties: Record<string, Schema>,
) {
  const schema = inEnvelope({ type: 'object', properties, required: Object.keys(properties) });
  const operation: Operation = {
    operationId: `get${name}`,
    tags: ['service'],
    summary: words.summary,
    parameters: [],
    responses: { 200: { description: words.description, content: json(schema) } },
    security: [],
  };
  return operation;
}

const healthOperation = probe(
  'Health',
  { summary: 'Whether the service is alive', description: 'It is' },
  { status: { const: 'ok' }, timestamp: { type: 'string', format: 'date-time' } },
);

const readyOperation = probe(
  'Ready',
  {
    summary: 'Whether this process should be sent requests; 503 with the same fields when not',
    description: 'It should',
  },
  { status: { enum: ['ready', 'not ready'] }, checks: { type: 'object' } },
);
