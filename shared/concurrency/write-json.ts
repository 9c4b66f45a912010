import { hasMoreParts, type Json, type JsonObject } from '../core/json.ts';
import { runCooperatively } from './cooperative.ts';

/** Elements and fields that are written at once: a millisecond. */
const FEW = 2_000;
const CHUNK = 200;

const written = new WeakMap<JsonObject, string>();

/** Characters of a text that is kept: shorter ones are written again as fast. */
const LONG = 20_000;

/** Writes an object as JSON, with pauses if it has very many parts, and keeps the text for `textOf`. The object must not change any more. */
export async function writeJSON(value: JsonObject): Promise<string> {
  const text = await runCooperatively(writing(value));
  if (text.length > LONG) written.set(value, text);
  return text;
}

/** The text that `writeJSON` has kept, or one that is written now. */
export function textOf(value: JsonObject): string {
  return written.get(value) ?? JSON.stringify(value);
}

/** The JSON of a value, in steps of about a millisecond. To list the keys of a very large object takes one step, of 15 ms for 100,000. */
export function* writing(value: Json): Generator<void, string> {
  if (!hasMoreParts(value, FEW)) return JSON.stringify(value);
  yield;
  // Safe: only lists and objects have parts.
  return Array.isArray(value) ? yield* writingList(value) : yield* writingObject(value as JsonObject);
}

function* writingList(list: readonly Json[]): Generator<void, string> {
  const parts: string[] = [];
  for (let from = 0; from < list.length; from += CHUNK) {
    const chunk = list.slice(from, from + CHUNK);
    const isLarge = hasMoreParts(chunk, FEW);
    yield;
    if (isLarge) for (const element of chunk) parts.push(yield* writing(element));
    else parts.push(JSON.stringify(chunk).slice(1, -1));
  }
  return `[${parts.join(',')}]`;
}

function* writingObject(object: JsonObject): Generator<void, string> {
  const parts: string[] = [];
  const keys = Object.keys(object);
  yield;
  for (const key of keys) {
    const field = object[key];
    if (field === undefined) continue;
    // Most fields are small, and a generator for each would take ten times as long.
    const text = hasMoreParts(field, FEW) ? yield* writing(field) : JSON.stringify(field);
    parts.push(`${JSON.stringify(key)}:${text}`);
    if (parts.length % CHUNK === 0) yield;
  }
  return `{${parts.join(',')}}`;
}
