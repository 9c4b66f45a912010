import type { Reservation } from '#shared/concurrency/memory-budget.ts';
import { AppError } from '#shared/core/errors.ts';
import type { Request } from '../../http/route/route.ts';

/** Copies of a body in memory at once: the body, the values of the statement, and the statement. */
const COPIES = 3;

/**
 * Reads the bytes of a body as they were sent, which is what a signature is about. Memory is reserved before they are read, so that many
 * deliveries at once cannot fill it.
 */
export async function readRawBody(
  request: Request,
  { maxBytes, reserved }: { maxBytes: number; reserved: Reservation },
): Promise<Buffer> {
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

/** Undefined if it is not known before the end. */
function lengthOf({ headers }: Request): number | undefined {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    throw new AppError('INVALID_REQUEST', `Content-Encoding: bodies are not decompressed, received ${encoding}`, {
      status: 415,
    });
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : undefined;
}

function tooLarge(maxBytes: number): AppError {
  return new AppError('PAYLOAD_TOO_LARGE', `The body is larger than the ${maxBytes} bytes that this listener takes`);
}
