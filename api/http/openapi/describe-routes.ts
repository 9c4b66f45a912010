import type { z } from 'zod';
import { runSync } from '#shared/concurrency/cooperative.ts';
import type { Route, RouteGroup } from '../route/route.ts';
import { type Components, createComponents, resolve } from './components.ts';
import { exampleOf } from './example.ts';
import {
  basicSchemas,
  errorResponses,
  etag,
  fileSchema,
  healthOperation,
  idempotencyKey,
  ifMatch,
  inEnvelope,
  prefer,
  preferenceApplied,
  readyOperation,
  responseNameOf,
  securitySchemes,
  serviceGroup,
} from './parts.ts';
import type { Content, OpenAPI, Operation, Parameter, Schema } from './types.ts';

/** The route table as an OpenAPI document: nothing in it is written by hand, so nothing in it can be out of date. */
export function describeRoutes(groups: readonly RouteGroup[]): OpenAPI {
  return runSync(describingRoutes(groups));
}

/** `describeRoutes` in steps, because all of it takes a third of a second. */
export function* describingRoutes(groups: readonly RouteGroup[]): Generator<void, OpenAPI> {
  const components = createComponents(basicSchemas);
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
      paths[path] = { ...paths[path], [route.method]: describeRoute(route, tag, components) };
      yield;
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gantry',
      version: '1.0.0',
      description:
        'Multi-tenant backend for admin applications. Every answer carries `success`; a failure has `error.code` and `error.message`. An id that a client sends says what it names by `x-reference`: a type such as `workflow`, or a list of types.',
      license: { name: 'Unlicensed', identifier: 'LicenseRef-UNLICENSED' },
    },
    servers: [{ url: '/', description: 'The server of this document' }],
    tags: [...tags].map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: sorted(components.schemas),
      responses: errorResponses,
      parameters: { Prefer: prefer },
      headers: { PreferenceApplied: preferenceApplied, ETag: etag },
      securitySchemes,
    },
  };
}

/** Sorts by name, so that a new operation moves nothing but its own schemas. */
function sorted(schemas: Record<string, Schema>): Record<string, Schema> {
  return Object.fromEntries(Object.entries(schemas).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function describeRoute(route: Route, tag: string, components: Components): Operation {
  const requestBody = requestOf(route, components);
  const permissions = permissionsOf(route, requestBody?.content['application/json']?.example);
  const needs = permissions.length > 0 && `Permission: ${permissions.map((name) => `\`${name}\``).join(', ')}`;
  return {
    operationId: route.name,
    tags: [tag],
    summary: route.summary,
    description: [route.description, needs].filter(Boolean).join('\n\n'),
    parameters: [
      ...pathParameters(route, components),
      ...queryParameters(route, components),
      ...(route.idempotent ? [idempotencyKey] : []),
      ...(route.conditional ? [ifMatch] : []),
      { $ref: '#/components/parameters/Prefer' },
    ],
    ...(requestBody && { requestBody }),
    responses: {
      [String(route.status ?? 200)]: {
        description: successOf(route),
        headers: {
          'Preference-Applied': { $ref: '#/components/headers/PreferenceApplied' },
          ...(route.etag && { ETag: { $ref: '#/components/headers/ETag' } }),
        },
        ...(route.status !== 302 && { content: responseOf(route, components) }),
      },
      ...Object.fromEntries(errorsOf(route).map((code) => [code, { $ref: `#/components/responses/${code}` }])),
    },
    security: securityOf(route),
    ...(permissions.length > 0 && { 'x-permission': permissions.length > 1 ? permissions : permissions[0] }),
  };
}

function requestOf({ body, upload }: Route, { schemas, toSchema }: Components): Operation['requestBody'] {
  if (upload) return { required: true, content: { 'multipart/form-data': { schema: fileSchema } } };
  if (!body) return undefined;
  const schema = toSchema(body, 'input');
  const example = exampleOf(schema, { schemas, shows: 'required' });
  return { required: !body.safeParse(undefined).success, content: { 'application/json': { schema, example } } };
}

/** For `Get a table`: `The table`; for `List tables`: `Tables`; for `Delete a table`: `Result of "Delete a table"`. */
function successOf({ status, summary }: Route): string {
  if (status === 302) return 'Redirect';
  const [, object = ''] = /^(?:Get|List) (.+)/.exec(summary) ?? [];
  if (object === '') return `Result of "${summary}"`;
  const named = object.replace(/^an? /, 'the ');
  return named.charAt(0).toUpperCase() + named.slice(1);
}

function responseOf({ name, produces, response }: Route, { schemas, toSchema, add }: Components): Content {
  if (produces) return { [produces]: { schema: { type: 'string', format: 'binary' } } };
  const schema = toSchema(response, 'output');
  const example = { success: true, ...Object(exampleOf(schema, { schemas, shows: 'all' })) };
  const named = add(responseNameOf(name), inEnvelope(schema));
  return { 'application/json': { schema: named, example } };
}

/** The permissions that the example needs; another body may need more. */
function permissionsOf(route: Route, example: unknown): string[] {
  if (route.realm !== 'tenant') return [];
  const params = Object.fromEntries([...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, name]));
  const parsed = route.body?.safeParse(example);
  const access = route.access({ params, query: {}, body: parsed?.success ? parsed.data : example });
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

function pathParameters(route: Route, components: Components): Parameter[] {
  const known = fieldsOf(route.params, components).properties;
  const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  return names.map((name) => ({
    name,
    in: 'path',
    required: true,
    // Routes of a tenant may declare no parameters besides the tenant.
    schema: known?.[name] ?? { type: 'string', format: 'uuid', 'x-reference': 'tenant' },
  }));
}

function queryParameters(route: Route, components: Components): Parameter[] {
  const { properties = {}, required = [] } = fieldsOf(route.query, components);
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description !== undefined && { description }),
    schema,
  }));
}

function fieldsOf(schema: z.ZodType | undefined, { schemas, toSchema }: Components): Schema {
  return schema ? resolve(toSchema(schema, 'input'), schemas) : {};
}

function errorsOf(route: Route): string[] {
  const byRealm = { public: [], user: ['401', '429'], operator: ['401'], tenant: ['401', '403', '404', '429'] }[
    route.realm
  ];
  const idempotent = route.idempotent ? ['409'] : [];
  const outside = route.idempotent === 'outside' ? ['502', '504'] : [];
  const conditional = route.conditional ? ['412'] : [];
  const large = route.body || route.upload ? ['413'] : [];
  return [
    ...new Set([
      '400',
      ...byRealm,
      ...idempotent,
      ...outside,
      ...conditional,
      ...large,
      ...(route.errors ?? []),
      '503',
    ]),
  ].sort();
}
