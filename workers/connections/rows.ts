import { setImmediate } from 'node:timers/promises';
import type { Json, JsonObject } from '#shared/core/json.ts';
import { readJSON, TooDeep } from '#shared/core/lossless-json.ts';

/** Bytes of one answer that are read; a longer answer is cut like one with too many rows. */
export const MAX_READ_BYTES = 64 * 1024 * 1024;

/** Makes the names of columns unique, so that none hides another: `id`, `id_2`. */
export function columnKeys(names: readonly string[]): string[] {
  const taken = new Set(names);
  const seen = new Set<string>();
  return names.map((name) => {
    let key = name;
    for (let n = 2; seen.has(key); n += 1) {
      const other = `${name}_${n}`;
      if (!taken.has(other) || seen.has(other)) key = other;
    }
    seen.add(key);
    return key;
  });
}

/** Makes an object from pairs, so that a column called `__proto__` is an ordinary field. */
export function rowOf(keys: readonly string[], values: readonly Json[]): JsonObject {
  return Object.fromEntries(keys.map((key, index) => [key, values[index] ?? null]));
}

const CHUNK_ROWS = 5_000;

/** Converts rows in parts, and lets other work of the event loop run in between. */
export async function convertInParts<Raw, Row>(
  rows: readonly Raw[],
  convert: (part: readonly Raw[]) => readonly Row[],
): Promise<Row[]> {
  const converted: Row[] = [];
  for (let at = 0; at < rows.length; at += CHUNK_ROWS) {
    if (at > 0) await setImmediate();
    for (const row of convert(rows.slice(at, at + CHUNK_ROWS))) converted.push(row);
  }
  return converted;
}

/** Parses a JSON value of a database. Numbers that a double cannot hold become texts, and so does a value of very many levels. */
export function parseJson(text: string): Json {
  try {
    return readJSON(text);
  } catch (error) {
    if (error instanceof TooDeep) return text;
    throw error;
  }
}

/** A double as JSON; Infinity and NaN become texts. */
export function numberOrText(value: number): number | string {
  return Number.isFinite(value) ? value : String(value);
}
