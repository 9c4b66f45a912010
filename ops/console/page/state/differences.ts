import { isSame } from '../bindings/is-same.ts';

/** Items of a list that are not there any more, and those that are new or other ones, by their keys. */
export function differences<T>(
  before: readonly T[],
  next: readonly T[],
  keyOf: (one: T) => string,
): { removed: T[]; put: T[] } {
  const old = new Map(before.map((one) => [keyOf(one), one]));
  const now = new Map(next.map((one) => [keyOf(one), one]));
  return {
    removed: [...old].filter(([key]) => !now.has(key)).map(([, one]) => one),
    put: [...now].filter(([key, one]) => !old.has(key) || !isSame(old.get(key), one)).map(([, one]) => one),
  };
}
