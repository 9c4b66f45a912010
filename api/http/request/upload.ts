import busboy from 'busboy';
import type { Request } from 'express';
import { AppError } from '#shared/core/errors.ts';
import { quote } from '#shared/core/quote.ts';
import { cleanFileName } from '#shared/datasources/files/file-name.ts';

/** A file upload of a route: multipart/form-data with one part named `file`. */
export interface Upload {
  maxBytes: number;
}

export interface UploadedFile {
  bytes: Buffer;
  /** Name from the client, without a path. */
  fileName: string;
  /** Names of the other parts, which are not read. */
  otherParts: readonly string[];
}

/** Limit of every upload of the contract. */
export const UPLOAD: Upload = { maxBytes: 10 * 1024 * 1024 };

const FIELD = 'file';

/** Reads the one file of a request. The content type from the client is ignored: check the bytes. */
export async function readUpload(request: Request, { maxBytes }: Upload): Promise<UploadedFile> {
  const parser = openParser(request, maxBytes);
  const { promise, resolve, reject } = Promise.withResolvers<UploadedFile | undefined>();
  let uploaded: UploadedFile | undefined;
  const otherParts: string[] = [];

  parser.on('file', (field, stream, { filename }) => {
    // A form that ends inside its file fails this stream first.
    stream.on('error', (cause) => reject(malformed(cause)));
    if (field !== FIELD) {
      stream.resume();
      return reject(missing());
    }
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('limit', () => reject(tooLarge(maxBytes)));
    stream.on('end', () => {
      uploaded = { bytes: Buffer.concat(chunks), fileName: cleanFileName(filename), otherParts };
    });
  });
  parser.on('field', (name) => otherParts.push(name));
  parser.on('filesLimit', () => reject(new AppError('VALIDATION_ERROR', `${FIELD}: must be one file, not several`)));
  parser.on('partsLimit', () => reject(new AppError('VALIDATION_ERROR', 'body: has too many parts')));
  parser.on('error', (cause) => reject(malformed(cause)));
  parser.on('close', () => resolve(uploaded));
  request.on('close', () => {
    if (!request.complete) reject(aborted());
  });

  try {
    request.pipe(parser);
    const file = await promise;
    if (!file) throw missing();
    if (file.bytes.length === 0)
      throw new AppError('VALIDATION_ERROR', `${FIELD}: expected a file with content, received an empty one`);
    return file;
  } finally {
    // The rest of the request is read and dropped, so that the client can read the response.
    request.unpipe(parser);
    request.resume();
  }
}

function openParser(request: Request, maxBytes: number): busboy.Busboy {
  if (!request.is('multipart/form-data'))
    throw new AppError(
      'INVALID_REQUEST',
      `Content-Type: expected multipart/form-data with a file named "${FIELD}", received ${quote(request.get('content-type'))}`,
    );
  // The 64 kB are for the headers of the parts.
  if (Number(request.get('content-length') ?? 0) > maxBytes + 64 * 1024) throw tooLarge(maxBytes);
  try {
    return busboy({
      headers: request.headers,
      defParamCharset: 'utf8',
      // The parser reports a file of exactly this size as too large.
      limits: { files: 1, fileSize: maxBytes + 1, fields: 10, fieldSize: 1024, parts: 12 },
    });
  } catch (cause) {
    throw malformed(cause);
  }
}

function missing(): AppError {
  return new AppError('VALIDATION_ERROR', `${FIELD}: is required, as the one file of multipart/form-data`);
}

function tooLarge(maxBytes: number): AppError {
  return new AppError('PAYLOAD_TOO_LARGE', `${FIELD}: must not be larger than ${maxBytes / 1024 / 1024} MB`);
}

function aborted(): AppError {
  return new AppError('INVALID_REQUEST', 'The connection was closed before the whole file had arrived');
}

function malformed(cause: unknown): AppError {
  const reason = cause instanceof Error ? cause.message : '';
  if (reason.includes('Boundary not found'))
    return new AppError('INVALID_REQUEST', 'Content-Type: expected multipart/form-data with a boundary', { cause });
  const detail = reason.startsWith('Unexpected end') ? ': it ends too early' : '';
  return new AppError('INVALID_REQUEST', `The body is not valid multipart/form-data${detail}`, { cause });
}
