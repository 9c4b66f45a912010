/** Far deeper than real documents, and far below the limits of Postgres and of our own recursions. */
const MAX_LEVELS = 200;

export const TOO_DEEP = `must not be nested deeper than ${MAX_LEVELS} levels`;

export interface Unstorable {
  path: string[];
  message: string;
}

/**
 * Finds the first place where a JSON value cannot be stored by Postgres, or null. Walks level by level, because a recursion would
 * overflow on the values it has to find.
 */
export function findUnstorable(value: unknown): Unstorable | null {
  let level: Node[] = [{ value, key: '', parent: null }];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_LEVELS) return { path: [], message: TOO_DEEP };
    const bad = level.find((node) => !isStorable(node.key) || !isStorable(node.value));
    if (bad) return { path: pathOf(bad), message: 'must not contain the character NUL or half of a surrogate pair' };
    level = level.flatMap(childrenOf);
  }
  return null;
}

interface Node {
  value: unknown;
  key: string;
  parent: Node | null;
}

function childrenOf(parent: Node): Node[] {
  const { value } = parent;
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).map(([key, child]) => ({ value: child, key, parent }));
}

function isStorable(value: unknown): boolean {
  return typeof value !== 'string' || (value.isWellFormed() && !value.includes('\0'));
}

function pathOf(node: Node): string[] {
  const keys: string[] = [];
  for (let at = node; at.parent; at = at.parent) keys.unshift(at.key);
  return keys;
}
