import { resolve } from './components.ts';
import type { Schema } from './types.ts';

const samples: Record<string, string> = {
  uuid: '018f3c1e-7c1a-7b3a-9b1e-2f4d5c6b7a89',
  'date-time': '2030-01-31T12:00:00Z',
  email: 'you@example.com',
  uri: 'https://example.com/',
};

/**
 * A value that the schema accepts: its own first example, else its default, else one put together from its parts. Of the fields
 * of a response all are shown, of those of a request the required ones.
 */
export function exampleOf(
  schema: Schema,
  { schemas, shows }: { schemas: Record<string, Schema>; shows: 'required' | 'all' },
  depth = 0,
): unknown {
  const shape = resolve(schema, schemas);
  const below = (inner: Schema) => exampleOf(inner, { schemas, shows }, depth + 1);
  const [stated] = [shape.examples?.[0], shape.default, shape.const, shape.enum?.[0]].filter(
    (one) => one !== undefined,
  );
  if (stated !== undefined) return stated;
  if (shape.allOf) return Object.assign({}, ...shape.allOf.map(below));
  // Schemas may refer to themselves.
  if (depth === DEEPEST) return null;
  const choice = (shape.anyOf ?? shape.oneOf)?.[0];
  if (choice) return below(choice);
  const type = Array.isArray(shape.type) ? shape.type[0] : shape.type;
  return byType[type ?? 'object']?.(shape, { below, shows }) ?? null;
}

const DEEPEST = 6;

interface Parts {
  below(schema: Schema): unknown;
  shows: 'required' | 'all';
}

const byType: Record<string, (shape: Schema, parts: Parts) => unknown> = {
  string: ({ format = '' }) => samples[format] ?? 'text',
  integer: ({ minimum = 1 }) => minimum,
  number: ({ minimum = 1 }) => minimum,
  boolean: () => true,
  array: ({ items }, { below }) => (items ? [below(items)] : []),
  object: ({ properties = {}, required = [] }, { below, shows }) => {
    const fields = Object.entries(properties).filter(([name]) => shows === 'all' || required.includes(name));
    return Object.fromEntries(fields.map(([name, field]) => [name, below(field)]));
  },
};
