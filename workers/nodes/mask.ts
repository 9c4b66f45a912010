import type { Json, JsonObject } from '#shared/json.ts';
import { maskIn } from '../http/status.ts';

/** Masks secrets that were sent in what a server answered: some servers repeat what they receive. */
export function maskOutput(output: JsonObject, secrets: readonly string[]): JsonObject {
  // Safe: an object is masked to an object.
  return secrets.length === 0 ? output : (mask(output, secrets) as JsonObject);
}

function mask(value: Json, secrets: readonly string[]): Json {
  if (typeof value === 'string') return maskIn(value, secrets);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => mask(item, secrets));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [maskIn(key, secrets), mask(item, secrets)]));
}
