/** Expressions of templates, and their values. It imports no package: the pages of the console run it as well as the API and the workers. */
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

/** Parses a text; undefined if it contains no template. `firstOpen` is the index of its first `{{`. */
export function compileTemplate(text: string, firstOpen = text.indexOf('{{')): Template | undefined {
  const parts: (string | Expression)[] = [];
  let from = 0;
  for (let open = firstOpen; open >= 0; open = text.indexOf('{{', from)) {
    const block = readExpression(text, open + 2);
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

/** Reads an expression from behind its opening braces to behind the closing ones; undefined if there are none. A quoted key may contain braces. */
export function readExpression(text: string, start: number): Block | undefined {
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

export function readPath(text: string, start: number): Path {
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

/** Converts a value to text. */
export function asText(value: Json | undefined): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Whether a text holds a template. */
export function hasBraces(text: string): boolean {
  return text.includes('{{');
}
