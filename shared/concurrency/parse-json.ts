import { parseInPieces } from '../core/parse-in-pieces.ts';
import { runCooperatively } from './cooperative.ts';

/** Shorter texts are parsed at once: that takes 10 ms at the most. */
const LONG = 200_000;

/** Parses JSON of any length, with pauses if it is long. */
export async function parseJSON(text: string): Promise<unknown> {
  return text.length > LONG ? await runCooperatively(parseInPieces(text)) : JSON.parse(text);
}
