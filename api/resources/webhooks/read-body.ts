import type { Reservation } from '#shared/concurrency/memory-budget.ts';
import { CannotDecompress, codingsOf, decompress } from '#shared/core/decompress.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Request } from '../../http/route/route.ts';

/** Copies of a body in memory at once: the body, the values of the statement, and the statement. */
const COPIES = 3;

interface Limits {
  /** Limit of the body, as it was sent and as it was before it was compressed. */
  maxBytes: number;
  reserved: Reservation;
}

/**
 * Reads the bytes of a body as they were sent, which is what a signature is about. Memory is reserved before they are read, so that many
 * deliveries at once cannot fill it.
 */
export async function readRawBody(request: Request, { maxBytes, reserved }: Limits): Promise<Buffer> {
  requireCodings(request);
  const length = lengthOf(request);
  if (length === 0) return Buffer.alloc(0);
  if (length !== undefined && length > maxBytes) throw tooLarge(maxBytes);
  if (length !== undefined) await reserved.reserve(COPIES * length);
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of request as AsyncIterable<Buffer>) {
      bytes += part.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      if (length === undefined) await reserved.reserve(COPIES * part.length);
      parts.push(part);
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('INVALID_REQUEST', 'The connection ended before the body did', { cause: error });
  }
  return parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts);
}

/** The body as it was before its sender compressed it. */
export async function decompressBody(
  { headers }: Request,
  sent: Buffer,
  { maxBytes, reserved }: Limits,
): Promise<Buffer> {
  try {
    const reserve = (bytes: number) => reserved.reserve(COPIES * bytes);
    return await decompress(sent, codingsOf(headers['content-encoding']), { maxBytes, reserve });
  } catch (error) {
    throw faultOf(error, maxBytes);
  }
}

/** A coding that is not known is refused before the body is read. */
function requireCodings({ headers }: Request): void {
  try {
    codingsOf(headers['content-encoding']);
  } catch (error) {
    throw faultOf(error, 0);
  }
}

function faultOf(error: unknown, maxBytes: number): unknown {
  if (!(error instanceof CannotDecompress)) return error;
  if (error.reason === 'too-large') return tooLarge(maxBytes);
  if (error.reason === 'broken') return new AppError('INVALID_REQUEST', `The body ${error.message}`, { cause: error });
  return new AppError('INVALID_REQUEST', `Content-Encoding: ${error.message}`, { status: 415 });
}

/** Undefined if it is not known before the end. */
function lengthOf({ headers }: Request): number | undefined {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : undefined;
}

function tooLarge(maxBytes: number): AppError {
  return new AppError('PAYLOAD_TOO_LARGE', `The body is larger than the ${maxBytes} bytes that this listener takes`);
}
