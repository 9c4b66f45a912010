import { parseJSON } from '#shared/concurrency/parse-json.ts';
import { isJsonObject, type Json } from '#shared/core/json.ts';

/** No provider sends a longer handshake. A stranger might, and to parse five megabytes holds the event loop for half a second. */
const MAX_HANDSHAKE = 20_000;

/** The value of a body of JSON that may be a handshake; null if it is not JSON, or too long for one. */
export function jsonOf(body: Buffer): Json {
  if (body.length > MAX_HANDSHAKE) return null;
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}

/** The text at a path of a body of JSON of any length. */
export async function readField(body: Buffer, path: string): Promise<string | undefined> {
  try {
    // Safe: JSON has nothing else.
    return fieldOf((await parseJSON(body.toString('utf8'))) as Json, path);
  } catch {
    return undefined;
  }
}

/** The text at a path such as `payload.challenge`. */
export function fieldOf(value: Json, path: string): string | undefined {
  let found: Json | undefined = value;
  for (const name of path.split('.'))
    found = isJsonObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  return typeof found === 'string' ? found : undefined;
}
