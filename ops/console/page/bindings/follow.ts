/** The value at a path below another one: own properties only, and the length of lists and texts. */
export function follow(value: unknown, keys: readonly (string | number)[]): unknown {
  let at = value;
  for (const key of keys) {
    if (key === 'length' && (typeof at === 'string' || Array.isArray(at))) at = at.length;
    else if (typeof at === 'object' && at !== null && Object.hasOwn(at, key)) at = Reflect.get(at, key);
    else return undefined;
  }
  return at;
}
