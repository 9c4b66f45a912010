import type { ErrorCode } from '#shared/core/errors.ts';
import { PREFIX } from './components.ts';
import { exampleOf } from './example.ts';
import type { Operation, Parameter, Schema } from './types.ts';

export const idempotencyKey: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'The same key and request within 24 hours have one effect and the same answer.',
  schema: { type: 'string', maxLength: 255 },
};

/** The header of operations on assets with versions. */
export const ifMatch: Parameter = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description:
    'The `ETag` of the asset as it was read. If it has been changed since, nothing is done: PRECONDITION_FAILED names the version that it has now.',
  schema: { type: 'string', maxLength: 1_000, examples: ['"3"'] },
};

export const etag = {
  description: 'The version of the asset that the answer shows, for `If-Match`',
  schema: { type: 'string', examples: ['"3"'] },
};

/** The header of every operation with a route. */
export const prefer: Parameter = {
  name: 'Prefer',
  in: 'header',
  required: false,
  description:
    'With `handling=strict` (RFC 7240), fields that are not known are a VALIDATION_ERROR; else the answer names them in `unknownFields`.',
  schema: { type: 'string', examples: ['handling=strict'] },
};

export const preferenceApplied = {
  description: 'How unknown fields were handled, if the request had a preference',
  schema: { type: 'string', enum: ['handling=strict', 'handling=lenient'] },
};

export const fileSchema: Schema = {
  type: 'object',
  properties: { file: { type: 'string', format: 'binary' } },
  required: ['file'],
};

/** Adds `success` to the schema of a response. */
export function inEnvelope(schema: Schema): Schema {
  for (const choice of ['anyOf', 'oneOf'] as const)
    if (schema[choice]) return { ...schema, [choice]: schema[choice].map(inEnvelope) };
  if (schema.$ref) return { allOf: [{ $ref: `${PREFIX}Success` }, schema] };
  const { properties = {}, required = [], ...rest } = schema;
  return {
    ...rest,
    type: 'object',
    properties: { success: { const: true }, ...unknownFields, ...properties },
    required: ['success', ...required],
  };
}

const unknownFields: Record<string, Schema> = {
  unknownFields: { $ref: `${PREFIX}UnknownFields` },
  unknownFieldCount: { $ref: `${PREFIX}UnknownFieldCount` },
};

/** The name of the response of an operation. Not `…Response`, which client generators make from the name of the operation themselves. */
export function responseNameOf(operation: string): string {
  return `${operation.charAt(0).toUpperCase()}${operation.slice(1)}Answer`;
}

/** Schemas that all responses share, and those of the two probes, which have no route. */
export const basicSchemas: Record<string, Schema> = {
  [responseNameOf('getHealth')]: ofProbe({
    status: { const: 'ok' },
    timestamp: { type: 'string', format: 'date-time' },
  }),
  [responseNameOf('getReadiness')]: ofProbe({ status: { enum: ['ready', 'not ready'] }, checks: { type: 'object' } }),
  Success: { type: 'object', properties: { success: { const: true }, ...unknownFields }, required: ['success'] },
  UnknownFields: {
    type: 'array',
    items: { $ref: `${PREFIX}UnknownField` },
    description: 'The first 50 fields of the request that are not known; absent if all are',
  },
  UnknownFieldCount: { type: 'integer', description: 'How many fields are not known, if not all are listed' },
  UnknownField: {
    type: 'object',
    properties: {
      path: { type: 'array', items: { type: ['string', 'integer'] }, description: 'The keys that lead to the field' },
      message: { type: 'string', description: 'For people' },
    },
    required: ['path', 'message'],
    examples: [{ path: ['parameters'], message: 'not known here; did you mean params?' }],
  },
  Failure: {
    type: 'object',
    properties: { success: { const: false }, error: { $ref: `${PREFIX}Error` }, ...unknownFields },
    required: ['success', 'error'],
  },
  Error: {
    type: 'object',
    properties: {
      code: { type: 'string', description: 'For programs; a code keeps its meaning' },
      message: { type: 'string', description: 'For people' },
      details: { type: 'object', description: 'For VALIDATION_ERROR, `issues` with the path of each' },
    },
    required: ['code', 'message'],
  },
};

/** Descriptions and examples by status. */
const failures: Record<string, [description: string, code: ErrorCode, message: string]> = {
  400: [
    'The request cannot be read or fails validation: INVALID_REQUEST, VALIDATION_ERROR, DB_ERROR',
    'VALIDATION_ERROR',
    'page: expected a whole number from 1 to 1000000, received "0"',
  ],
  401: [
    'No valid credential: USER_AUTH_TOKEN_NOT_FOUND, USER_AUTH_TOKEN_EXPIRED, INVALID_API_KEY, INVALID_LOGIN',
    'USER_AUTH_TOKEN_NOT_FOUND',
    'A valid token is required',
  ],
  403: [
    'The caller is not a member of the tenant or lacks the permission: PERMISSION_DENIED',
    'PERMISSION_DENIED',
    'Permission denied',
  ],
  404: ['The object does not exist in this tenant: NOT_FOUND, SCHEMA_NOT_FOUND', 'NOT_FOUND', 'Workflow not found'],
  409: [
    'The Idempotency-Key is in use, or the request conflicts with the stored state: CONFLICT',
    'CONFLICT',
    'Workflow is disabled',
  ],
  412: [
    'The asset is not the version that `If-Match` names: PRECONDITION_FAILED',
    'PRECONDITION_FAILED',
    'This was changed meanwhile: it is version 4 now',
  ],
  413: [
    'The body or the answer is too large: PAYLOAD_TOO_LARGE',
    'PAYLOAD_TOO_LARGE',
    'The body is larger than 5242880 bytes',
  ],
  429: [
    'A limit is reached; `Retry-After` says when to try again: RATE_LIMITED, QUOTA_EXCEEDED',
    'RATE_LIMITED',
    'Too many requests',
  ],
  502: ['A server behind the service failed: UPSTREAM_FAILED', 'UPSTREAM_FAILED', 'db.example.com: connection refused'],
  503: [
    'The service is not available; `Retry-After` says when to try again: UNAVAILABLE',
    'UNAVAILABLE',
    'The service is not available',
  ],
  504: [
    'A server behind the service did not answer in time: UPSTREAM_TIMEOUT',
    'UPSTREAM_TIMEOUT',
    'db.example.com: no answer within 30 s',
  ],
};

export const errorResponses = Object.fromEntries(
  Object.entries(failures).map(([status, [description, code, message]]) => {
    const example = { success: false, error: { code, message } };
    return [
      status,
      { description, content: { 'application/json': { schema: { $ref: `${PREFIX}Failure` }, example } } },
    ];
  }),
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

/** The operation of a probe, which is answered before there are routes and even without a database. */
function probe(words: { name: string; summary: string; description: string; answer: string }): Operation {
  const schema = { $ref: PREFIX + responseNameOf(words.name) };
  const example = exampleOf(schema, { schemas: basicSchemas, shows: 'all' });
  return {
    operationId: words.name,
    tags: [serviceGroup.tag],
    summary: words.summary,
    description: words.description,
    parameters: [],
    responses: {
      200: {
        description: words.answer,
        content: { 'application/json': { schema, example } },
      },
    },
    security: [],
  };
}

function ofProbe(properties: Record<string, Schema>): Schema {
  return {
    type: 'object',
    properties: { success: { const: true }, ...properties },
    required: ['success', ...Object.keys(properties)],
  };
}

export const healthOperation = probe({
  name: 'getHealth',
  summary: 'Get the health of the process',
  description: 'Answers as long as the process runs, also without the database.',
  answer: 'The process runs',
});

export const readyOperation = probe({
  name: 'getReadiness',
  summary: 'Get the readiness of the process',
  description: 'Says whether a load balancer should send requests to this process. If not, the status is 503.',
  answer: 'The process takes requests',
});
