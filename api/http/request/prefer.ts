/**
 * The preferences of a request (RFC 7240): names in lower case, with their values; one without a value has an empty one. Of a
 * preference that is named twice the first counts. Parameters of a preference are not read, nor is a header of unusual length.
 */
export function readPreferences(header: string | undefined): ReadonlyMap<string, string> {
  const preferences = new Map<string, string>();
  if (!header || header.length > MAX_LENGTH) return preferences;
  for (const [element] of header.matchAll(ELEMENT)) {
    const { name, quoted, token = '' } = PREFERENCE.exec(element)?.groups ?? {};
    if (!name || preferences.has(name.toLowerCase())) continue;
    preferences.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, '$1') ?? token);
  }
  return preferences;
}

/** Unclosed quotes make parsing quadratic in the length. */
const MAX_LENGTH = 1_000;

/** One preference: text between commas, except commas inside of quotes. */
const ELEMENT = /(?:"(?:[^"\\]|\\.)*"|[^,])+/g;

const PREFERENCE =
  /^\s*(?<name>[!#$%&'*+.^`|~\w-]+)(?:\s*=\s*(?:"(?<quoted>(?:[^"\\]|\\.)*)"|(?<token>[!#$%&'*+.^`|~\w-]*)))?\s*(?:;.*)?$/s;
