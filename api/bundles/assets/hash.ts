import { createHash } from 'node:crypto';
import { runCooperatively } from '#shared/concurrency/cooperative.ts';
import { isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';

/** A hash of a value; the order of keys makes no difference. */
export async function hashOf(value: Json): Promise<string> {
  const parts: string[] = [];
  const digest = createHash('sha256');
  const flush = () => digest.update(parts.splice(0).join(''));
  await runCooperatively(write(value, parts, flush));
  flush();
  return digest.digest('hex');
}

function* write(value: Json, parts: string[], flush: () => void): Generator<void, void> {
  if (parts.length >= 1_000) {
    flush();
    yield;
  }
  if (Array.isArray(value)) {
    parts.push('[');
    for (const item of value) {
      yield* write(item, parts, flush);
      parts.push(',');
    }
    parts.push(']');
  } else if (isJsonObject(value)) {
    parts.push('{');
    for (const key of Object.keys(value).sort()) {
      parts.push(JSON.stringify(key), ':');
      yield* write(value[key] ?? null, parts, flush);
      parts.push(',');
    }
    parts.push('}');
  } else parts.push(JSON.stringify(value));
}

/** Sorts the keys inside each field, so that the order in which a client has sent them makes no difference. */
export async function sorted(payload: JsonObject): Promise<JsonObject> {
  const done: [string, Json][] = [];
  for (const [field, value] of Object.entries(payload)) done.push([field, await runCooperatively(inKeyOrder(value))]);
  return Object.fromEntries(done);
}

function* inKeyOrder(value: Json): Generator<void, Json> {
  if (Array.isArray(value)) {
    const items: Json[] = [];
    for (const item of value) items.push(yield* inKeyOrder(item));
    yield;
    return items;
  }
  if (!isJsonObject(value)) return value;
  const entries: [string, Json][] = [];
  for (const key of Object.keys(value).sort()) entries.push([key, yield* inKeyOrder(value[key] ?? null)]);
  yield;
  return Object.fromEntries(entries);
}
