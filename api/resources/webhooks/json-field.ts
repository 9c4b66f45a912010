import { isJsonObject, type Json } from '#shared/core/json.ts';

/** The value of a body of JSON; null if it is not JSON. */
export function jsonOf(body: Buffer): Json {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}

/** The text at a path such as `payload.challenge`. */
export function fieldOf(value: Json, path: string): string | undefined {
  let found: Json | undefined = value;
  for (const name of path.split('.'))
    found = isJsonObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  return typeof found === 'string' ? found : undefined;
}
