import { LRUCache } from 'lru-cache';
import type { Json, JsonObject } from '../json.ts';

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
  }
  if (parts.length === 0) return undefined;

  if (from < text.length) parts.push(text.slice(from));
  const [only] = parts;
  return { parts, whole: parts.length === 1 && typeof only === 'object' ? only : null };
}

const rootName = /\s*([\p{L}_$][\p{L}\p{N}_$]*)/uy;
const step =
  /\s*(?:\?\.|\.(?!\s*\[)|(?=\[))\s*(?:\[\s*(?:(\d+)|"([^"]*)"|'([^']*)')\s*\]|([\p{L}_$][\p{L}\p{N}_$]*|\d+))/uy;
const close = /\s*\}\}/y;
const blocked: ReadonlySet<string> = new Set(['__proto__', 'prototype', 'constructor']);

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
    const wrong = keys.find((key) => blocked.has(String(key)));
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

function readPath(text: string, start: number): Path {
  const root = match(rootName, text, start)?.[1] ?? null;
  const keys: (string | number)[] = [];
  let end = rootName.lastIndex;
  for (let found = root === null ? null : match(step, text, end); found; found = match(step, text, end)) {
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

/** Digits become an index, but only up to nine: a longer number could lose digits. */
function toKey(text: string): string | number {
  return /^(?:0|[1-9]\d{0,8})$/.test(text) ? Number(text) : text;
}

/** Whether a text is a path without braces, e.g. `ctx.input.id`. */
export function isBarePath(text: string, root: string): boolean {
  const path = readPath(text, 0);
  return path.root === root && path.keys.length > 0 && text.slice(path.end).trim() === '';
}

/** Error messages for the templates of a text, whose paths must begin with one of these roots. */
export function faultsOf(text: string, ...roots: readonly string[]): string[] {
  const expressions = findTemplate(text)?.parts.filter((part) => typeof part === 'object') ?? [];
  return expressions.flatMap(({ source, root: own, fault }) => {
    const shown = source.length > 100 ? `${source.slice(0, 100)}…` : source;
    if (fault !== null) return [`{{${shown}}} ${fault}`];
    return own !== null && roots.includes(own) ? [] : [`{{${shown}}} must begin with ${roots.join(' or ')}`];
  });
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

/** Converts a value to text. */
export function asText(value: Json | undefined): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

export interface Text {
  path: (string | number)[];
  text: string;
}

/** Yields every string of a value with its path, except in the top-level fields named in `raw`. */
export function* textsOf(value: Json, raw: readonly string[] = []): Generator<Text> {
  if (typeof value === 'string') yield { path: [], text: value };
  if (typeof value !== 'object' || value === null) return;
  const entries: Iterable<[string | number, Json]> = Array.isArray(value) ? value.entries() : Object.entries(value);
  for (const [key, child] of entries) {
    if (typeof key === 'string' && raw.includes(key)) continue;
    for (const { path, text } of textsOf(child)) yield { path: [key, ...path], text };
  }
}
