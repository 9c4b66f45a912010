/** A Postgres array literal of text, faster than the driver's own for the short strings the engine writes by the thousand. */
export function textArray(items: readonly (string | null)[]): string {
  let out = '{';
  for (let i = 0; i < items.length; i += 1) {
    const item = items[i];
    if (i > 0) out += ',';
    if (item === null || item === undefined) out += 'NULL';
    else out += quoted(item);
  }
  return `${out}}`;
}

/**
 * Quotes a text. Postgres and JSON escape quotes and backslashes alike, and `JSON.stringify` takes a twelfth of the time for an output
 * of 6 MB. It also escapes control characters and halves of surrogate pairs, as Postgres does not.
 */
function quoted(item: string): string {
  if (!needsEscape.test(item)) return `"${item}"`;
  return differsInJSON.test(item) ? `"${item.replace(special, '\\$&')}"` : JSON.stringify(item);
}

/** A Postgres array literal of values that need no quotes: numbers, uuids, booleans. */
export function plainArray(items: readonly (string | number | boolean | null)[]): string {
  let out = '{';
  for (let i = 0; i < items.length; i += 1) {
    const item = items[i];
    out += i > 0 ? `,${item ?? 'NULL'}` : `${item ?? 'NULL'}`;
  }
  return `${out}}`;
}

const needsEscape = /["\\]/;
const special = /["\\]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const differsInJSON = /[\u0000-\u001f\ud800-\udfff]/;
