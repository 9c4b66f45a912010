import { partsOf, type Value, type Values } from './value.ts';

/** The objects that code is given, by their names, to complete names in it: samples, and declared parts where there are none. */
export function scopeOf({ input, roots, groups }: Values): Record<string, object> {
  const scope: Record<string, Record<string, unknown>> = {};
  for (const root of roots) scope[root] = emptyObject();
  for (const value of [...groups.flatMap(({ values }) => values).reverse(), input]) {
    const [root = '', name, ...deeper] = value.path;
    const own = scope[root];
    // Code is not given secrets.
    if (own && name !== undefined && deeper.length === 0 && !value.isSecret) own[String(name)] = sampleOf(value, 3);
  }
  return scope;
}

function sampleOf(value: Value, depth: number): unknown {
  if (value.sample !== undefined) return value.sample;
  const { type } = value.shape;
  if (type === 'text') return '';
  if (type === 'number') return 0;
  if (type === 'list') return [];
  const object = emptyObject();
  if (depth > 0) for (const part of partsOf(value)) object[part.name] = sampleOf(part, depth - 1);
  return object;
}

/** Without the properties that every object has. */
function emptyObject(): Record<string, unknown> {
  return Object.create(null) as Record<string, unknown>;
}
