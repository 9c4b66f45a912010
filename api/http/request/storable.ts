/** Far deeper than real documents, and far below the limits of Postgres and of our own recursions. */
const MAX_LEVELS = 200;

export const TOO_DEEP = `must not be nested deeper than ${MAX_LEVELS} levels`;

export interface Unstorable {
  path: string[];
  message: string;
}

/**
 * Finds a place where a JSON value cannot be stored by Postgres, or null. The recursion is no deeper than the levels that it accepts;
 * a list of nodes to visit took ten times as long, because a body may have a million values.
 */
export function findUnstorable(value: unknown): Unstorable | null {
  const path = faultIn(value, 0);
  if (path === 'too deep') return { path: [], message: TOO_DEEP };
  return path && { path, message: 'must not contain the character NUL or half of a surrogate pair' };
}

type Fault = string[] | 'too deep' | null;

function faultIn(value: unknown, level: number): Fault {
  if (typeof value === 'string') return isStorable(value) ? null : [];
  if (typeof value !== 'object' || value === null) return null;
  if (level === MAX_LEVELS) return Object.keys(value).length > 0 ? 'too deep' : null;
  if (!Array.isArray(value)) return faultInObject(value, level);
  for (let at = 0; at < value.length; at += 1) {
    const fault = faultIn(value[at], level + 1);
    if (fault) return below(String(at), fault);
  }
  return null;
}

function faultInObject(value: object, level: number): Fault {
  for (const key of Object.keys(value)) {
    const fault = isStorable(key) ? faultIn(Reflect.get(value, key), level + 1) : [];
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
