/**
 * Postgres stores neither NUL nor half of a surrogate pair, such as an emoji that was cut in two. Both come in with the error texts
 * of other servers and of users' code. In a statement for many runs one of them would stop all; here it becomes U+FFFD.
 */
export function storable(text: string): string {
  return text.isWellFormed() && !text.includes('\0') ? text : text.toWellFormed().replaceAll('\0', '\uFFFD');
}

/** Does the same with a text that `JSON.stringify` has made, in which both are escapes. */
export function storableJSON(text: string): string {
  // Few texts have such an escape. Every escape is matched whole, or an escaped backslash before "u0000" would look like one.
  return text.includes('\\u') ? text.replace(/\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g, replaceEscape) : text;
}

function replaceEscape(found: string): string {
  return found.length > 2 ? '\uFFFD' : found;
}
