import { LRUCache } from 'lru-cache';
import { AppError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { asText, compileTemplate, type Expression, type Template } from './expressions.ts';

/** Parses a text; undefined if it contains no template. */
export function findTemplate(text: string): Template | undefined {
  const open = text.indexOf('{{');
  if (open < 0) return undefined;
  if (text.length > maxCachedLength) return compileTemplate(text, open);

  let compiled = cache.get(text);
  if (compiled === undefined) {
    compiled = { template: compileTemplate(text, open) };
    cache.set(text, compiled);
  }
  return compiled.template;
}

// Limits in number and length, so that texts of tenants cannot fill the memory.
const maxCached = 2_000;
const maxCachedLength = 2_000;
const cache = new LRUCache<string, { template: Template | undefined }>({ max: maxCached });

/** Characters of a text with its values filled in, or of the values of one config. Otherwise a small text could insert gigabytes. */
const MAX_FILLED = 50_000_000;

/** Builds a text from literal parts and inserted values. A value that is inserted several times is converted to text once. */
export class Filled {
  text = '';
  readonly #written = new Map<Write, Map<Json | undefined, string>>();

  add(text: string): void {
    this.text += text;
    if (this.text.length > MAX_FILLED) throw tooLong();
  }

  insert(value: Json | undefined, write: Write = asText): void {
    const known = this.#written.get(write) ?? new Map<Json | undefined, string>();
    this.#written.set(write, known);
    const text = known.get(value) ?? write(value);
    known.set(value, text);
    this.add(text);
  }
}

type Write = (value: Json | undefined) => string;

/** Joins the parts of a text, with the values of its expressions. */
export function fillParts(
  parts: Template['parts'],
  find: (expression: Expression) => Json | undefined,
  write?: Write,
): string {
  const filled = new Filled();
  for (const part of parts) {
    if (typeof part === 'string') filled.add(part);
    else filled.insert(find(part), write);
  }
  return filled.text;
}

/** Limits the characters of values that fields with one whole template insert, for values that are inserted more than once. */
export function createFilling(): { count(value: Json | undefined): void } {
  const sizes = new Map<object, number>();
  let total = 0;
  return {
    count(value) {
      if (typeof value !== 'object' || value === null) return;
      const known = sizes.get(value);
      // Most values are inserted once, and are not worth measuring.
      if (known === undefined) return void sizes.set(value, 0);
      const size = known || JSON.stringify(value).length;
      sizes.set(value, size);
      total += size;
      if (total > MAX_FILLED) throw tooLong();
    },
  };
}

function tooLong(): AppError {
  const limit = MAX_FILLED / 1_000_000;
  return new AppError(
    'PAYLOAD_TOO_LARGE',
    `Templates insert more than ${limit} million characters: insert a value once`,
  );
}

/** A string of a value, with its path and its template, if it has one. */
export interface Text {
  path: (string | number)[];
  text: string;
  template: Template | undefined;
}

/**
 * Returns the strings of a value that are wanted, except in the top-level fields named in `raw`. A value may have a million strings, and
 * each that is returned costs as much as parsing ten.
 */
export function textsOf(
  value: Json,
  raw: readonly string[] = [],
  isWanted: (text: string) => boolean = () => true,
): Text[] {
  const found: Text[] = [];
  const path: (string | number)[] = [];
  const take = (text: string) => {
    if (isWanted(text)) found.push({ path: [...path], text, template: findTemplate(text) });
  };
  const visit = (part: Json) => {
    if (typeof part === 'string') return take(part);
    if (typeof part !== 'object' || part === null) return;
    // `Object.keys` of a list with a million items would create a million strings.
    if (Array.isArray(part)) for (const [index, item] of part.entries()) visitAt(index, item);
    else for (const key of keysToRead(part)) visitAt(key, part[key] ?? null);
  };
  const keysToRead = (part: JsonObject) =>
    path.length > 0 ? Object.keys(part) : Object.keys(part).filter((key) => !raw.includes(key));
  const visitAt = (key: string | number, item: Json) => {
    if (item === null || typeof item === 'number' || typeof item === 'boolean') return;
    path.push(key);
    visit(item);
    path.pop();
  };
  visit(value);
  return found;
}
