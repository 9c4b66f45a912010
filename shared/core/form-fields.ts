import { isUtf8 } from 'node:buffer';
import { decodeText, isUTF8Label, NotText } from './charset.ts';
import type { Json, JsonObject } from './json.ts';

/**
 * Reads the fields of a query or of a URL-encoded form, whose percent-encoded bytes are in its charset. Throws `NotText`, with the
 * name of the field, where they are not.
 */
export function readFields(form: Buffer, charset = 'utf-8'): [string, string][] {
  if (hasManyFields(form)) throw new NotText(`a form must not have more than ${MAX_FIELDS} fields`);
  if (isUTF8Label(charset) && isUtf8(percentDecoded(form)))
    return [...new URLSearchParams(`?${form.toString('utf8')}`)];
  const pairs = form.toString('latin1').split('&');
  return pairs.filter((pair) => pair !== '').map((pair) => readField(pair, charset));
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

/** The bytes that a form encodes, without a check of its fields. */
export function percentDecoded(form: Buffer): Buffer {
  if (!form.includes(PERCENT)) return form;
  const decoded = Buffer.allocUnsafe(form.length);
  let length = 0;
  for (let at = 0; at < form.length; at += 1) {
    const byte = form[at] ?? 0;
    const high = byte === PERCENT ? (DIGITS[form[at + 1] ?? 0] ?? -1) : -1;
    const low = high < 0 ? -1 : (DIGITS[form[at + 2] ?? 0] ?? -1);
    if (low >= 0) at += 2;
    decoded[length] = low < 0 ? byte : 16 * high + low;
    length += 1;
  }
  return decoded.subarray(0, length);
}

const PERCENT = 0x25;

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
  return decodeText(percentDecoded(Buffer.from(text.replaceAll('+', ' '), 'latin1')), { charset });
}
