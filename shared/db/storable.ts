/**
 * Postgres stores neither NUL nor half of a surrogate pair, such as an emoji that was cut in two. Both come in with the error texts
 * of other servers and of users' code. In a statement for many runs one of them would stop all; here it becomes U+FFFD.
 */
export function storable(text: string): string {
  return text.isWellFormed() && !text.includes('\0') ? text : text.toWellFormed().replaceAll('\0', '\uFFFD');
}

/** Does the same with a text that `JSON.stringify` has made, in which both are escapes. */
export function storableJSON(text: string): string {
  return unstorableEscape(text) === undefined ? text : text.replace(UNSTORABLE_ESCAPES, '$1\uFFFD');
}

/** The hex digits of the first NUL or half pair in such a text. Undefined: it has none. */
export function unstorableEscape(text: string): string | undefined {
  // Most texts have no such escape at all.
  return text.includes('\\u') ? UNSTORABLE_ESCAPE.exec(text)?.[2] : undefined;
}

/** An even number of backslashes before it are escapes of their own. Other escapes are passed over, of which a text may have a million. */
const UNSTORABLE_ESCAPE = /(?<=[^\\])((?:\\\\)*)\\u(0000|d[89a-f][0-9a-f]{2})/;
const UNSTORABLE_ESCAPES = new RegExp(UNSTORABLE_ESCAPE, 'g');
