import { isJsonObject, type JsonObject } from '#shared/core/json.ts';
import { type LargeOutput, MAX_INLINE_LENGTH } from '#shared/messaging/realtime/run-events.ts';
import type { PendingEvent } from './pending-commit.ts';

/**
 * Outputs with at least this many characters are offloaded from the memory of the run when they are committed. To keep a shorter one in
 * memory costs less than the statement that would read it again.
 */
export const LARGE_LENGTH = 64 * 1024;
/** Characters at the beginning of a large output that its description repeats. */
const PREVIEW_LENGTH = 200;
/** An output that sets more keys stays in memory: its description would have to name them all. */
const MAX_KEYS = 500;

/** The description of a large output for its row; null if it sets too many keys. `patch`: what the output adds to `ctx`. */
export function largeOf(
  config: unknown,
  patch: JsonObject | null,
  length: number,
): Omit<LargeOutput, 'preview'> | null {
  const keys = Object.keys(patch ?? {});
  if (keys.length > MAX_KEYS) return null;
  const name = isJsonObject(config) ? config.outputVariable : undefined;
  return { length, name: typeof name === 'string' && keys.length > 0 ? name : null, keys };
}

const FIELD = '{"output":';

/** JSON text of a payload without its output, if clients do not get one of this length; null if they do, or the payload does not begin with it. */
export function withoutLongOutput(payload: string | null, length: number): string | null {
  if (length <= MAX_INLINE_LENGTH || !payload?.startsWith(FIELD)) return null;
  return `${FIELD}null${payload.slice(FIELD.length + length)}`;
}

/** JSON text of the payload of an event with the description of its large output in place of the output; null for other events. */
export function briefOf({ payload, source }: Pick<PendingEvent, 'payload' | 'source'>): string | null {
  if (!payload || !source?.large) return null;
  const end = FIELD.length + source.length;
  // The cut may leave half of a surrogate pair.
  const preview = payload.slice(FIELD.length, FIELD.length + PREVIEW_LENGTH).toWellFormed();
  return `{"large":${JSON.stringify({ ...source.large, preview })}${payload.slice(end)}`;
}
