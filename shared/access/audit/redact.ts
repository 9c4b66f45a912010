import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';
import { isSealed } from '../../core/key-ring.ts';
import { setKey } from '../../core/record.ts';
import { storable } from '../../db/storable.ts';

/** Characters of a body that the trail stores. */
const MAX_BODY_LENGTH = 2_000;
export const REDACTED = '[REDACTED]';
const MAX_DEPTH = 30;

/** Matches names of secret values, in any object: most of them by a part of the name. */
const secretName =
  /passw(or)?d|^pass$|passphrase|passcode|secret|token|credential|authorization|cookie|api-?_?key|private-?_?key|access-?_?key|signature|bearer|connection-?_?(string|url|uri)|^dsn$|^pwd$|^otp$|^pin$/i;
/** Names that match `secretName` and are not secret. */
const harmlessName =
  /^(idempotencyKey|tokens?(Count|Limit|Used)|max_?Tokens|createdByApiKeyID|hasPassword|isSecret|secretName|apiKey(ID|Title)s?|page_?token)$/i;

export function isSecretName(name: string): boolean {
  return secretName.test(name) && !harmlessName.test(name);
}

export interface Hiding {
  /** Names of further fields of the value that are secret, beside those that `isSecretName` recognizes. */
  names?: ReadonlySet<string> | undefined;
  /** Hides what a schema declares to be secret, in the shortened copy of the value. */
  mask?: (copy: JsonObject) => JsonObject;
  /** Limit of characters of JSON that are stored; default: 2000. */
  maxLength?: number;
}

/**
 * A value as the trail stores it: without secrets, and with at most 2000 characters as JSON. A longer one becomes
 * `{_truncated: "its beginning"}`. Takes time in proportion to the copy, however large the value is.
 */
export function readable(value: unknown, { names, mask, maxLength = MAX_BODY_LENGTH }: Hiding = {}): Json {
  const budget = { left: maxLength };
  const stored = copyOf(value, names, budget, 0);
  const copy = mask && isJsonObject(stored) ? mask(stored) : stored;
  const text = JSON.stringify(copy);
  const isWhole = budget.left >= 0 && text.length <= maxLength;
  return isWhole ? copy : { _truncated: storable(text.slice(0, maxLength)) };
}

/** Characters of a text that are read for the part that is stored. */
const BEGINNING = 4_000;

/** Does the same with a text of JSON. Of a long text it reads only the beginning. */
export function readableText(text: string, hiding: Hiding = {}, isCut = text.length > BEGINNING): Json {
  const shown = readable(isCut ? parseBeginning(text.slice(0, BEGINNING)) : JSON.parse(text), hiding);
  const isMarked = isJsonObject(shown) && '_truncated' in shown;
  return isCut && !isMarked ? { _truncated: JSON.stringify(shown) } : shown;
}

const closers: Readonly<Record<string, string>> = { '{': '}', '[': ']' };

/** Parses JSON that is cut off at any position: all complete values, and the beginning of a string that the cut has hit. */
function parseBeginning(text: string): unknown {
  const open: string[] = [];
  let [stored, closing] = ['', ''];
  // Finds strings, also one without an end, and the marks of objects and lists.
  for (const { 0: found, 1: end, index } of text.matchAll(/"(?:[^"\\]|\\.)*("?)|[{}[\],]/gs)) {
    const before = text.slice(0, index);
    if (found.startsWith('"')) {
      if (end === '') stored = cutText(found, { before, closer: open[0] }) ?? stored;
      continue;
    }
    follow(open, found);
    [stored, closing] = [found === ',' ? before : before + found, open.join('')];
    if (open.length > MAX_DEPTH) break;
  }
  return stored === '' ? null : JSON.parse(stored + closing);
}

/** Updates `open` at a mark: the closing marks of all lists and objects that are open after it, the innermost first. */
function follow(open: string[], mark: string): void {
  const closer = closers[mark];
  if (closer) open.unshift(closer);
  else if (mark !== ',') open.shift();
}

/** Closes a string that is cut off; undefined if the string is a key. `before`: the JSON before it; `closer`: what closes its list or object. */
function cutText(text: string, { before, closer }: { before: string; closer: string | undefined }): string | undefined {
  const isValue = closer === ']' || /:\s*$/.test(before);
  return isValue ? `${before}${withoutHalfAddress(text.replace(halfEscape, '$1'))}"` : undefined;
}

const halfEscape = /((?:^|[^\\])(?:\\\\)*)\\u[\da-f]{0,3}$/i;

interface Budget {
  left: number;
}

function copyOf(value: unknown, names: Hiding['names'], budget: Budget, depth: number): Json {
  if (typeof value === 'string') return textOf(value, budget);
  if (value instanceof Date) return textOf(Number.isNaN(value.getTime()) ? '' : value.toISOString(), budget);
  if (typeof value !== 'object' || value === null) {
    budget.left -= 4;
    return typeof value === 'number' || typeof value === 'boolean' ? value : null;
  }
  if (depth === MAX_DEPTH) {
    budget.left = -1;
    return null;
  }
  return Array.isArray(value) ? listOf(value, names, budget, depth) : objectOf(value, names, budget, depth);
}

function objectOf(value: object, names: Hiding['names'], budget: Budget, depth: number): JsonObject {
  const copy: JsonObject = {};
  // Not `Object.keys`: it would list a million keys of which ten are stored.
  for (const name in value) {
    if (budget.left < 0) break;
    const child: unknown = Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
    if (child === undefined) continue;
    const key = storable(name.slice(0, 200));
    budget.left -= key.length + 3;
    const isHidden = child !== null && child !== '' && (isSecretName(name) || names?.has(name) === true);
    setKey(copy, key, isHidden ? hidden(budget) : copyOf(child, names, budget, depth + 1));
  }
  return copy;
}

function listOf(list: readonly unknown[], names: Hiding['names'], budget: Budget, depth: number): Json[] {
  const copy: Json[] = [];
  for (const item of list) {
    if (budget.left < 0) break;
    copy.push(copyOf(item, names, budget, depth + 1));
    budget.left -= 1;
  }
  return copy;
}

function hidden(budget: Budget): string {
  budget.left -= REDACTED.length + 2;
  return REDACTED;
}

function textOf(text: string, budget: Budget): string {
  const isSecret: boolean = isSealed(text);
  if (isSecret) return hidden(budget);
  const length = text.length > budget.left ? Math.max(budget.left, 0) + 1 : text.length;
  budget.left = length < text.length ? -1 : budget.left - length - 2;
  return storable(beginningOf(text, length));
}

/** The beginning of a text, without credentials of addresses. */
function beginningOf(text: string, length: number): string {
  const stored = withoutUserinfo(text.slice(0, length));
  return length < text.length ? withoutHalfAddress(stored) : stored;
}

/** Removes an address at which a text was cut off: it may contain credentials whose `@` is missing. */
function withoutHalfAddress(cut: string): string {
  return cut.replace(/:(?:\\?\/){2}[^\s/?#@"'<>]*$/, `://${REDACTED}`);
}

/** Hides the credentials in addresses: `https://user:password@host`. */
function withoutUserinfo(text: string): string {
  return text.includes('://') ? text.replaceAll(/:\/\/[^\s/?#@"'<>]*@/g, `://${REDACTED}@`) : text;
}

/** Headers without credentials, each of limited length. */
export function readableHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): JsonObject {
  const stored: JsonObject = {};
  let count = 0;
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || isSecretName(name) || withoutMeaning.has(name)) continue;
    count += 1;
    if (count > MAX_HEADERS) break;
    setKey(stored, name, storable(beginningOf(String(value), MAX_HEADER_LENGTH)));
  }
  return stored;
}

const MAX_HEADERS = 30;
const MAX_HEADER_LENGTH = 300;
/** Headers of the connection, not of the request. */
const withoutMeaning: ReadonlySet<string> = new Set(['connection', 'accept-encoding', 'accept']);

/** A path with its query, without the values of parameters that are secret by their name. */
export function readableURL(url: string): string {
  const at = url.indexOf('?');
  if (at < 0) return url.slice(0, MAX_URL_LENGTH);
  const fields = url.slice(at + 1, at + 1 + 2 * MAX_URL_LENGTH).split('&');
  const query = fields.map((field) => {
    const name = field.split('=', 1)[0] ?? '';
    const isSecret = isSecretName(name) || oauthNames.has(name) || hasUserinfo(field);
    return field.length > name.length && isSecret ? `${name}=${REDACTED}` : field;
  });
  return `${url.slice(0, at)}?${query.join('&')}`.slice(0, MAX_URL_LENGTH);
}

/** Whether a parameter contains an address with credentials. Such an address is mostly percent-encoded. */
function hasUserinfo(field: string): boolean {
  const text = field.replaceAll(/%(3a|2f|40)/gi, (code) => decodeURIComponent(code));
  return withoutUserinfo(text) !== text;
}

const MAX_URL_LENGTH = 1_000;
const oauthNames: ReadonlySet<string> = new Set(['code', 'state']);
