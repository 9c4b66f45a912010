import type { Json } from '../core/json.ts';
import { MAX_LEVELS, quotingLossy, readJSON } from '../core/lossless-json.ts';
import { parseInPieces } from '../core/parse-in-pieces.ts';
import { runCooperatively } from './cooperative.ts';

/** Shorter texts are parsed at once: that takes 10 ms at the most. */
export const LONG = 200_000;

/** Parses JSON of any length, with pauses if it is long. */
export async function parseJSON(text: string): Promise<unknown> {
  return text.length > LONG ? await runCooperatively(parseInPieces(text)) : JSON.parse(text);
}

/** `readJSON` of a text of any length, with pauses if it is long. */
export async function readLongJSON(text: string, maxLevels = MAX_LEVELS): Promise<Json> {
  if (text.length <= LONG) return readJSON(text, maxLevels);
  const quoted = await runCooperatively(quotingLossy(text));
  // Safe: it makes nothing but JSON.
  return (await runCooperatively(parseInPieces(quoted, { maxLevels }))) as Json;
}
