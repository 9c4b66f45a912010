import { isUtf8 } from 'node:buffer';
import { decodeText, isUTF8Label, NotText } from './charset.ts';
import type { Json, JsonObject } from './json.ts';

/**
 * Reads the fields of a query or of a URL-encoded form, whose percent-encoded bytes are in its charset. Throws `NotText`, with the
 * name of the field, where they are not.
 */
export function readFields(form: Buffer, charset = 'utf-8'): [string, string][] {
  if (hasManyFields(form)) throw new NotText(`a form must not have more than ${MAX_FIELDS} fields`);
  const fields = isUTF8Label(charset) ? readUTF8(form) : undefined;
  if (fields) return fields;
  const pairs = form.toString('latin1').split('&');
  return pairs.filter((pair) => pair !== '').map((pair) => readField(pair, charset));
}

/**
 * Undefined if a field is no UTF-8. One pass over the bytes: URLSearchParams looks for the `=` of each field up to the end of the form,
 * which took 2.5 s for 9,990 fields without one before a long one.
 */
function readUTF8(form: Buffer): [string, string][] | undefined {
  const decoded = Buffer.allocUnsafe(form.length);
  const and = nextOf(form, AND);
  const equals = nextOf(form, EQUALS);
  const percent = nextOf(form, PERCENT);
  const plus = nextOf(form, PLUS);
  const ends: number[] = [];
  let length = 0;
  const decode = (from: number, to: number) => {
    if (percent(from) >= to && plus(from) >= to) length += form.copy(decoded, length, from, to);
    else length = decodeInto(decoded, length, form, { from, to });
    ends.push(length);
  };
  for (let from = 0; from < form.length; from = and(from) + 1) {
    const to = and(from);
    if (to === from) continue;
    const cut = Math.min(equals(from), to);
    decode(from, cut);
    decode(Math.min(cut + 1, to), to);
  }
  // `&` and `=` are no part of a longer character, so all fields are UTF-8 if the whole is.
  if (!isUtf8(decoded.subarray(0, length))) return undefined;
  return Array.from({ length: ends.length / 2 }, (_, nth) => [
    decoded.toString('utf8', ends[2 * nth - 1] ?? 0, ends[2 * nth]),
    decoded.toString('utf8', ends[2 * nth], ends[2 * nth + 1]),
  ]);
}

/** Finds the next such byte from a position on; the length if there is none. Positions that are asked for may only grow. */
function nextOf(form: Buffer, byte: number): (from: number) => number {
  let found = -1;
  return (from) => {
    if (found < from) {
      const at = form.indexOf(byte, from);
      found = at < 0 ? form.length : at;
    }
    return found;
  };
}

/** Far more than forms have; code that reads a million of them would delay everything else. */
const MAX_FIELDS = 10_000;

export function hasManyFields(form: Buffer): boolean {
  let fields = 1;
  for (let at = form.indexOf('&'); at >= 0 && fields <= MAX_FIELDS; at = form.indexOf('&', at + 1)) fields += 1;
  return fields > MAX_FIELDS;
}

/** Fields as an object. A field that is repeated is a list of its values. */
export function listFields<Value extends Json>(pairs: Iterable<readonly [string, Value]>): JsonObject {
  const values = new Map<string, Value[]>();
  for (const [name, value] of pairs) {
    const before = values.get(name);
    if (before) before.push(value);
    else values.set(name, [value]);
  }
  return Object.fromEntries([...values].map(([name, all]) => [name, all.length === 1 ? (all[0] ?? null) : all]));
}

/** The bytes that a part of a form encodes. */
export function percentDecoded(part: Buffer): Buffer {
  const decoded = Buffer.allocUnsafe(part.length);
  return decoded.subarray(0, decodeInto(decoded, 0, part, { from: 0, to: part.length }));
}

/** Answers where the next byte goes. */
function decodeInto(target: Buffer, start: number, form: Buffer, { from, to }: { from: number; to: number }): number {
  let length = start;
  for (let at = from; at < to; at += 1) {
    let byte = form[at] ?? 0;
    if (byte === PLUS) byte = SPACE;
    else if (byte === PERCENT && at + 2 < to) {
      const high = DIGITS[form[at + 1] ?? 0] ?? -1;
      const low = DIGITS[form[at + 2] ?? 0] ?? -1;
      if (high >= 0 && low >= 0) {
        byte = 16 * high + low;
        at += 2;
      }
    }
    target[length] = byte;
    length += 1;
  }
  return length;
}

const SPACE = 0x20;
const PERCENT = 0x25;
const AND = 0x26;
const PLUS = 0x2b;
const EQUALS = 0x3d;

/** The value of a hexadecimal digit; NaN for another character. */
export function hexDigit(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : Number.NaN;
}

/** The digit of each byte, -1 for none: without this table, five megabytes of percent signs took 40 ms. */
const DIGITS = Int8Array.from({ length: 256 }, (_, byte) => {
  const digit = hexDigit(byte);
  return Number.isNaN(digit) ? -1 : digit;
});

function readField(pair: string, charset: string): [string, string] {
  const cut = pair.indexOf('=');
  const [name, value] = cut < 0 ? [pair, ''] : [pair.slice(0, cut), pair.slice(cut + 1)];
  try {
    return [decodeField(name, charset), decodeField(value, charset)];
  } catch (error) {
    if (!(error instanceof NotText) || error.isUnknownCharset) throw error;
    throw new NotText(`${error.message} in the field ${JSON.stringify(name.slice(0, 100))}`);
  }
}

function decodeField(text: string, charset: string): string {
  return decodeText(percentDecoded(Buffer.from(text, 'latin1')), { charset });
}
