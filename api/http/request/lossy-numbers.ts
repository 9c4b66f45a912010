import { yieldToEventLoop } from '#shared/concurrency/cooperative.ts';
import { describeLossy, hasLongNumber, JSONScanner } from '#shared/core/lossless-json.ts';

/** Characters that are scanned in one turn of the event loop: 5 ms while the loop is not compiled yet, 1 to 3 ms later. */
const SLICE = 400_000;
/** A number that may be lossy is found in one of two slices that share so many characters. */
const OVERLAP = 32;

/**
 * Finds the first number of a JSON text that a double does not hold, and describes the fault: it would be stored as another number, or
 * as null. A reviver of `JSON.parse` could do this ten times slower.
 */
export async function findLossyNumber(json: string): Promise<string | undefined> {
  // The parser has just used this turn of the event loop for the same text.
  if (json.length > SLICE) await yieldToEventLoop();
  if (!(await mayBeLossy(json))) return undefined;
  const scanner = new JSONScanner(json);
  for (let stop = SLICE; !scanner.isAtEnd; stop += SLICE) {
    if (json.length > SLICE) await yieldToEventLoop();
    const found = scanner.next(stop);
    if (found) return describeLossy(scanner, found);
  }
  return undefined;
}

async function mayBeLossy(json: string): Promise<boolean> {
  for (let from = 0; from < json.length; from += SLICE) {
    if (from > 0) await yieldToEventLoop();
    if (hasLongNumber(json, Math.max(0, from - OVERLAP), Math.min(from + SLICE, json.length))) return true;
  }
  return false;
}
