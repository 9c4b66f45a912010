import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import type { Path } from '#shared/core/schema/issues.ts';
import { MASK } from '#shared/core/schema/secret.ts';

/** Shows secrets that no import has brought with the mask of stored ones, so that an export is the same in every tenant. */
export function withMissing(payload: JsonObject, missing: readonly Path[] = []): JsonObject {
  if (missing.length === 0) return payload;
  const copy = structuredClone(payload);
  for (const path of missing) {
    const parent = path.slice(0, -1).reduce<Json | undefined>((at, key) => childOf(at, key), copy);
    const last = path.at(-1);
    if (last !== undefined && isContainer(parent) && !childOf(parent, last)) Reflect.set(parent, last, MASK);
  }
  return copy;
}

function childOf(value: Json | undefined, key: string | number): Json | undefined {
  return isContainer(value) && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}

function isContainer(value: Json | undefined): value is Json[] | JsonObject {
  return Array.isArray(value) || isJsonObject(value);
}
