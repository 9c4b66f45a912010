import { decodeText, NotText } from '../../core/charset.ts';
import { AppError } from '../../core/errors.ts';
import { listFields, readFields } from '../../core/form-fields.ts';
import type { Json } from '../../core/json.ts';
import { MAX_LEVELS, readJSON, TooDeep } from '../../core/lossless-json.ts';
import { isMarkupType, readMediaType } from '../../core/media-type.ts';
import { invalidField } from '../../core/schema/issues.ts';
import { type EventKey, MULTIPART, multipartFields } from './multipart.ts';

/**
 * A body as templates and code read it: JSON parsed, a form as its fields and files, a text as text, other bytes as base64. Throws
 * VALIDATION_ERROR if it is not what its type says.
 */
export function bodyOf(body: Buffer, contentType: string, event: EventKey): Json {
  if (body.length === 0) return null;
  const { type, parameters } = readMediaType(contentType);
  const charset = parameters.get('charset');
  if (isJSONBody(type)) return parsed(asText(() => decodeText(body, { charset })));
  if (type === FORM) return listFields(asText(() => readFields(body, charset)));
  if (type === MULTIPART) return multipartFields(body, parameters.get('boundary'), event);
  if (isBinary(type)) return asBase64(body);
  return textOf(body, { charset, isMarkup: isMarkupType(type) });
}

export const FORM = 'application/x-www-form-urlencoded';

export function isJSONBody(type: string): boolean {
  return /^application\/([\w.-]+\+)?json$/.test(type);
}

/** Types whose bytes are no text, even if they happen to be UTF-8. */
export function isBinary(type: string): boolean {
  if (isMarkupType(type)) return false;
  return /^(?:image|audio|video|font|model)\/|^application\/(?:octet-stream|pdf|gzip|wasm|cbor|protobuf|msgpack|zip|x-(?:gzip|tar|protobuf|msgpack)|vnd\.(?:openxmlformats|ms-|sqlite3|apache\.(?:parquet|avro|arrow)).*)/.test(
    type,
  );
}

/** A text; as base64 what is no text of its charset, or has a NUL, which Postgres cannot keep in a text. */
function textOf(body: Buffer, declared: { charset: string | undefined; isMarkup: boolean }): Json {
  try {
    const text = decodeText(body, declared);
    return text.includes('\0') ? asBase64(body) : text;
  } catch (error) {
    if (error instanceof NotText && !error.isUnknownCharset) return asBase64(body);
    throw faultOf(error);
  }
}

function asBase64(body: Buffer): Json {
  return { base64: body.toString('base64') };
}

/** Reads what the sender has declared; the errors are for the sender. */
export function asText<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw faultOf(error);
  }
}

function faultOf(error: unknown): unknown {
  if (!(error instanceof NotText)) return error;
  if (!error.isUnknownCharset) return invalidField('body', error.message, { cause: error });
  return new AppError('VALIDATION_ERROR', `Content-Type: ${error.message}`, { status: 415, cause: error });
}

function parsed(text: string): Json {
  try {
    return readJSON(text);
  } catch (error) {
    throw notJSON(error);
  }
}

/** The error for a body whose type says that it is JSON, and that could not be parsed. */
export function notJSON(cause: unknown): AppError {
  const why = cause instanceof TooDeep ? `is nested deeper than ${MAX_LEVELS} levels` : 'is not JSON, as its type says';
  return new AppError('VALIDATION_ERROR', `The body ${why}`, { cause });
}
