import { LRUCache } from 'lru-cache';
import { AppError } from '../../core/errors.ts';
import type { Json, JsonObject } from '../../core/json.ts';
import { isUnreadable } from '../reserved.ts';

/** The text between `{{` and `}}`: a path of own properties. With a fault its value is always undefined. */
export interface Expression {
  readonly source: string;
  readonly root: string | null;
  readonly keys: readonly (string | number)[];
  /** Error message, if the text is not a path that may be read. */
  readonly fault: string | null;
}

/** A text split at its expressions; `whole` is set if it is one expression and nothing else. */
export interface Template {
  readonly parts: readonly (string | Expression)[];
  readonly whole: Expression | null;
}

/** Parses a text; undefined if it contains no template. */
export function findTemplate(text: string): Template | undefined {
  const open = text.indexOf('{{');
  if (open < 0) return undefined;
  if (text.length > maxCachedLength) return compile(text, open);

  let compiled = cache.get(text);
  if (compiled === undefined) {
    compiled = { template: compile(text, open) };
    cache.set(text, compiled);
  }
  return compiled.template;
}

// Limits in number and length, so that texts of tenants cannot fill the memory.
const maxCached = 2_000;
const maxCachedLength = 2_000;
const cache = new LRUCache<string, { template: Template | undefined }>({ max: maxCached });

function compile(text: string, firstOpen: number): Template | undefined {
  const parts: (string | Expression)[] = [];
  let from = 0;
  for (let open = firstOpen; open >= 0; open = text.indexOf('{{', from)) {
    const block = readBlock(text, open + 2);
    if (!block) break;
    if (open > from) parts.push(text.slice(from, open));
    parts.push(block.expression);
    from = block.end;
    if (parts.length > MAX_PARTS) return { parts: [{ ...TOO_MANY, source: text.slice(open, from) }], whole: null };
  }
  if (parts.length === 0) return undefined;

  if (from < text.length) parts.push(text.slice(from));
  const [only] = parts;
  return { parts, whole: parts.length === 1 && typeof only === 'object' ? only : null };
}

/** Parts of a text, far more than any real text has. To compile a million of them would block other requests for half a second. */
const MAX_PARTS = 20_000;

const TOO_MANY: Omit<Expression, 'source'> = { root: null, keys: [], fault: 'is one template too many in this text' };

const rootName = /\s*([\p{L}_$][\p{L}\p{N}_$]*)/uy;
const step =
  /\s*(?:\?\.|\.(?!\s*\[)|(?=\[))\s*(?:\[\s*(?:(\d+)|"([^"]*)"|'([^']*)')\s*\]|([\p{L}_$][\p{L}\p{N}_$]*|\d+))/uy;
const close = /\s*\}\}/y;

interface Block {
  expression: Expression;
  end: number;
}

/** Reads to the closing braces; undefined if there are none. A quoted key may contain braces. */
function readBlock(text: string, start: number): Block | undefined {
  const { root, keys, end: pathEnd } = readPath(text, start);
  const closed = root === null ? null : match(close, text, pathEnd);
  if (closed) {
    const source = text.slice(start, pathEnd).trim();
    const wrong = keys.find((key) => isUnreadable(String(key)));
    const fault = wrong === undefined ? null : `may not read "${wrong}"`;
    return { expression: { source, root, keys, fault }, end: close.lastIndex };
  }
  const end = text.indexOf('}}', start);
  if (end < 0) return undefined;
  const fault = 'is not a path such as ctx.name, ctx.items[0] or ctx["a name"]';
  return { expression: { source: text.slice(start, end).trim(), root: null, keys: [], fault }, end: end + 2 };
}

interface Path {
  root: string | null;
  keys: (string | number)[];
  end: number;
}

/** Keys of a path: no value is nested deeper. */
const MAX_KEYS = 200;

function readPath(text: string, start: number): Path {
  const root = match(rootName, text, start)?.[1] ?? null;
  const keys: (string | number)[] = [];
  let end = rootName.lastIndex;
  for (let found = root === null ? null : match(step, text, end); found; found = match(step, text, end)) {
    if (keys.length === MAX_KEYS) break;
    const [, index, double, single, name] = found;
    keys.push(toKey(index ?? double ?? single ?? name ?? ''));
    end = step.lastIndex;
  }
  return { root, keys, end };
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Converts a key of a path: up to nine digits become an index. A longer number could lose digits. */
function toKey(text: string): string | number {
  return /^(?:0|[1-9]\d{0,8})$/.test(text) ? Number(text) : text;
}

/** Whether a text is a path without braces, e.g. `ctx.input.id`. */
export function isBarePath(text: string, root: string): boolean {
  const path = readPath(text, 0);
  return path.root === root && path.keys.length > 0 && text.slice(path.end).trim() === '';
}

/** Yields error messages for the expressions of a template, whose paths must begin with one of these roots. */
export function* faultsOf(template: Template | undefined, ...roots: readonly string[]): Generator<string> {
  for (const { source, root: own, fault } of expressionsOf(template)) {
    if (fault !== null) yield `${shownSource(source)} ${fault}`;
    else if (own === null || !roots.includes(own)) yield `${shownSource(source)} must begin with ${roots.join(' or ')}`;
  }
}

export function* expressionsOf(template: Template | undefined): Generator<Expression> {
  for (const part of template?.parts ?? []) if (typeof part === 'object') yield part;
}

/** An expression as messages repeat it. Long ones are cut. */
export function shownSource(source: string): string {
  return `{{${source.length > 100 ? `${source.slice(0, 100)}…` : source}}}`;
}

/** The values that paths begin at, by their roots. */
export type Roots = Readonly<Record<string, JsonObject>>;

/** Returns the value of an expression under its root, as `evaluate` does. */
export function evaluateIn(expression: Expression, roots: Roots): Json | undefined {
  const { root } = expression;
  const scope = root !== null && Object.hasOwn(roots, root) ? roots[root] : undefined;
  return root !== null && scope ? evaluate(expression, scope, root) : undefined;
}

/** Returns the value of an expression: own properties only, otherwise undefined. The value is shared, not copied. */
export function evaluate(expression: Expression, scope: JsonObject, root: string): Json | undefined {
  if (expression.fault !== null || expression.root !== root) return undefined;
  let value: Json | undefined = scope;
  for (const key of expression.keys) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Array.isArray(value) ? elementOf(value, key) : Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return value;
}

function elementOf(list: readonly Json[], key: string | number): Json | undefined {
  if (typeof key === 'number') return list[key];
  return key === 'length' ? list.length : undefined;
}

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

/** Converts a value to text. */
export function asText(value: Json | undefined): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A string of a value, with its path and its template, if it has one. */
export interface Text {
  path: (string | number)[];
  text: string;
  template: Template | undefined;
}

/** Whether a text holds a template. */
export function hasBraces(text: string): boolean {
  return text.includes('{{');
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
