import { composed } from '#shared/concurrency/write-json.ts';
import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import { isDeeper } from '#shared/core/lossless-json.ts';
import { unstorableEscape } from '#shared/db/storable.ts';

const MAX_DEPTH = 200;

/** Converts an output to JSON text and checks that Postgres accepts it: a refused row would stop a whole batch. */
export function outputText(output: JsonObject, maxBytes: number): string {
  const known = composed(output);
  let text: string;
  try {
    text = known?.text ?? JSON.stringify(output);
  } catch (error) {
    throw new AppError('INVALID_OUTPUT', `The output is not JSON: ${(error as Error).message}`, { retry: false });
  }
  if (text.length > maxBytes || (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes))
    throw new AppError(
      'OUTPUT_TOO_LARGE',
      `The output is larger than the limit of ${maxBytes} bytes (NODE_OUTPUT_MAX_BYTES)`,
    );
  const found = unstorableEscape(text);
  if (found === '0000')
    throw new AppError('INVALID_OUTPUT', 'The output contains a NUL character, which cannot be stored');
  if (found) throw new AppError('INVALID_OUTPUT', 'The output contains half of a surrogate pair, which is not text');
  if (known ? known.levels > MAX_DEPTH : isDeeper(text, MAX_DEPTH))
    throw new AppError('INVALID_OUTPUT', `The output is nested deeper than ${MAX_DEPTH} levels`);
  return text;
}
