/**
 * Names the write of a query: its statement, or null if that begins with a word that reads. A function or a CTE in it may still write:
 * a dry run therefore executes it read-only, and the server refuses that.
 */
export function sqlWrite({ query }: { query: string }): string | null {
  const word = firstWordOf(query);
  return READING.has(word.toLowerCase()) ? null : shown(query);
}

/** A statement as the outcome of a dry run shows it. */
export function shown(statement: string): string {
  const text = statement.trim().replaceAll(/\s+/g, ' ');
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN).toWellFormed()}…` : text;
}

const MAX_SHOWN = 200;

const READING: ReadonlySet<string> = new Set([
  'select',
  'with',
  'show',
  'explain',
  'describe',
  'desc',
  'values',
  'table',
]);

/** Blanks, brackets and comments that a statement may begin with, each found in one pass. MySQL executes comments with a `!`. */
const BEFORE = /\s+|\(|--[^\n]*|\/\*(?!M?!)[\s\S]*?\*\//y;
const WORD = /[a-z]+/iy;

function firstWordOf(statement: string): string {
  let at = 0;
  for (BEFORE.lastIndex = 0; BEFORE.test(statement); ) at = BEFORE.lastIndex;
  WORD.lastIndex = at;
  return WORD.exec(statement)?.[0] ?? '';
}
