import { createHash } from 'node:crypto';
import { AppError } from '#shared/core/errors.ts';
import type { QueryResult } from './connection.ts';

/** Name of the table of receipts, in the database of the datasource. */
export const RECEIPTS = 'gantry_receipt';
/** Longer than the time after which an attempt is repeated: minutes, or an outage of the service. */
export const RETENTION_DAYS = 30;
/** Expired receipts that are deleted after each new one, so that their number does not grow. */
export const DELETED_AT_ONCE = 10;
/** Limit of a stored result: that of the output of a node. */
const MAX_RESULT_BYTES = 5 * 1024 * 1024;
const MAX_SHOWN = 200;

/** Identity of an attempt in the table: a key of a fixed length, and the beginning of it for people. */
export function receiptOf(idempotencyKey: string): { key: string; shown: string } {
  const key = createHash('sha256').update(idempotencyKey).digest('hex');
  return { key, shown: idempotencyKey.slice(0, MAX_SHOWN).toWellFormed() };
}

/** The result as it is stored with the receipt. Thrown before the commit, its error undoes the statement. */
export function writeResult(result: QueryResult): string {
  const text = JSON.stringify(result);
  if (Buffer.byteLength(text) > MAX_RESULT_BYTES)
    throw new AppError(
      'OUTPUT_TOO_LARGE',
      `The result is larger than ${MAX_RESULT_BYTES / 1024 / 1024} MiB, which a receipt can hold; the statement was undone`,
    );
  return text;
}

/** The result of the attempt that left the receipt. */
export function readResult(text: string | null | undefined): QueryResult {
  if (typeof text === 'string') return JSON.parse(text) as QueryResult;
  // The receipt has no result if the statement has ended the transaction itself, as a procedure that commits does.
  throw new AppError(
    'CONFLICT',
    'An earlier attempt has begun the statement and left no result: whether it was completed is not known',
    { retry: false },
  );
}

/** Error because the table is missing and the datasource's account may not create it. */
export function cannotCreate(cause: unknown): AppError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new AppError(
    'DB_ERROR',
    `\`exactlyOnce\` needs the table ${RECEIPTS}, which the account of the datasource cannot create: ${why}`,
    { cause, retry: false },
  );
}
