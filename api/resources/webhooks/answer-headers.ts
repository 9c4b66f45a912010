import type { Json, JsonObject } from '#shared/core/json.ts';
import { AnswerFault } from './answer-fault.ts';

/**
 * Headers that outputs may set: about the body, or for the sender. Others are about the connection or this service, such
 * as cookies.
 */
const ALLOWED: ReadonlySet<string> = new Set([
  'cache-control',
  'content-disposition',
  'content-language',
  'content-type',
  'etag',
  'expires',
  'last-modified',
  'link',
  'location',
  'retry-after',
  'vary',
  'www-authenticate',
]);
const OWN = /^x-(?!request-id$|frame-|content-type-|dns-|download-|permitted-|xss-|powered-|forwarded)[\w-]{1,100}$/;
/** Headers that a response has once. */
const SINGLE: ReadonlySet<string> = new Set([
  'content-disposition',
  'content-type',
  'etag',
  'expires',
  'last-modified',
  'location',
  'retry-after',
]);
const MAX_HEADERS = 50;
const MAX_LENGTH = 4_000;

/** The headers of an answer. Those that outputs may not set are left out; a value that none can have is a fault. */
export function headersOf(headers: JsonObject): Record<string, string | string[]> {
  const named = Object.entries(headers).flatMap(([name, value]): [string, string | string[]][] => {
    const key = name.toLowerCase();
    if (!(ALLOWED.has(key) || OWN.test(key)) || value === null) return [];
    const lines = (Array.isArray(value) ? value : [value]).map((line) => lineOf(key, line));
    const [line = '', ...others] = lines;
    if (others.length === 0) return lines.length === 0 ? [] : [[key, line]];
    if (SINGLE.has(key)) throw new AnswerFault(`${lines.length} values of the header ${key}, which has one`);
    return [[key, lines]];
  });
  return Object.fromEntries(named.slice(0, MAX_HEADERS));
}

function lineOf(key: string, value: Json): string {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
    throw new AnswerFault(`a value of the header ${key} that is neither a text nor a number`);
  const text = String(value);
  const line = key === 'content-disposition' ? withEncodedName(text) : encoded(text);
  if (line.length > MAX_LENGTH)
    throw new AnswerFault(`a value of the header ${key} of more than ${MAX_LENGTH} characters`);
  return line;
}

/** Characters that a header cannot hold are written as in a URL. What is encoded already stays. */
function encoded(text: string): string {
  return text.toWellFormed().replace(/[^\t\x20-\x7e]+/g, encodeURIComponent);
}

/** The name of a file with other characters is given twice (RFC 6266): for old clients without them, and as it is. */
function withEncodedName(text: string): string {
  const name = /\bfilename="((?:[^"\\]|\\.)*)"/.exec(text)?.[1];
  if (name === undefined || /^[\x20-\x7e]*$/.test(text) || /filename\*/.test(text)) return encoded(text);
  const plain = text.replace(/[^\t\x20-\x7e]/gu, '_');
  const whole = encodeURIComponent(name.replace(/\\(.)/g, '$1').toWellFormed()).replace(/['()*]/g, escapeOne);
  return `${plain}; filename*=UTF-8''${whole}`;
}

function escapeOne(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
