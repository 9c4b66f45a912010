import { runCooperatively } from '#shared/concurrency/cooperative.ts';
import { TooDeep } from '#shared/core/lossless-json.ts';
import { parseInPieces } from '#shared/core/parse-in-pieces.ts';
import { findUnstorable, MAX_LEVELS, TOO_DEEP, type Unstorable } from '#shared/core/unstorable.ts';

/** The value of a long body, and the first place in it that Postgres cannot store. */
export interface ParsedBody {
  value: unknown;
  unstorable: Unstorable | null;
}

/** Parses a long body, and looks in each piece for what cannot be stored, with pauses. */
export async function parseLongBody(text: string): Promise<ParsedBody> {
  let unstorable: Unstorable | null = null;
  // Half a surrogate pair and NUL are written as escapes: bytes that are not UTF-8, and control characters, are refused.
  const hasEscapes = text.includes('\\u');
  const options = {
    // Stricter by one level than `findUnstorable`, which lets a list or an object at the limit be empty.
    maxLevels: MAX_LEVELS,
    ...(hasEscapes && {
      onPart({ members, path, offset }: { members: object; path: readonly string[]; offset: number }) {
        if (unstorable) return;
        const found = findUnstorable(members);
        const [first = '', ...rest] = found?.path ?? [];
        const own = Array.isArray(members) ? String(Number(first) + offset) : first;
        if (found) unstorable = { ...found, path: [...path, own, ...rest] };
      },
    }),
  };
  try {
    return { value: await runCooperatively(parseInPieces(text, options)), unstorable };
  } catch (error) {
    if (error instanceof TooDeep) return { value: null, unstorable: { path: [], message: TOO_DEEP } };
    throw error;
  }
}
