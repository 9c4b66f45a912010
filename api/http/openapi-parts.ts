import type { Content, Operation, Parameter, Schema } from './openapi-types.ts';

export const idempotencyKey: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'The same key and request within 24 hours have one effect and the same answer.',
  schema: { type: 'string', maxLength: 255 },
};

export const fileSchema: Schema = {
  type: 'object',
  properties: { file: { type: 'string', format: 'binary' } },
  required: ['file'],
};

/** What an answer's schema says, with `success` beside it. */
export function inEnvelope(schema: Schema): Schema {
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

/** The one schema of a body or an answer: each is of one media type. */
export function schemaOf(content: Content): Schema {
  return Object.values(content)[0]?.schema ?? {};
}

export function json(schema: Schema): Content {
  return { 'application/json': { schema } };
}

export const errorSchema: Schema = {
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

export const errorResponses = Object.fromEntries(
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

export const securitySchemes = {
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

export const healthOperation = probe(
  'Health',
  { summary: 'Whether the service is alive', description: 'It is' },
  { status: { const: 'ok' }, timestamp: { type: 'string', format: 'date-time' } },
);

export const readyOperation = probe(
  'Ready',
  {
    summary: 'Whether this process should be sent requests; 503 with the same fields when not',
    description: 'It should',
  },
  { status: { enum: ['ready', 'not ready'] }, checks: { type: 'object' } },
);
