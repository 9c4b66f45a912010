import { isJsonObject, type JsonObject } from '#shared/core/json.ts';
import type { LargeOutput } from '#shared/messaging/realtime/run-events.ts';
import type { PendingEvent } from './pending-commit.ts';

/**
 * Outputs of so many characters leave the memory of the run when they are committed. A shorter one costs less in memory than the
 * statement that would read it again.
 */
export const LARGE_LENGTH = 64 * 1024;
/** Characters of an output that its row shows without it. */
const PREVIEW_LENGTH = 200;
/** An output that sets more keys stays with the run: a row without the output has to name them. */
const MAX_KEYS = 500;

/** The description of a large output in its row; null for another output. `patch`: what the output adds to `ctx`. */
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

/** JSON text of the payload of an event with a large output, without the output; null of another event. */
export function briefOf({ payload, source }: Pick<PendingEvent, 'payload' | 'source'>): string | null {
  if (!payload || !source?.large) return null;
  const end = FIELD.length + source.length;
  // A pair of two halves may be cut apart.
  const preview = payload.slice(FIELD.length, FIELD.length + PREVIEW_LENGTH).toWellFormed();
  return `{"large":${JSON.stringify({ ...source.large, preview })}${payload.slice(end)}`;
}
