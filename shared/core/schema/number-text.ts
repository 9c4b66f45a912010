import { z } from 'zod';

/** A number that comes as text, in a query parameter or a setting. Values that are no such text are left to the schema, which refuses them. */
export function NumberText<S extends z.ZodType<number>>(schema: S) {
  return z.preprocess(read, schema);
}

/** Decimal digits as in JSON. `Number` would read the empty text as 0, `0x10` as 16 and `Infinity`. */
const decimal = /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i;

function read(value: unknown): unknown {
  return typeof value === 'string' && decimal.test(value.trim()) ? Number(value) : value;
}
