import { readLongJSON } from '#shared/concurrency/parse-json.ts';
import { decodeText, NotText } from '#shared/core/charset.ts';
import { AppError } from '#shared/core/errors.ts';
import { isJsonObject, type Json } from '#shared/core/json.ts';
import { MAX_LEVELS, readJSON, TooDeep } from '#shared/core/lossless-json.ts';
import { isJSONType, isMarkupType, readMediaType } from '#shared/core/media-type.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import { asText } from '#shared/workflow/templates/expressions.ts';
import { type HTTPResponse, whereOf } from '../../outbound/fetch.ts';

export type BodyFormat = 'json' | 'xml' | 'text' | 'form';

const mediaTypes: Record<BodyFormat, string> = {
  json: 'application/json',
  xml: 'application/xml',
  text: 'text/plain; charset=utf-8',
  form: 'application/x-www-form-urlencoded',
};

export function mediaTypeOf(format: BodyFormat): string {
  return mediaTypes[format];
}

/** Writes a value as a body; null for no body. A text must be in the format of the body already. */
export function writeBody(format: BodyFormat, value: Json | undefined): string | null {
  if (value === undefined || value === null || value === '') return null;
  if (format === 'form') return new URLSearchParams(fieldsOf(value)).toString();
  if (typeof value === 'string') return value;
  if (format === 'xml') throw invalidField('body', 'must be XML as text');
  return JSON.stringify(value);
}

/** Nested values as `name[key]` and `name[0]`, as Stripe, PHP and Rails read them. */
export function fieldsOf(value: Json): [string, string][] {
  const fields = typeof value === 'string' ? parseFields(value) : value;
  if (!isJsonObject(fields)) throw invalidField('body', 'a form must be an object of fields');
  return Object.entries(fields).flatMap(([name, child]) => flatten(name, child));
}

/** Parses an object; an empty text is an object without fields. A number that a double does not hold stays as it is written. */
export function parseFields(text: string): unknown {
  try {
    return text.trim() === '' ? {} : readJSON(text);
  } catch (cause) {
    throw invalidField('body', 'must be an object of fields', { cause });
  }
}

function flatten(name: string, value: Json | undefined): [string, string][] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value.flatMap((child, index) => flatten(`${name}[${index}]`, child));
  if (isJsonObject(value)) return Object.entries(value).flatMap(([key, child]) => flatten(`${name}[${key}]`, child));
  return [[name, asText(value)]];
}

/**
 * Reads a response by its media type: JSON parsed, text as text, other bytes as base64, no body as null. Texts are in the charset that
 * the response names, else in that of their byte order mark, or of the first line of XML, else in UTF-8.
 */
export async function readBody(
  response: HTTPResponse,
  as: 'auto' | 'json' | 'text' | 'base64' = 'auto',
): Promise<Json> {
  const { body, headers } = response;
  if (body.length === 0) return null;
  const { type } = readMediaType(headers['content-type']);
  if (as === 'json' || (as === 'auto' && isJSONType(type))) return await parse(textOf(response), response);
  if (as === 'base64') return body.toString('base64');
  if (as === 'text' || isText(type)) return textOf(response);
  return (type === '' ? tryText(body) : undefined) ?? body.toString('base64');
}

function isText(type: string): boolean {
  return /^text\/|[/+](?:xml|yaml|javascript)$|^application\/(?:x-www-form-urlencoded|graphql|x-ndjson|csv)$/.test(
    type,
  );
}

/** The text of a response. Characters are never replaced: a price in another charset would become another price. */
function textOf({ body, headers, url }: HTTPResponse): string {
  try {
    return decodeText(body, declaredIn(headers));
  } catch (cause) {
    if (!(cause instanceof NotText)) throw cause;
    throw new AppError(
      'UPSTREAM_FAILED',
      `The response of ${whereOf(url)} cannot be read as a text: ${cause.message}`,
      {
        cause,
        retry: false,
      },
    );
  }
}

/** The charset that a response names for its body, and whether the body may name one itself. */
export function declaredIn(headers: HTTPResponse['headers']): { charset: string | undefined; isMarkup: boolean } {
  const { type, parameters } = readMediaType(headers['content-type']);
  return { charset: parameters.get('charset'), isMarkup: isMarkupType(type) };
}

function tryText(body: Buffer): string | undefined {
  try {
    const text = decodeText(body);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

async function parse(text: string, { url }: HTTPResponse): Promise<Json> {
  try {
    return await readLongJSON(text);
  } catch (cause) {
    const what = cause instanceof TooDeep ? `nested deeper than ${MAX_LEVELS} levels` : 'not JSON';
    throw new AppError('UPSTREAM_FAILED', `The response of ${whereOf(url)} is ${what}`, { cause, retry: false });
  }
}
