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

/** Characters of JSON from which an array of it is sent as bytes. */
const LONG = 50_000;

/** An array of JSON texts as a parameter. Long ones are sent as bytes: to quote five megabytes takes 20 ms in one piece. */
export function jsonArray(items: readonly (string | null)[]): string | Buffer {
  let length = 0;
  for (const item of items) length += item?.length ?? 0;
  return length < LONG ? textArray(items) : jsonArrayBytes(items);
}

const JSONB_OID = 3802;
/** The format of jsonb in which its text follows. */
const JSONB_VERSION = 1;

/** The binary format of `jsonb[]`: dimensions, whether there are nulls, type, length, first index; then each element after its length. */
function jsonArrayBytes(items: readonly (string | null)[]): Buffer {
  const sizes = items.map((item) => (item === null ? -1 : Buffer.byteLength(item) + 1));
  const bytes = Buffer.allocUnsafe(20 + sizes.reduce((sum, size) => sum + 4 + Math.max(size, 0), 0));
  let at = 0;
  for (const number of [1, items.includes(null) ? 1 : 0, JSONB_OID, items.length, 1])
    at = bytes.writeInt32BE(number, at);
  for (const [nth, item] of items.entries()) {
    at = bytes.writeInt32BE(sizes[nth] ?? -1, at);
    if (item === null) continue;
    at = bytes.writeUInt8(JSONB_VERSION, at);
    at += bytes.write(item, at);
  }
  return bytes;
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
