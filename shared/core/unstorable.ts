/** Far deeper than real documents, and far below the limits of Postgres and of our own recursions. */
export const MAX_LEVELS = 200;

/** Postgres keeps neither in a text. */
export const UNSTORABLE = 'must not contain the character NUL or half of a surrogate pair';

/**
 * Keys of one object of a body. V8 needs 20 to 40 ms in one piece to make an object of 100,000 keys larger, and 14 to list them. Bodies
 * that are parsed at once are too short for so many.
 */
export const MAX_KEYS = 50_000;

export const TOO_MANY_KEYS = `must not have more than ${MAX_KEYS.toLocaleString('en')} keys in one object: a list may have more elements`;

/** Values in a body that is no data: a graph of 5,000 nodes and 20,000 edges has 150,000. */
export const MAX_PARTS = 250_000;

export const TOO_MANY_PARTS = tooManyParts(MAX_PARTS);

export const TOO_DEEP = tooDeep(MAX_LEVELS);

export interface Unstorable {
  path: string[];
  message: string;
}

/**
 * Finds a place where a JSON value cannot be stored by Postgres, or null. The recursion is no deeper than the levels that it accepts;
 * a list of nodes to visit took ten times as long, because a body may have a million values.
 */
export function findUnstorable(value: unknown, maxLevels = MAX_LEVELS): Unstorable | null {
  const path = faultIn(value, maxLevels);
  if (path === 'too deep') return { path: [], message: tooDeep(maxLevels) };
  return path && { path, message: UNSTORABLE };
}

export function tooManyParts(max: number): string {
  return `must not have more than ${max.toLocaleString('en')} values in its lists and objects: it is a setting, and data belongs in inputs, a query, a file or a code step`;
}

export function tooDeep(levels: number): string {
  return `must not be nested deeper than ${levels} levels`;
}

type Fault = string[] | 'too deep' | null;

/** `levels`: how many more there may be. */
function faultIn(value: unknown, levels: number): Fault {
  if (typeof value === 'string') return isStorable(value) ? null : [];
  if (typeof value !== 'object' || value === null) return null;
  if (levels === 0) return Object.keys(value).length > 0 ? 'too deep' : null;
  if (!Array.isArray(value)) return faultInObject(value, levels);
  for (let at = 0; at < value.length; at += 1) {
    const fault = faultIn(value[at], levels - 1);
    if (fault) return below(String(at), fault);
  }
  return null;
}

function faultInObject(value: object, levels: number): Fault {
  for (const key of Object.keys(value)) {
    const fault = isStorable(key) ? faultIn(Reflect.get(value, key), levels - 1) : [];
    if (fault) return below(key, fault);
  }
  return null;
}

function below(key: string, fault: string[] | 'too deep'): Fault {
  return fault === 'too deep' ? fault : [key, ...fault];
}

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
