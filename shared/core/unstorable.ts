/** Far deeper than real documents, and far below the limits of Postgres and of our own recursions. */
export const MAX_LEVELS = 200;

/** Postgres keeps neither in a text. */
export const UNSTORABLE = 'must not contain the character NUL or half of a surrogate pair';

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

function tooDeep(levels: number): string {
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
