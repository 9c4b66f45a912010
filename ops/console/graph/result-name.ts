import { isObject } from '../ui/is-object.ts';
import type { Kind } from './kinds.ts';

/** The name by which other steps read the result of a step: that of its config, else the usual one of its kind; undefined for kinds without a result. */
export function resultName(
  kind: Kind | undefined,
  { outputVariable }: Readonly<Record<string, unknown>>,
): string | undefined {
  const name = outputVariable === undefined || outputVariable === '' ? usualName(kind) : outputVariable;
  return typeof name === 'string' && name !== '' ? name : undefined;
}

function usualName(kind: Kind | undefined): unknown {
  const { properties } = (kind?.schema ?? {}) as { properties?: unknown };
  const field = isObject(properties) ? properties.outputVariable : undefined;
  return isObject(field) ? field.default : undefined;
}
