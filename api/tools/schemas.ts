import { PREFIX } from '../http/openapi/components.ts';
import type { Operation, Parameter, Schema } from '../http/openapi/types.ts';

type Schemas = Readonly<Record<string, Schema>>;

/** A schema that refers to no document: the schemas that it refers to are in its `$defs`. */
export function standAlone(schema: Schema, schemas: Schemas): Schema {
  const defs: Record<string, Schema> = {};
  const text = JSON.stringify(schema);
  collect(text, schemas, defs);
  const names = Object.keys(defs).sort();
  return {
    ...local(text),
    ...(names.length > 0 && { $defs: Object.fromEntries(names.map((name) => [name, defs[name] ?? {}])) }),
  };
}

function collect(text: string, schemas: Schemas, defs: Record<string, Schema>): void {
  for (const [, name = ''] of text.matchAll(reference)) {
    if (defs[name]) continue;
    const found = JSON.stringify(schemas[name] ?? {});
    defs[name] = local(found);
    collect(found, schemas, defs);
  }
}

const reference = new RegExp(`"${PREFIX}(\\w+)"`, 'g');

function local(text: string): Schema {
  return JSON.parse(text.replaceAll(`"${PREFIX}`, '"#/$defs/'));
}

/** A schema without its examples, which would fill the context of a model and say no more than the types. */
export function withoutExamples(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === 'examples' && Array.isArray(value) ? undefined : value,
  );
}

export interface Inputs {
  schema: Schema;
  path: string[];
  query: string[];
  body: 'none' | 'object' | 'other';
}

/** Path, query and body of an operation as one object. A body that is not an object becomes the field `body`. */
export function inputsOf(operation: Operation, resolveSchema: (schema: Schema) => Schema): Inputs {
  const given = operation.parameters.filter((parameter): parameter is Parameter => 'in' in parameter);
  const parameters = given.filter(({ name, in: location }) => location !== 'header' && name !== 'tenantID');
  const properties: Record<string, Schema> = {};
  const required: string[] = [];
  for (const { name, required: isRequired, schema, description } of parameters) {
    properties[name] = { ...schema, ...(description !== undefined && { description }) };
    if (isRequired) required.push(name);
  }
  const inLocation = (location: string) => parameters.filter((p) => p.in === location).map(({ name }) => name);
  const inputs = { path: inLocation('path'), query: inLocation('query') };
  const schema: Schema = { type: 'object', properties, required };
  const sent = operation.requestBody?.content['application/json']?.schema;
  if (!sent) return { ...inputs, schema, body: 'none' };
  const body = resolveSchema(sent);
  if (body.type !== 'object') {
    properties.body = sent;
    if (operation.requestBody?.required) required.push('body');
    return { ...inputs, schema, body: 'other' };
  }
  for (const [name, field] of Object.entries(body.properties ?? {})) {
    if (properties[name]) throw new Error(`${operation.operationId} has two inputs ${name}`);
    properties[name] = field;
  }
  required.push(...(body.required ?? []));
  return { ...inputs, schema, body: 'object' };
}
