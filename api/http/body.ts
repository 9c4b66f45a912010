import { isUtf8 } from 'node:buffer';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { AppError } from '#shared/errors.ts';
import { quote } from '#shared/quote.ts';
import { isEncodedUTF8 } from './utf8.ts';

export type ReadBody = (request: Request, response: Response) => Promise<unknown>;

/**
 * Reads a JSON or URL-encoded body when a route asks for it, which is after authentication: an unauthenticated client neither
 * learns the faults of a body nor makes us parse it.
 */
export function bodyReader({ maxBytes }: { maxBytes: number }): ReadBody {
  // Noted and not thrown: the parser attaches the whole body to an error, which would be logged.
  const broken = new WeakSet<object>();
  const inexact = new WeakMap<object, string>();
  const verifyJSON = (request: object, _response: unknown, bytes: Buffer, encoding: string) => {
    if (encoding === 'utf-8' && !isUtf8(bytes)) broken.add(request);
    const found = findInexact(bytes);
    if (found) inexact.set(request, found);
  };
  const verifyForm = (request: object, _response: unknown, bytes: Buffer) => {
    if (!isEncodedUTF8(bytes.toString('latin1'))) broken.add(request);
  };
  const parsers = [
    express.json({
      limit: maxBytes,
      strict: false,
      type: ['application/json', 'application/*+json'],
      verify: verifyJSON,
    }),
    express.urlencoded({ limit: maxBytes, extended: false, verify: verifyForm }),
  ];
  return async (request, response) => {
    for (const parser of parsers) await run(parser, request, response);
    if (broken.has(request)) throw new AppError('INVALID_REQUEST', 'The body is not valid UTF-8');
    const number = inexact.get(request);
    if (number) throw new AppError('VALIDATION_ERROR', `${number} is more than a JSON number holds: send it as a text`);
    // Ignoring it would start a run without the inputs that were sent.
    if (request.body === undefined && hasBody(request))
      throw new AppError(
        'INVALID_REQUEST',
        `Content-Type: expected application/json, received ${quote(request.get('content-type'))}`,
      );
    return request.body;
  };
}

/** Finds the first number, with its key, that is an integer which a double cannot hold exactly, or that would become infinite. */
function findInexact(bytes: Buffer): string | undefined {
  // Fewer digits, with an exponent of two, are neither.
  if (!/\d{16}|\d[eE]\+?\d{3}/.test(bytes.toString('latin1'))) return undefined;
  let found: string | undefined;
  function look(key: string, value: unknown, { source = '' }: { source?: string }): unknown {
    // An infinite number would be stored and passed on as null.
    const isLost = (number: number) =>
      !Number.isFinite(number) || (/^-?\d+$/.test(source) && !Number.isSafeInteger(number));
    if (typeof value === 'number' && isLost(value)) found ??= `${key}: ${source}`;
    return value;
  }
  try {
    // TypeScript does not know the third argument of a reviver.
    JSON.parse(bytes.toString(), look as (key: string, value: unknown) => unknown);
  } catch {
    // The parser proper reports invalid JSON.
  }
  return found;
}

function run(parser: RequestHandler, request: Request, response: Response): Promise<void> {
  return new Promise((resolve, reject) => {
    void parser(request, response, (error?: unknown) => (error ? reject(error) : resolve()));
  });
}

function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
