import { isObject } from './is-object.ts';

export function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (at, name) => (Array.isArray(at) ? at[Number(name)] : isObject(at) ? at[name] : undefined),
    value,
  );
}

/** The same value with another part; an undefined one is left out. */
export function withValueAt(value: unknown, path: readonly string[], part: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return part;
  if (Array.isArray(value)) return value.with(Number(name), withValueAt(value[Number(name)], rest, part));
  const old = isObject(value) ? value : {};
  const next = withValueAt(old[name], rest, part);
  const { [name]: _, ...others } = old;
  // In its old place, so that what is saved differs in one field alone.
  if (next === undefined) return others;
  return name in old ? { ...old, [name]: next } : { ...others, [name]: next };
}

/** The faults, by dotted paths, of parts that have not changed since. */
export function unresolvedFaults(faults: ReadonlyMap<string, string>, then: unknown, now: unknown) {
  const at = (value: unknown, path: string) => valueAt(value, path === '' ? [] : path.split('.'));
  return new Map([...faults].filter(([path]) => at(then, path) === at(now, path)));
}
