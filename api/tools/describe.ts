import { resolve } from '../http/openapi/components.ts';
import { describingRoutes } from '../http/openapi/describe-routes.ts';
import type { OpenAPI, Operation, Schema } from '../http/openapi/types.ts';
import type { RouteGroup } from '../http/route/route.ts';
import { annotationsOf, costOf } from './effects.ts';
import { usageOf } from './hints.ts';
import { liftedFields, listDefaults, renamedArguments, toolNameOf, withoutTool } from './names.ts';
import { plainSchema } from './plain-schema.ts';
import { type Inputs, inputsOf, standAlone, withoutExamples } from './schemas.ts';
import type { Requirement, RouteTool, TenantRoute } from './tool.ts';

/**
 * Describes a tool for every route of a tenant that is not in `withoutTool`. It works in steps, because it takes half a
 * second of processor time in all.
 */
export function* describingTools(groups: readonly RouteGroup[]): Generator<void, RouteTool[]> {
  const names = new Set(groups.flatMap(({ routes }) => routes.map(({ name }) => name)));
  const document = yield* renaming(yield* describingRoutes(groups), names);
  const tools: RouteTool[] = [];
  for (const { tag, routes } of groups)
    for (const route of routes) {
      if (route.realm !== 'tenant' || withoutTool[route.name] !== undefined) continue;
      tools.push(describeTool(route, { tag, document, names }));
      yield;
    }
  return tools;
}

/** Replaces names of operations by names of tools in the texts of the document. */
function* renaming(document: OpenAPI, names: ReadonlySet<string>): Generator<void, OpenAPI> {
  const paths: OpenAPI['paths'] = {};
  for (const [path, operations] of Object.entries(document.paths)) {
    paths[path] = renamedIn(operations, names);
    yield;
  }
  const schemas: Record<string, Schema> = {};
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    schemas[name] = renamedIn(schema, names);
    yield;
  }
  return { ...document, paths, components: { ...document.components, schemas } };
}

function renamedIn<T extends object>(part: T, names: ReadonlySet<string>): T {
  return JSON.parse(inToolNames(JSON.stringify(part), names));
}

interface ToolSource {
  tag: string;
  document: OpenAPI;
  /** Names of all routes. */
  names: ReadonlySet<string>;
}

function describeTool(route: TenantRoute, { tag, document, names }: ToolSource): RouteTool {
  // Calls read one object of JSON.
  if (route.produces) throw new Error(`${route.name} answers with ${route.produces}: it belongs in \`withoutTool\``);
  const operation = operationOf(route, document);
  const { schemas } = document.components;
  const inputs = inputsOf(operation, (schema) => resolve(schema, schemas));
  const lifted = lift(route.name, inputs, schemas);
  const renamed = renamedArguments[route.name] ?? {};
  rename(inputs.schema, renamed);
  const defaults = setDefaults(inputs);
  return {
    name: toolNameOf(route.name),
    group: tag,
    description: describe(route, names),
    inputSchema: plainSchema(inputs.schema, schemas, [...inputs.path, ...inputs.query]),
    outputSchema: responseOf(operation, document),
    annotations: annotationsOf(route),
    required: requiredBy(route, operation),
    route,
    renamed,
    defaults,
    ...(lifted && { lifted }),
    fields: { path: inputs.path, query: inputs.query, body: inputs.body },
  };
}

function operationOf({ method, path }: TenantRoute, { paths }: OpenAPI): Operation {
  const operation = paths[path.replace(/:(\w+)/g, '{$1}')]?.[method];
  if (!operation) throw new Error(`${method} ${path} is not described`);
  return operation;
}

function describe(route: TenantRoute, names: ReadonlySet<string>): string {
  const does = inToolNames(`${route.summary}. ${route.description}`, names);
  return [does, usageOf(route), costOf(route)].join('\n\n');
}

/** Replaces names of operations by the names of their tools. */
function inToolNames(text: string, names: ReadonlySet<string>): string {
  return text.replace(/`(\w+)`/g, (quoted, name: string) => (names.has(name) ? `\`${toolNameOf(name)}\`` : quoted));
}

function responseOf(operation: Operation, { components }: OpenAPI): Schema {
  const [answer] = Object.values(operation.responses);
  const schema = answer && 'content' in answer ? answer.content?.['application/json']?.schema : undefined;
  const whole = withoutExamples(standAlone(resolve(schema ?? {}, components.schemas), components.schemas));
  return { ...whole, type: 'object' };
}

/** Replaces a field of the body by the fields within it. */
function lift(name: string, { schema }: Inputs, schemas: Record<string, Schema>): RouteTool['lifted'] {
  const into = liftedFields[name];
  const field = into === undefined ? undefined : schema.properties?.[into];
  if (into === undefined || !field) return undefined;
  const { properties = {}, required = [] } = resolve(field, schemas);
  const { [into]: _lifted, ...others } = schema.properties ?? {};
  schema.properties = { ...properties, ...others };
  schema.required = [...(schema.required ?? []).filter((it) => it !== into), ...required];
  return { into, others: Object.keys(others) };
}

function rename({ properties = {}, required = [] }: Schema, renamed: RouteTool['renamed']): void {
  for (const [argument, field] of Object.entries(renamed)) {
    properties[argument] = properties[field] ?? {};
    delete properties[field];
    const at = required.indexOf(field);
    if (at >= 0) required[at] = argument;
  }
}

function setDefaults({ schema, query }: Inputs): RouteTool['defaults'] {
  const properties = schema.properties ?? {};
  const names = Object.keys(listDefaults).filter((name) => query.includes(name) && accepts(properties[name], name));
  for (const name of names) properties[name] = { ...properties[name], default: listDefaults[name] };
  return Object.fromEntries(names.map((name) => [name, listDefaults[name] ?? '']));
}

function accepts(schema: Schema | undefined, name: string): boolean {
  return schema?.enum === undefined || schema.enum.includes(listDefaults[name]);
}

/**
 * The permissions that a caller needs. For a route with a body it is only the first one, because the others depend on
 * the values of the body.
 */
function requiredBy(route: TenantRoute, operation: Operation): Requirement[][] {
  const params = Object.fromEntries([...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, name]));
  const example = operation.requestBody?.content['application/json']?.example;
  const parsed = route.body?.safeParse(example);
  const access = route.access({ params, query: {}, body: parsed?.success ? parsed.data : example });
  const own = (route.body ? access.slice(0, 1) : access).map(({ permission, object }) => ({
    permission,
    ...(object.endsWith(':*') && !route.filter && { object }),
  }));
  return [own, ...(route.alternative ? [[{ permission: route.alternative }]] : [])];
}
