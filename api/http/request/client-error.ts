import { STATUS_CODES } from 'node:http';
import type { Request } from 'express';
import { AppError } from '#shared/core/errors.ts';
import { quote } from '#shared/core/quote.ts';

/** An error of Express or of its body parsers, which refuse a request before a route sees it. Undefined for other errors. */
export function readClientError(error: unknown, request: Request): AppError | undefined {
  if (!isClientError(error)) return undefined;
  const describe = descriptions[error.type ?? ''] ?? describeOther;
  const code = error.status === 413 ? 'PAYLOAD_TOO_LARGE' : 'INVALID_REQUEST';
  return new AppError(code, describe(error, request), { cause: error });
}

/** An error of the kind that the package http-errors creates. */
interface ClientError extends Error {
  status: number;
  type?: string;
  /** The code of zlib's and of other errors of Node. */
  code?: string;
  /** The limit of `entity.too.large`. */
  limit?: number;
  /** The length that `request.size.invalid` expected. */
  expected?: number;
  received?: number;
}

function isClientError(error: unknown): error is ClientError {
  if (!(error instanceof Error && 'status' in error && typeof error.status === 'number')) return false;
  return !(error instanceof AppError) && error.status >= 400 && error.status <= 499;
}

type Describe = (error: ClientError, request: Request) => string;

/** Descriptions by the types of body-parser and raw-body. */
const descriptions: Readonly<Record<string, Describe>> = {
  'entity.too.large': ({ limit }) =>
    limit === undefined ? 'The body is too large' : `The body is larger than ${limit} bytes`,
  'charset.unsupported': (_error, request) =>
    `Content-Type: expected the charset utf-8, received ${quoteHeader(request, 'content-type')}`,
  'encoding.unsupported': (_error, request) =>
    `Content-Encoding: expected gzip, deflate, br or zstd, received ${quoteHeader(request, 'content-encoding')}`,
  'request.size.invalid': ({ expected, received }) =>
    `Content-Length: expected a body of ${expected} bytes, received ${received} bytes`,
  'request.aborted': () => 'The connection was closed before the whole body had arrived',
};

/** Says what is wrong with JSON. The parser's message has text of the body, so only the place is taken from it. */
export function describeSyntax({ message }: SyntaxError): string {
  const [place] = /position \d+(?: \(line \d+ column \d+\))?/.exec(message) ?? [];
  if (place) return `The body is not valid JSON: error at ${place}`;
  const endsEarly = message.startsWith('Unexpected end');
  return endsEarly ? 'The body is not valid JSON: it ends too early' : 'The body is not valid JSON';
}

function describeOther(error: ClientError, request: Request): string {
  if (error instanceof URIError) return 'The path is not valid percent-encoded UTF-8';
  if (/^(?:Z_|ERR_|ZSTD_)/.test(error.code ?? '')) {
    const encoding = quoteHeader(request, 'content-encoding');
    const isShort = error.code === 'Z_BUF_ERROR';
    return isShort
      ? `Content-Encoding: the body ends before its ${encoding} data is complete`
      : `Content-Encoding: the body is not valid ${encoding} data`;
  }
  return `The request was refused: ${STATUS_CODES[error.status] ?? error.status}`;
}

function quoteHeader(request: Request, name: string): string {
  return quote(request.get(name));
}
