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
/** If more paths inside of a value differ, the path of the value itself stands for all of them. */
const MAX_PATHS = 100;
/** Once the paths of a comparison have this many characters, the path of a value stands for all differences inside of it. */
const MAX_CHARACTERS = 500_000;

/** The paths of values that were added, removed or changed, each as deep as the difference. Compares every value once. */
export function changedPaths(before: Json, after: Json, budget: PathBudget): Path[] {
  const found: Path[] = [];
  const path: Path = [];
  compare(before, after);
  return found;

  function compare(old: Json | undefined, current: Json | undefined): void {
    if (old === current) return;
    const keys = path.length < MAX_DEPTH ? keysOf(old, current) : undefined;
    if (keys) compareParts(old, current, keys);
    else if (!isDeepStrictEqual(old, current)) addPath();
  }

  function compareParts(old: Json | undefined, current: Json | undefined, keys: Iterable<string | number>): void {
    const start = found.length;
    for (const key of keys) {
      path.push(key);
      compare(partOf(old, key), partOf(current, key));
      path.pop();
      const count = found.length - start;
      if (count <= MAX_PATHS && (count === 0 || budget.characters >= 0)) continue;
      // The paths inside are dropped for the path of the value itself.
      found.length = start;
      addPath();
      return;
    }
  }

  function addPath(): void {
    budget.characters -= path.reduce<number>((sum, key) => sum + String(key).length, 0);
    found.push([...path]);
  }
}

/** Keys of two objects, or of two lists of one length; values of other kinds are compared as a whole. */
function keysOf(old: Json | undefined, current: Json | undefined): Iterable<string | number> | undefined {
  if (Array.isArray(old) && Array.isArray(current)) return old.length === current.length ? old.keys() : undefined;
  if (!isJsonObject(old) || !isJsonObject(current)) return undefined;
  const added = Object.keys(current).filter((key) => !Object.hasOwn(old, key));
  return added.length > 0 ? [...Object.keys(old), ...added] : Object.keys(old);
}

/** The part of a value under a key; undefined if it has none. */
export function partOf(value: Json | undefined, key: string | number): Json | undefined {
  if (Array.isArray(value)) return typeof key === 'number' ? value[key] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}
