import type { Json, JsonObject } from '../core/json.ts';
import { levelsIn } from '../core/lossless-json.ts';
import { runCooperatively, runSync, yieldToEventLoop } from './cooperative.ts';

/** How many elements and fields a value has, and how many characters its texts have. */
interface Size {
  parts: number;
  characters: number;
}

/** The size that is written at once: a millisecond. */
const SMALL: Size = { parts: 2_000, characters: 200_000 };
const CHUNK = 200;
/** Characters of a long text that are written at once. */
const PIECE = 100_000;

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
  if (!isLarger(value, SMALL)) return JSON.stringify(value);
  yield;
  if (typeof value === 'string') return yield* writingText(value);
  // Safe: only lists and objects have parts.
  return Array.isArray(value) ? yield* writingList(value) : yield* writingObject(value as JsonObject);
}

function* writingText(text: string): Generator<void, string> {
  const parts: string[] = [];
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = from + PIECE;
    // A surrogate pair that is cut in two would be written as two escapes.
    if (to < text.length && isHighSurrogate(text.charCodeAt(to - 1))) to += 1;
    parts.push(JSON.stringify(text.slice(from, to)).slice(1, -1));
    yield;
  }
  return `"${parts.join('')}"`;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function* writingList(list: readonly Json[]): Generator<void, string> {
  const parts: string[] = [];
  for (let from = 0; from < list.length; from += CHUNK) {
    const chunk = list.slice(from, from + CHUNK);
    const isLarge = isLarger(chunk, SMALL);
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
    const text = isLarger(field, SMALL) ? yield* writing(field) : JSON.stringify(field);
    parts.push(`${JSON.stringify(key)}:${text}`);
    if (parts.length % CHUNK === 0) yield;
  }
  return `{${parts.join(',')}}`;
}

/** A list or object that is larger is written by `writeLargeParts`. */
const LARGE: Size = { parts: 10_000, characters: 250_000 };
/** Objects with more fields, or deeper in a value, are not searched for large parts. */
const SEARCHED = { fields: 50, levels: 4 };

interface Written {
  text: string;
  /** How many lists and objects lie within each other. */
  levels: number;
}

const parts = new WeakMap<object, Written>();

/**
 * Writes the large lists and objects in a value with pauses, and keeps their texts for `composed`. They must not change any more.
 * Returns whether there are any.
 */
export async function writeLargeParts(value: Json, level = 0): Promise<boolean> {
  if (typeof value !== 'object' || value === null) return false;
  if (parts.has(value)) return true;
  // To list the keys of a very large object takes as long as a time slice.
  const { length } = Array.isArray(value) ? value : Object.keys(value);
  if (length > LARGE.parts) await yieldToEventLoop();
  else if (!isLarger(value, LARGE)) return false;
  if (length <= SEARCHED.fields && (await writeFields(value, level))) return true;
  const text = await runCooperatively(writing(value));
  parts.set(value, { text, levels: await runCooperatively(levelsIn(text)) });
  return true;
}

/** Writes the large fields of an object. Returns whether the others are so small that `composed` can write them. */
async function writeFields(value: object, level: number): Promise<boolean> {
  const others: Json[] = [];
  for (const key of searchedKeys(value, level) ?? []) {
    const field: Json | undefined = Reflect.get(value, key);
    if (field !== undefined && !(await writeLargeParts(field, level + 1))) others.push(field);
  }
  return searchedKeys(value, level) !== null && !isLarger(others, LARGE);
}

/** The JSON of a value, put together from the texts of large parts that `writeLargeParts` has kept. Undefined: it has none. */
export function composed(value: Json, level = 0): Written | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const whole = parts.get(value);
  const keys = whole ? null : searchedKeys(value, level);
  if (!keys) return whole;
  const found = new Map<string, Written>();
  for (const key of keys) {
    const field = composed(Reflect.get(value, key), level + 1);
    if (field) found.set(key, field);
  }
  return found.size > 0 ? assemble(value, { keys, found }) : undefined;
}

function assemble(
  value: object,
  { keys, found }: { keys: readonly string[]; found: ReadonlyMap<string, Written> },
): Written {
  let text = '';
  let levels = 0;
  for (const key of keys) {
    const field = found.get(key) ?? writtenNow(Reflect.get(value, key));
    if (!field) continue;
    text += `${text && ','}${JSON.stringify(key)}:${field.text}`;
    levels = Math.max(levels, field.levels);
  }
  return { text: `{${text}}`, levels: levels + 1 };
}

function writtenNow(value: Json | undefined): Written | undefined {
  if (value === undefined) return undefined;
  const text = JSON.stringify(value);
  return { text, levels: runSync(levelsIn(text)) };
}

function searchedKeys(value: object, level: number): string[] | null {
  if (Array.isArray(value) || level >= SEARCHED.levels) return null;
  const keys = Object.keys(value);
  return keys.length <= SEARCHED.fields ? keys : null;
}

/** The JSON of a value, with such texts for its large parts. */
export function jsonOf(value: Json): string {
  return composed(value)?.text ?? JSON.stringify(value);
}

/** Whether the lists and objects in a value have more elements and fields, or its texts more characters. Stops early. */
function isLarger(value: Json, most: Size): boolean {
  let { parts, characters } = most;
  const left: unknown[] = [value];
  while (left.length > 0 && parts >= 0 && characters >= 0) {
    const part = left.pop();
    if (typeof part === 'string') characters -= part.length;
    if (typeof part !== 'object' || part === null) continue;
    // Counts the keys before it reads the values: for a large object, keys take a third of the time of values.
    const keys = Array.isArray(part) ? part : Object.keys(part);
    parts -= keys.length;
    if (parts >= 0) left.push(...(Array.isArray(part) ? part : Object.values(part)));
  }
  return parts < 0 || characters < 0;
}
