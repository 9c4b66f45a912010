import { AppError } from '#shared/errors.ts';
import type { JsonObject } from '#shared/json.ts';

const MAX_DEPTH = 200;

/** Converts an output to JSON text and checks that Postgres accepts it: a refused row would stop a whole batch. */
export function outputText(output: JsonObject, maxBytes: number): string {
  let text: string;
  try {
    text = JSON.stringify(output);
  } catch (error) {
    throw new AppError('INVALID_OUTPUT', `The output is not JSON: ${(error as Error).message}`, { retry: false });
  }
  if (text.length > maxBytes || (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes))
    throw new AppError('OUTPUT_TOO_LARGE', `The output is larger than the limit of ${maxBytes} bytes`);
  // JSON.stringify writes NUL and half pairs as \u escapes. Most texts have no escape and need no further check.
  if (text.includes('\\u')) checkText(output);
  if (text.length > 2 * MAX_DEPTH && depthOf(text) > MAX_DEPTH)
    throw new AppError('INVALID_OUTPUT', `The output is nested deeper than ${MAX_DEPTH} levels`);
  return text;
}

function checkText(value: unknown): void {
  if (typeof value === 'string') {
    if (value.includes('\u0000'))
      throw new AppError('INVALID_OUTPUT', 'The output contains a NUL character, which cannot be stored');
    if (!value.isWellFormed())
      throw new AppError('INVALID_OUTPUT', 'The output contains half of a surrogate pair, which is not text');
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      checkText(key);
      checkText(item);
    }
  }
}

/** Depth of brackets outside of strings. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const bracket of text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').match(/[[\]{}]/g) ?? []) {
    depth += bracket === '{' || bracket === '[' ? 1 : -1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}
