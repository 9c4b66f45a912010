import type { z } from 'zod';

/** A schema as its own parts see it. */
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

/** Of a discriminated union only the choice that the value names, if it names one; else all of them. */
export function choicesFor(def: z.core.$ZodUnionDef, value: unknown): readonly Schema[] {
  const { discriminator } = def as Partial<z.core.$ZodDiscriminatedUnionDef>;
  if (discriminator === undefined || typeof value !== 'object' || value === null) return def.options;
  const name: unknown = Reflect.get(value, discriminator);
  const named = def.options.filter((option) =>
    option._zod.propValues?.[discriminator]?.has(name as z.core.util.Primitive),
  );
  return named.length > 0 ? named : def.options;
}
