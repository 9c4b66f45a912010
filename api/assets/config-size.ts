import type { JsonObject } from '#shared/core/json.ts';
import { invalid } from '#shared/core/schema/issues.ts';

/** Small enough that the 50 actions of a listener can be read together. */
const MAX_BYTES = 256 * 1024;

/** A config as it is stored. Rejects one that is too large to be read with the others of a page, or of a listener. */
export function asStoredConfig(config: unknown, path: readonly (string | number)[], maxBytes = MAX_BYTES): JsonObject {
  const text = JSON.stringify(config);
  const bytes = Buffer.byteLength(text);
  const message = `expected at most ${maxBytes} bytes of JSON, received ${bytes}`;
  if (bytes > maxBytes) throw invalid([{ path: [...path], message }]);
  // Schemas of configs turn JSON into JSON; serializing has dropped undefined fields.
  return JSON.parse(text);
}
