import type { Json, JsonObject } from '#shared/core/json.ts';
import { formsOf, maskForms } from '../datasources/http/status.ts';

/** Masks secrets in the answer of a server: some servers repeat what they were sent. */
export function maskOutput(output: JsonObject, secrets: readonly string[]): JsonObject {
  const forms = formsOf(secrets);
  // Few answers repeat a secret, and copying a large answer takes longer than searching its text.
  if (forms.length === 0 || !isIn(JSON.stringify(output), forms)) return output;
  // Safe: an object is masked to an object.
  return mask(output, forms) as JsonObject;
}

function isIn(text: string, forms: readonly string[]): boolean {
  return forms.some((form) => text.includes(JSON.stringify(form).slice(1, -1)));
}

function mask(value: Json, forms: readonly string[]): Json {
  if (typeof value === 'string') return maskForms(value, forms);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => mask(item, forms));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [maskForms(key, forms), mask(item, forms)]));
}
