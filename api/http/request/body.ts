import { isUtf8 } from 'node:buffer';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { parseStorable } from '#shared/concurrency/parse-storable.ts';
import { decodeText, NotText } from '#shared/core/charset.ts';
import { AppError } from '#shared/core/errors.ts';
import { listFields } from '#shared/core/form-fields.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { quote } from '#shared/core/quote.ts';
import type { Unstorable } from '#shared/core/unstorable.ts';
import { describeSyntax } from './client-error.ts';
import { findLossyNumber } from './lossy-numbers.ts';
import { isEncodedUTF8 } from './utf8.ts';

export interface Body {
  value: unknown;
  bytes: number;
  /** The first place that is refused, in a body that was parsed in pieces. Other bodies are not checked yet. */
  unstorable?: Unstorable | null;
}

interface ReadOptions {
  /** Is asked once the whole text has arrived, with its length, so that a slow sender does not hold up others. */
  mayParse?: (bytes: number) => Promise<void> | undefined;
  /** Values that the body may have in its lists and objects. */
  maxParts?: number;
}

/** Reads a body. */
export type ReadBody = (request: Request, response: Response, options?: ReadOptions) => Promise<Body>;

/**
 * Reads a JSON or URL-encoded body when a route asks for it, which is after authentication: an unauthenticated client neither
 * learns the faults of a body nor makes us parse it.
 */
export function bodyReader({ maxBytes }: { maxBytes: number }): ReadBody {
  // Faults are noted and not thrown: the parser attaches the whole body to an error, which would be logged.
  const broken = new WeakSet<object>();
  const foreign = new WeakSet<object>();
  const texts = new WeakMap<object, Buffer>();
  const verifyJSON = (request: object, _response: unknown, bytes: Buffer, encoding: string) => {
    if (!encoding.startsWith('utf-')) foreign.add(request);
    if (encoding === 'utf-8' && !isUtf8(bytes)) broken.add(request);
    texts.set(request, encoding === 'utf-8' ? bytes : inUTF8(request, bytes, encoding));
  };
  /** The text in UTF-8, in which its numbers can be found. The parser itself would put U+FFFD where half of a character is missing. */
  const inUTF8 = (request: object, bytes: Buffer, charset: string): Buffer => {
    try {
      return Buffer.from(decodeText(bytes, { charset }));
    } catch (error) {
      (error instanceof NotText && !error.isUnknownCharset ? broken : foreign).add(request);
      return bytes;
    }
  };
  const verifyForm = (request: object, _response: unknown, bytes: Buffer, encoding: string) => {
    if (encoding !== 'utf-8' && encoding !== 'iso-8859-1') foreign.add(request);
    if (!isEncodedUTF8(bytes.toString('latin1'))) broken.add(request);
  };
  const readJSON = express.text({
    limit: maxBytes,
    type: ['application/json', 'application/*+json'],
    verify: verifyJSON,
  });
  const readForm = express.text({ limit: maxBytes, type: 'application/x-www-form-urlencoded', verify: verifyForm });

  /** The text of JSON, which is left in `request.body`; undefined for another body. */
  async function readText(request: Request, response: Response): Promise<Buffer | undefined> {
    await run(readJSON, request, response);
    if (foreign.has(request)) throw unreadable(request, 'the charset utf-8');
    if (broken.has(request)) throw notUTF8();
    return texts.get(request);
  }

  async function parseForm(request: Request, response: Response): Promise<Body> {
    await run(readForm, request, response);
    if (foreign.has(request)) throw unreadable(request, 'the charset utf-8');
    if (broken.has(request)) throw notUTF8();
    // Ignoring the body would start a run without the inputs that were sent.
    if (request.body === undefined && hasBody(request)) throw unreadable(request, 'application/json');
    if (typeof request.body === 'string') request.body = readFields(request.body);
    return { value: request.body, bytes: 0 };
  }

  return async (request, response, { mayParse = () => undefined, maxParts } = {}) => {
    const text = await readText(request, response);
    await mayParse(text?.length ?? 0);
    if (!text) return parseForm(request, response);
    const json = request.body as string;
    const parsed = await parse(json, maxParts);
    request.body = parsed.value;
    const fault = await findLossyNumber(json);
    if (fault) throw new AppError('VALIDATION_ERROR', fault);
    if (text.length > LARGE_BYTES) keepBeginning(response, text.subarray(0, BEGINNING).toString());
    return { ...parsed, bytes: text.length };
  };
}

const MAX_FIELDS = 1_000;

/** The fields of a form, with every name as it was sent: the parser of Express leaves out `__proto__`. */
function readFields(text: string): JsonObject {
  if (text.split('&', MAX_FIELDS + 1).length > MAX_FIELDS)
    throw new AppError(
      'PAYLOAD_TOO_LARGE',
      `The body is a form with too many fields: at most ${MAX_FIELDS} are allowed`,
    );
  return listFields(new URLSearchParams(`?${text}`));
}

async function parse(text: string, maxParts: number | undefined): Promise<Pick<Body, 'value' | 'unstorable'>> {
  try {
    if (text.length > AT_ONCE) return await parseStorable(text, { maxParts });
    return { value: text === '' ? {} : JSON.parse(text) };
  } catch (error) {
    throw new AppError('INVALID_REQUEST', describeSyntax(error as SyntaxError));
  }
}

/** Characters that are parsed at once: 10 ms for the kinds of JSON that take longest. */
const AT_ONCE = 200_000;

function notUTF8(): AppError {
  return new AppError('INVALID_REQUEST', 'The body is not valid UTF-8');
}

function unreadable(request: Request, expected: string): AppError {
  const received = quote(request.get('content-type'));
  return new AppError('INVALID_REQUEST', `Content-Type: expected ${expected}, received ${received}`);
}

/** Longer bodies are shown by the beginning of their text: even to list the keys of an object may take as long as to parse it. */
export const LARGE_BYTES = 50_000;
/** Twice what the audit trail shows, because the trail leaves out hidden values. */
export const BEGINNING = 4_000;

function keepBeginning({ locals }: Response, text: string): void {
  locals.beginning = text;
}

/** The beginning of the text of a large body; undefined for another. */
export function beginningOf({ locals }: Response): string | undefined {
  return (locals as { beginning?: string }).beginning;
}

function run(parser: RequestHandler, request: Request, response: Response): Promise<void> {
  return new Promise((resolve, reject) => {
    void parser(request, response, (error?: unknown) => (error ? reject(error) : resolve()));
  });
}

function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
