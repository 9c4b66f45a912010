import { AppError } from '#shared/core/errors.ts';
import type { Json } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';

export type Encoding = 'text' | 'base64';

/** Bytes of a value: text as it is, other values as JSON. */
export function bytesOf(field: string, value: Json, encoding: Encoding): Buffer {
  if (encoding === 'text') return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
  if (typeof value !== 'string' || value.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(value))
    throw invalidField(field, 'must be base64');
  return Buffer.from(value, 'base64');
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Bytes as text of an answer; `what` is the subject of the error when they are not UTF-8. */
export function writtenBytes(what: string, bytes: Uint8Array, encoding: Encoding): string {
  if (encoding === 'base64') return Buffer.from(bytes).toString('base64');
  try {
    return strict.decode(bytes);
  } catch (cause) {
    throw new AppError('DB_ERROR', `${what} is no text; it can be read as base64`, { cause });
  }
}
