import { isSame } from '../bindings/is-same.ts';

/** What is not there any more, and what is new or another one, by the keys of a list. */
export function differences<T>(
  before: readonly T[],
  next: readonly T[],
  keyOf: (one: T) => string,
): { gone: T[]; put: T[] } {
  const old = new Map(before.map((one) => [keyOf(one), one]));
  const now = new Map(next.map((one) => [keyOf(one), one]));
  return {
    gone: [...old].filter(([key]) => !now.has(key)).map(([, one]) => one),
    put: [...now].filter(([key, one]) => !old.has(key) || !isSame(old.get(key), one)).map(([, one]) => one),
  };
}
