import type { z } from 'zod';

/** Far beyond what anybody writes, and far below where Postgres, or one of our own recursions, gives up. */
const mostLevels = 200;

/** A refinement for whatever is stored or searched for: JSON allows a little more than Postgres keeps. */
export function storable(value: unknown, check: z.RefinementCtx): void {
  if (isDeeperThan(mostLevels, value)) check.addIssue({ code: 'custom', message: 'is nested too deeply' });
  // Only zero characters and halves of characters are written so; a backslash of the text itself is doubled.
  else if (unstorable.test(JSON.stringify(value) ?? ''))
    check.addIssue({ code: 'custom', message: 'text may not hold zero or broken characters' });
}

const unstorable = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

/** Level by level, because a recursion would end where it is to warn. */
function isDeeperThan(most: number, value: unknown): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > most) return true;
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []));
  }
  return false;
}
