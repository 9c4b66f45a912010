/** A Postgres array literal of text, faster than the driver's own for the short strings the engine writes by the thousand. */
export function textArray(items: readonly (string | null)[]): string {
  let out = '{';
  for (let i = 0; i < items.length; i += 1) {
    const item = items[i];
    if (i > 0) out += ',';
    if (item === null || item === undefined) out += 'NULL';
    else out += `"${needsEscape.test(item) ? item.replace(special, '\\$&') : item}"`;
  }
  return `${out}}`;
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
