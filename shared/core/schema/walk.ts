import type { z } from 'zod';

/** A schema of the type that zod gives to the parts of schemas. */
export type Schema = z.core.$ZodType;

type Reader = (value: object) => Schema | undefined;

const readers = new WeakMap<Schema, Reader>();

/**
 * Marks an object that is stored whole, but of which another schema reads only some keys: a node's data, of which its kind reads the
 * fields of its config. `reader` gets the object, and returns undefined if all keys are allowed. The mark stays when the schema is
 * refined or given metadata.
 */
export function readBy<S extends z.ZodType>(schema: S, reader: Reader): S {
  readers.set(schema, reader);
  return schema;
}

export function readerOf(schema: Schema): Reader | undefined {
  const { parent } = schema._zod;
  return readers.get(schema) ?? (parent && readerOf(parent));
}

export function defOf(schema: Schema): z.core.$ZodTypes['_zod']['def'] {
  // Every schema is one of these classes; zod types the base class without their parts.
  return (schema as z.core.$ZodTypes)._zod.def;
}

/** The schema inside of an optional, nullable, default, readonly, lazy or similar wrapper. */
export function wrappedIn(schema: Schema): Schema | undefined {
  const def = defOf(schema);
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'catch':
    case 'readonly':
      return def.innerType;
    case 'lazy':
      return def.getter();
    default:
      return undefined;
  }
}

/** The choice of a discriminated union that the value names, if it names one; else all choices. */
export function choicesFor(def: z.core.$ZodUnionDef, value: unknown): readonly Schema[] {
  const { discriminator } = def as Partial<z.core.$ZodDiscriminatedUnionDef>;
  if (discriminator === undefined || typeof value !== 'object' || value === null) return def.options;
  const name: unknown = Reflect.get(value, discriminator);
  const named = def.options.filter((option) =>
    option._zod.propValues?.[discriminator]?.has(name as z.core.util.Primitive),
  );
  return named.length > 0 ? named : def.options;
}

/** The schema with all schemas that it wraps or chooses from; several choices may remain. */
export function unfold(schema: Schema, value: unknown): Schema[] {
  return [schema, ...inside(schema, value).flatMap((inner) => unfold(inner, value))];
}

function inside(schema: Schema, value: unknown): readonly Schema[] {
  const def = defOf(schema);
  if (def.type === 'union') return choicesFor(def, value);
  if (def.type === 'intersection') return [def.left, def.right];
  if (def.type === 'pipe') return [def.in, def.out];
  const inner = wrappedIn(schema);
  return inner ? [inner] : [];
}

/** Makes a function, with a cache, that tells whether a schema contains a wanted one, at any depth and in any choice. */
export function createContains(isWanted: (schema: Schema) => boolean): (schema: Schema) => boolean {
  const known = new WeakMap<Schema, boolean>();
  return (schema) => {
    const before = known.get(schema);
    if (before !== undefined) return before;
    const reached = new Set([schema]);
    for (const next of reached) for (const part of partsOf(next)) reached.add(part);
    const contains = [...reached].some(isWanted);
    known.set(schema, contains);
    return contains;
  };
}

/** The schemas that a schema is made of, for any value. */
export function partsOf(schema: Schema): readonly Schema[] {
  const def = defOf(schema);
  switch (def.type) {
    case 'union':
      return def.options;
    case 'intersection':
      return [def.left, def.right];
    case 'pipe':
      return [def.in, def.out];
    case 'object':
      return [...Object.values(def.shape), ...(def.catchall ? [def.catchall] : [])];
    case 'record':
      return [def.valueType];
    case 'array':
      return [def.element];
    case 'tuple':
      return [...def.items, ...(def.rest ? [def.rest] : [])];
    default: {
      const inner = wrappedIn(schema);
      return inner ? [inner] : [];
    }
  }
}

/** The schemas of a field or element. */
export function below(schemas: readonly Schema[], key: string | number): Schema[] {
  return schemas.flatMap((schema) => {
    const def = defOf(schema);
    if (def.type === 'object') return (Object.hasOwn(def.shape, key) ? def.shape[key] : def.catchall) ?? [];
    if (def.type === 'record') return def.valueType;
    if (def.type === 'array') return def.element;
    if (def.type === 'tuple') return def.items[Number(key)] ?? def.rest ?? [];
    return [];
  });
}
