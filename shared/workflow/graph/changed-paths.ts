import { isDeepStrictEqual } from 'node:util';
import { isJsonObject, type Json } from '../../core/json.ts';

export type Path = (string | number)[];

/** Characters that the paths of one comparison, of many values, may have together. */
export interface PathBudget {
  characters: number;
}

export function pathBudget(): PathBudget {
  return { characters: MAX_CHARACTERS };
}

/** A path ends here at the latest, so that the paths of one deep value cannot be longer than the value. */
const MAX_DEPTH = 12;
/** A value in which more differs is named itself. */
const MAX_PATHS = 100;
/** Once the paths of a comparison have this many characters, further values are named without paths inside them. */
const MAX_CHARACTERS = 500_000;

/** The paths of values that were added, removed or changed, each as deep as the difference. Compares every value once. */
export function changedPaths(before: Json, after: Json, budget: PathBudget): Path[] {
  const found: Path[] = [];
  const path: Path = [];
  compare(before, after);
  return found;

  function compare(one: Json | undefined, other: Json | undefined): void {
    if (one === other) return;
    const keys = path.length < MAX_DEPTH ? keysOf(one, other) : undefined;
    if (keys) compareParts(one, other, keys);
    else if (!isDeepStrictEqual(one, other)) note();
  }

  function compareParts(one: Json | undefined, other: Json | undefined, keys: Iterable<string | number>): void {
    const start = found.length;
    for (const key of keys) {
      path.push(key);
      compare(partOf(one, key), partOf(other, key));
      path.pop();
      const count = found.length - start;
      if (count <= MAX_PATHS && (count === 0 || budget.characters >= 0)) continue;
      found.length = start;
      note();
      return;
    }
  }

  function note(): void {
    budget.characters -= path.reduce<number>((sum, key) => sum + String(key).length, 0);
    found.push([...path]);
  }
}

/** Keys of two objects, or of two lists of one length; values of other kinds are compared as a whole. */
function keysOf(one: Json | undefined, other: Json | undefined): Iterable<string | number> | undefined {
  if (Array.isArray(one) && Array.isArray(other)) return one.length === other.length ? one.keys() : undefined;
  if (!isJsonObject(one) || !isJsonObject(other)) return undefined;
  const added = Object.keys(other).filter((key) => !Object.hasOwn(one, key));
  return added.length > 0 ? [...Object.keys(one), ...added] : Object.keys(one);
}

/** The part of a value under a key; undefined if it has none. */
export function partOf(value: Json | undefined, key: string | number): Json | undefined {
  if (Array.isArray(value)) return typeof key === 'number' ? value[key] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}
