import { AppError } from '#shared/core/errors.ts';
import type { Json } from '#shared/core/json.ts';

/** The items of a node that repeats its body. Null counts as an empty list, any other value as a list of one item. */
export function listOf(value: Json, { maxIterations }: { maxIterations: number }): Json[] {
  const items = Array.isArray(value) ? value : value === null ? [] : [value];
  if (items.length <= maxIterations) return items;
  const message = `The list has ${items.length} items, more than maxIterations (${maxIterations})`;
  throw new AppError('NODE_FAILED', message, { retry: false });
}
