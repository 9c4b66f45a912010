import { hash } from 'node:crypto';
import { z } from 'zod';
import { Json } from '#shared/json.ts';
import { exampleOf } from './docs/example.ts';
import {
  errorResponses,
  errorSchema,
  fileSchema,
  healthOperation,
  idempotencyKey,
  inEnvelope,
  json,
  readyOperation,
  securitySchemes,
  serviceGroup,
} from './openapi-parts.ts';
import type { Content, OpenAPI, Operation, Parameter, Schema } from './openapi-types.ts';
import type { Route, RouteGroup } from './route.ts';

/** The route table as an OpenAPI document: nothing in it is written by hand, so nothing in it can be out of date. */
export function describeRoutes(groups: readonly RouteGroup[]): OpenAPI {
  const schemas: Record<string, Schema> = { Error: errorSchema };
  const paths: OpenAPI['paths'] = {
    '/health': { get: healthOperation },
    '/ready': { get: readyOperation },
  };
  const names = new Set([healthOperation.operationId, readyOperation.operationId]);
  const tags = new Map([[serviceGroup.tag, serviceGroup.description]]);
  for (const { tag, description, routes } of groups) {
    tags.set(tag, description);
    for (const route of routes) {
      if (names.has(route.name)) throw new Error(`Two routes are called ${route.name}`);
      names.add(route.name);
      const path = route.path.replace(/:(\w+)/g, '{$1}');
      paths[path] = { ...paths[path], [route.method]: describeRoute(route, tag, schemas) };
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gantry',
      version: '1.0.0',
      description:
        'Multi-tenant backend for admin applications. Every answer carries `success`; a failure has `error.code` and `error.message`.',
    },
    servers: [{ url: '/', description: 'The server of this document' }],
    tags: [...tags].map(([name, description]) => ({ name, description })),
    paths,
    components: { schemas, responses: errorResponses, securitySchemes },
  };
}

function describeRoute(route: Route, tag: string, schemas: Record<string, Schema>): Operation {
  const toSchema = (schema: z.ZodType, io: 'input' | 'output') => hoist(jsonSchema(schema, io), schemas);
  const status = String(route.status ?? 200);
  const example = route.body && exampleOf(toSchema(route.body, 'input'), schemas);
  const permissions = permissionsOf(route, example);
  return {
    operationId: route.name,
    tags: [tag],
    summary: route.summary,
    description: route.description,
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
        ...(route.status !== 302 && { content: contentOf(route, toSchema) }),
      },
      ...Object.fromEntries(errorsOf(route).map((code) => [code, { $ref: `#/components/responses/${code}` }])),
    },
    security: securityOf(route),
    ...(permissions.length > 0 && { 'x-permission': permissions.length > 1 ? permissions : permissions[0] }),
  };
}

function contentOf({ produces, response }: Route, toSchema: ToSchema): Content {
  if (produces) return { [produces]: { schema: { type: 'string', format: 'binary' } } };
  return json(inEnvelope(toSchema(response, 'output')));
}

/** What the smallest request needs: another body may ask for more. */
function permissionsOf(route: Route, body: unknown): string[] {
  if (route.realm !== 'tenant') return [];
  const params = Object.fromEntries([...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, name]));
  const access = route.access({ params, query: {}, body });
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
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description !== undefined && { description }),
    schema,
  }));
}

function errorsOf(route: Route): string[] {
  const byRealm = { public: [], user: ['401'], operator: ['401'], tenant: ['401', '403', '404', '429'] }[route.realm];
  const idempotent = route.idempotent ? ['409'] : [];
  const outside = route.idempotent === 'outside' ? ['502', '504'] : [];
  const large = route.body || route.upload ? ['413'] : [];
  return [...new Set(['400', ...byRealm, ...idempotent, ...outside, ...large, ...(route.errors ?? []), '503'])].sort();
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
