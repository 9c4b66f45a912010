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

export const serviceGroup = {
  tag: 'Service and authentication',
  description: 'Whether the service is alive, who the caller is, and what the caller has stored for a tenant.',
};

/** Answered before there is a route table, and even without a database. */
function probe(
  words: { name: string; summary: string; description: string; answer: string },
  properties: Record<string, Schema>,
): Operation {
  const schema = inEnvelope({ type: 'object', properties, required: Object.keys(properties) });
  return {
    operationId: words.name,
    tags: [serviceGroup.tag],
    summary: words.summary,
    description: words.description,
    parameters: [],
    responses: { 200: { description: words.answer, content: json(schema) } },
    security: [],
  };
}

export const healthOperation = probe(
  {
    name: 'getHealth',
    summary: 'Get the health of the process',
    description: 'Answers as long as the process runs, whatever the state of the database.',
    answer: 'The process runs',
  },
  { status: { const: 'ok' }, timestamp: { type: 'string', format: 'date-time' } },
);

export const readyOperation = probe(
  {
    name: 'getReadiness',
    summary: 'Get the readiness of the process',
    description: 'Says whether a load balancer should send requests to this process. If not, the status is 503.',
    answer: 'The process takes requests',
  },
  { status: { enum: ['ready', 'not ready'] }, checks: { type: 'object' } },
);
