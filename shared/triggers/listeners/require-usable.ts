import { isUtf8 } from 'node:buffer';
import { decodeText, isUTF8Label } from '../../core/charset.ts';
import { hasManyFields, hexDigit, listFields, percentDecoded, readFields } from '../../core/form-fields.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { MAX_LEVELS } from '../../core/lossless-json.ts';
import { isMarkupType, readMediaType } from '../../core/media-type.ts';
import { invalid, invalidField } from '../../core/schema/issues.ts';
import { findUnstorable, UNSTORABLE } from '../../core/unstorable.ts';
import { asText, bodyOf, FORM, isBinary, isJSONBody } from './event-body.ts';
import { readQuery } from './event-query.ts';
import { type EventKey, MULTIPART } from './multipart.ts';

interface Sent {
  /** As it was sent, without the `?`. */
  query: string;
  params: JsonObject;
  contentType: string;
  body: Buffer;
}

/**
 * Refuses a delivery whose texts are none of their charset, or that Postgres cannot store: its sender would be told that all is well,
 * and no run could have it. A form with files is parsed; other bodies only where something in them is wrong.
 */
export function requireUsable({ query, params, contentType, body }: Sent): void {
  requireStorable({ params, query: readQuery(query) });
  const { type, parameters } = readMediaType(contentType);
  const charset = parameters.get('charset');
  if (body.length === 0) return;
  if (type === FORM) return requireForm(body, charset);
  if (isJSONBody(type)) return requireJSON(body, charset);
  if (type === MULTIPART) return requireStorable({ body: bodyOf(body, contentType, UNRECORDED) });
  if (isBinary(type)) return;
  // Only a charset that is not known is a fault: what is no text of its charset is taken as bytes.
  if (isMarkupType(type)) bodyOf(body, contentType, UNRECORDED);
  else if (charset !== undefined) asText(() => decodeText(Buffer.alloc(0), { charset }));
}

/** Stands for the event, which is recorded only if its body passes. The checks do not read the references to files that name it. */
const UNRECORDED: EventKey = { id: '00000000-0000-7000-8000-000000000000', tenantID: '' };

/** Throws VALIDATION_ERROR, with the path of the field, for a value of an event that Postgres cannot store. */
export function requireStorable(event: Json): void {
  // The event itself is a level, and so is its body.
  const unstorable = findUnstorable(event, MAX_LEVELS + 2);
  if (unstorable) throw invalid([unstorable]);
}

function requireForm(body: Buffer, charset: string | undefined): void {
  if (isUTF8Label(charset) && !hasManyFields(body)) {
    const decoded = percentDecoded(body);
    if (isUtf8(decoded) && !decoded.includes(0)) return;
  }
  requireStorable({ body: listFields(asText(() => readFields(body, charset))) });
}

function requireJSON(body: Buffer, charset: string | undefined): void {
  const text = isUTF8Label(charset) && isUtf8(body) ? body : Buffer.from(asText(() => decodeText(body, { charset })));
  const at = findUnstorableEscape(text);
  if (at === undefined) return;
  const where = `${UNSTORABLE}: ${text.toString('latin1', at, at + 6)} at byte ${at}`;
  // To find the field in five megabytes of JSON would take half a second in one piece.
  const value = text.length > MAX_SEARCHED ? null : readable(text);
  const { path } = findUnstorable({ body: value }, MAX_LEVELS + 2) ?? { path: ['body'] };
  throw path.length > 0 ? invalid([{ path, message: where }]) : invalidField('body', where);
}

/** Bytes of JSON in which the field is named; in longer ones the byte alone. */
const MAX_SEARCHED = 100_000;

/** The value of JSON, for the path of what is wrong in it; null if it is not JSON. */
function readable(text: Buffer): Json {
  try {
    return bodyOf(text, 'application/json', UNRECORDED);
  } catch {
    return null;
  }
}

const BACKSLASH = 0x5c;
const U = 0x75;

/** Index of the first escape of JSON that is a NUL or half of a surrogate pair. Reads bytes: to parse 5 MB takes ten times as long. */
function findUnstorableEscape(text: Buffer): number | undefined {
  for (let at = text.indexOf(BACKSLASH); at >= 0 && at < text.length; at += 1) {
    if (text[at] !== BACKSLASH) continue;
    const code = escapedCode(text, at);
    if (code === 0 || isLow(code)) return at;
    if (isHigh(code)) {
      if (!isLow(escapedCode(text, at + 6))) return at;
      at += 6;
    }
    at += Number.isNaN(code) ? 1 : 5;
  }
  return undefined;
}

/** The code unit of `\uXXXX`; NaN for another escape, or none. */
function escapedCode(text: Buffer, at: number): number {
  if (text[at] !== BACKSLASH || text[at + 1] !== U) return Number.NaN;
  let code = 0;
  for (let digit = at + 2; digit < at + 6; digit += 1) code = 16 * code + hexDigit(text[digit]);
  return code;
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
