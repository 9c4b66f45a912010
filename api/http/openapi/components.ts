import { z } from 'zod';
import type { Schema } from './types.ts';

export const PREFIX = '#/components/schemas/';

/** The named schemas of a document, filled while its operations are described. */
export interface Components {
  readonly schemas: Record<string, Schema>;
  /** The JSON Schema of what is sent (`input`) or answered (`output`); a schema with an `id` becomes a reference. */
  toSchema(schema: z.ZodType, io: 'input' | 'output'): Schema;
  /** Gives a schema a name in the document, and returns the reference to it. */
  add(name: string, definition: Schema): Schema;
}

export function createComponents(known: Record<string, Schema>): Components {
  const schemas = { ...known };

  function toSchema(schema: z.ZodType, io: 'input' | 'output'): Schema {
    // The schema is converted as a field of an object, because the outermost schema never becomes a reference.
    const made = z.toJSONSchema(z.object({ it: schema }), { io, unrepresentable: 'any', override: shorten }) as Schema;
    const { properties, $defs = {} } = made;
    for (const [local, definition] of Object.entries($defs)) add(nameOf(local), refer(definition));
    return refer(properties?.it ?? {});
  }

  function add(name: string, definition: Schema): Schema {
    const [before, now] = [schemas[name] ?? definition, definition].map((schema) => JSON.stringify(schema));
    if (before !== now) throw new Error(`Two schemas are called ${name}: ${before} and ${now}`);
    schemas[name] = definition;
    return { $ref: `${PREFIX}${name}` };
  }

  return { schemas, toSchema, add };
}

/** Follows references until it reaches the schema itself. */
export function resolve(schema: Schema, schemas: Record<string, Schema>): Schema {
  return schema.$ref === undefined ? schema : resolve(schemas[schema.$ref.slice(PREFIX.length)] ?? {}, schemas);
}

/** Rewrites local references to the components of the document. */
function refer(schema: Schema): Schema {
  const text = JSON.stringify(schema).replace(
    /"#\/\$defs\/(\w+)"/g,
    (_reference, local: string) => `"${PREFIX}${nameOf(local)}"`,
  );
  return JSON.parse(text);
}

function nameOf(local: string): string {
  if (!local.startsWith('__')) return local;
  throw new Error('A schema that refers to itself needs an id: .meta({ id })');
}

/**
 * Removes keywords that help no reader, and `additionalProperties: false`, so that a new field in a response breaks no client. Beside the
 * length of a tuple, `items: false` says nothing, and clients of MCP refuse a tool for it.
 */
function shorten({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: z.core.JSONSchema.BaseSchema }) {
  if (jsonSchema.format) delete jsonSchema.pattern;
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
  if (jsonSchema.items === false && jsonSchema.maxItems === jsonSchema.prefixItems?.length) delete jsonSchema.items;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  // zod leaves out the examples of a schema with a transform.
  const examples = z.globalRegistry.get(zodSchema)?.examples;
  if (examples) jsonSchema.examples = examples as typeof jsonSchema.examples;
}
