import { TooDeep } from '../core/lossless-json.ts';
import { parseInPieces, TooManyKeys, TooManyParts } from '../core/parse-in-pieces.ts';
import {
  findUnstorable,
  MAX_KEYS,
  MAX_LEVELS,
  TOO_MANY_KEYS,
  TOO_MANY_PARTS,
  tooDeep,
  type Unstorable,
} from '../core/unstorable.ts';
import { runCooperatively } from './cooperative.ts';

/** The value of a long text, and the first place in it that is refused: Postgres cannot store it, or it is too deep or too wide. */
export interface Storable {
  value: unknown;
  unstorable: Unstorable | null;
}

/** Parses long JSON of a stranger, and looks in each piece for what cannot be stored, with pauses. Throws SyntaxError. */
export async function parseStorable(
  text: string,
  { maxLevels = MAX_LEVELS, maxParts = Number.POSITIVE_INFINITY } = {},
): Promise<Storable> {
  let unstorable: Unstorable | null = null;
  // Half a surrogate pair and NUL are written as escapes: bytes that are not UTF-8, and control characters, are refused.
  const hasEscapes = text.includes('\\u');
  const options = {
    // Stricter by one level than `findUnstorable`, which lets a list or an object at the limit be empty.
    maxLevels,
    maxKeys: MAX_KEYS,
    maxParts,
    ...(hasEscapes && {
      onPart({ members, path, offset }: { members: object; path: readonly string[]; offset: number }) {
        if (unstorable) return;
        const found = findUnstorable(members, maxLevels);
        const [first = '', ...rest] = found?.path ?? [];
        const own = Array.isArray(members) ? String(Number(first) + offset) : first;
        if (found) unstorable = { ...found, path: [...path, own, ...rest] };
      },
    }),
  };
  try {
    return { value: await runCooperatively(parseInPieces(text, options)), unstorable };
  } catch (error) {
    if (error instanceof TooDeep) return { value: null, unstorable: { path: [], message: tooDeep(maxLevels) } };
    if (error instanceof TooManyKeys) return { value: null, unstorable: { path: error.path, message: TOO_MANY_KEYS } };
    if (error instanceof TooManyParts) return { value: null, unstorable: { path: [], message: TOO_MANY_PARTS } };
    throw error;
  }
}
