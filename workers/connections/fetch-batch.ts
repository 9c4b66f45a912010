import { AppError } from '#shared/core/errors.ts';
import type { Json } from '#shared/core/json.ts';

/** Smaller than the largest answer of a worker, because a message that was removed from a queue must reach the client. */
const MAX_BATCH_BYTES = 12_000_000;

/** Messages for one answer. */
export interface Batch {
  readonly rows: Json[];
  /** False if the row was not added, because the answer would become too large. */
  add(row: Json): boolean;
}

export function createBatch(): Batch {
  const rows: Json[] = [];
  let bytes = 0;
  return {
    rows,
    add(row) {
      const size = Buffer.byteLength(JSON.stringify(row));
      if (size > MAX_BATCH_BYTES) throw tooLarge();
      if (bytes + size > MAX_BATCH_BYTES) return false;
      bytes += size;
      rows.push(row);
      return true;
    },
  };
}

export function tooLarge(): AppError {
  return new AppError(
    'PAYLOAD_TOO_LARGE',
    `A message is larger than ${MAX_BATCH_BYTES / 1_000_000} MB and is not read`,
  );
}
