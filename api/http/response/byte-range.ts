import type { Request } from 'express';
import { AppError } from '#shared/core/errors.ts';
import type { ByteRange } from '#shared/datasources/files/store.ts';

/**
 * The range of bytes that a request asks for. Undefined is the whole file, also if the header is malformed, names several ranges or
 * is for another version of the file: RFC 9110 lets a server ignore it.
 */
export function rangeOf(request: Request, { size, etag }: { size: number; etag: string }): ByteRange | undefined {
  const condition = request.get('if-range');
  if (condition !== undefined && condition !== etag) return undefined;
  const ranges = request.range(size, { combine: true });
  if (ranges === -1) throw unsatisfiable(request, size);
  if (ranges === undefined || ranges === -2 || ranges.type !== 'bytes' || ranges.length > 1) return undefined;
  return ranges[0];
}

function unsatisfiable({ res }: Request, size: number): AppError {
  res?.set('content-range', `bytes */${size}`);
  return new AppError('INVALID_REQUEST', `Range: the file has ${size} bytes`, { status: 416 });
}
