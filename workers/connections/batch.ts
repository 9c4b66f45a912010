import { AppError } from '#shared/errors.ts';
import type { Json } from '#shared/json.ts';

/** Below what a worker can send as an answer: a message that was taken from a server must also arrive. */
export const MOST_BYTES = 12_000_000;

/** Messages for one answer. */
export interface Batch {
  readonly rows: Json[];
  /** False: it was not taken, because the answer would be too large with it. */
  add(row: Json): boolean;
}

export function createBatch(): Batch {
  const rows: Json[] = [];
  let bytes = 0;
  return {
    rows,
    add(row) {
      const size = Buffer.byteLength(JSON.stringify(row));
      if (size > MOST_BYTES) throw tooLarge();
      if (bytes + size > MOST_BYTES) return false;
      bytes += size;
      rows.push(row);
      return true;
    },
  };
}

export function tooLarge(): AppError {
  return new AppError('PAYLOAD_TOO_LARGE', `A message is larger than ${MOST_BYTES / 1_000_000} MB and is not read`);
}
