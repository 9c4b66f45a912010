import { type Expression, readExpression, readPath } from '#shared/workflow/templates/expressions.ts';
import { filters } from './filters.ts';

/** The first names of expressions of a page. `state` is another word for `variables`. */
export const roots = [
  'queries',
  'workflows',
  'variables',
  'widgets',
  'viewer',
  'page',
  'event',
  'row',
  'form',
] as const;
export type Root = (typeof roots)[number];

/** A name that an expression reads: a root, and the first key behind it; without a key all of the root. */
export interface Name {
  root: Root;
  key: string | null;
}

export interface FilterCall {
  name: string;
  args: readonly Argument[];
}

export type Argument = { value: unknown } | { path: Path };

export interface Path {
  root: Root;
  keys: readonly (string | number)[];
}

/** The text between `{{` and `}}`. */
export type Part = { source: string } & (
  | { kind: 'path'; path: Path; filters: readonly FilterCall[] }
  | { kind: 'code' }
  | { kind: 'fault'; message: string }
);

/** Reads an expression: a path, a path with filters, or code. */
export function partOf({ source, root, keys, fault }: Expression): Part {
  if (root !== null) return { source, ...simplePart(root, keys, fault) };
  return filtered(source) ?? codePart(source);
}

function simplePart(root: string, keys: Expression['keys'], fault: string | null) {
  if (fault !== null) return { kind: 'fault', message: fault } as const;
  const known = rootOf(root);
  if (known) return { kind: 'path', path: { root: known, keys }, filters: [] } as const;
  if (ownWords.has(root)) return { kind: 'code' } as const;
  return { kind: 'fault', message: `“${root}” is not known: names begin with ${roots.join(', ')}` } as const;
}

/** Words of JavaScript that look like a name. */
const ownWords = new Set(
  'true false null undefined NaN Infinity Math Number String Boolean Object Array JSON Date Intl'.split(' '),
);

function rootOf(text: string): Root | undefined {
  const name = text === 'state' ? 'variables' : text;
  return roots.find((root) => root === name);
}

const MAX_CODE = 10_000;

function codePart(source: string): Part {
  if (source === '') return { source, kind: 'fault', message: 'is empty' };
  if (source.length > MAX_CODE)
    return { source, kind: 'fault', message: `is longer than ${MAX_CODE.toLocaleString('en')} characters` };
  return { source, kind: 'code' };
}

/** A path with filters behind it, such as `queries.orders.data | where: "state", "open" | count`. */
function filtered(source: string): Part | undefined {
  const { root, keys, end } = readPath(source, 0);
  if (root === null || !/^\s*\|(?!\|)/.test(source.slice(end))) return undefined;
  const calls: FilterCall[] = [];
  for (let at = end; at < source.length; ) {
    const call = readFilter(source, at);
    // A bar that no filter follows is one of JavaScript.
    if (!call) return calls.length === 0 ? undefined : { source, kind: 'fault', message: filterFault(source, at) };
    calls.push(call.filter);
    at = call.end;
  }
  const read = readExpression(`${source.slice(0, end)}}}`, 0)?.expression;
  const path = simplePart(root, keys, read?.fault ?? null);
  return path.kind === 'path' ? { source, ...path, filters: calls } : { source, ...path };
}

function filterFault(source: string, at: number): string {
  return `cannot be read from “${source.slice(at, at + 40).trim()}”: a filter is such as | upper or | default: "none"`;
}

const bar = /\s*\|\s*([a-z]+)\s*/y;
const separator = /\s*,\s*/y;
const closing = /\s*\)\s*/y;
const rest = /\s*/y;

function readFilter(source: string, start: number): { filter: FilterCall; end: number } | undefined {
  const name = matchAt(bar, source, start)?.[1];
  if (name === undefined || !Object.hasOwn(filters, name)) return undefined;
  const read = readArguments(source, bar.lastIndex);
  if (!read) return undefined;
  matchAt(rest, source, read.end);
  const end = rest.lastIndex;
  return end === source.length || source[end] === '|' ? { filter: { name, args: read.args }, end } : undefined;
}

/** Arguments in parentheses, behind a colon, or none. */
function readArguments(source: string, start: number): { args: Argument[]; end: number } | undefined {
  const opening = source[start];
  if (opening !== ':' && opening !== '(') return { args: [], end: start };
  const args: Argument[] = [];
  let at = start + 1;
  for (let read = readArgument(source, at); read; read = readArgument(source, at)) {
    args.push(read.argument);
    at = read.end;
    if (!matchAt(separator, source, at)) break;
    at = separator.lastIndex;
  }
  if (opening === ':') return args.length === 0 ? undefined : { args, end: at };
  return matchAt(closing, source, at) ? { args, end: closing.lastIndex } : undefined;
}

const literal = /\s*(?:"([^"]*)"|'([^']*)'|(-?\d+(?:\.\d+)?)(?![\w.])|(true|false|null)(?![\w$.]))/y;

function readArgument(source: string, start: number): { argument: Argument; end: number } | undefined {
  const found = matchAt(literal, source, start);
  if (found) {
    const [, double, single, number, word] = found;
    const text = double ?? single;
    const value = text ?? (number === undefined ? JSON.parse(word ?? 'null') : Number(number));
    return { argument: { value }, end: literal.lastIndex };
  }
  const { root, keys, end } = readPath(source, start);
  const known = root === null ? undefined : rootOf(root);
  const fault = readExpression(`${source.slice(start, end)}}}`, 0)?.expression.fault ?? null;
  return known && fault === null ? { argument: { path: { root: known, keys } }, end } : undefined;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** The names that an expression reads. */
export function namesOf(part: Part): Name[] {
  if (part.kind === 'fault') return [];
  if (part.kind === 'code') return namesInCode(part.source);
  const paths = part.filters.flatMap(({ args }) => args.flatMap((arg) => ('path' in arg ? [arg.path] : [])));
  return [part.path, ...paths].map(({ root, keys: [key] }) => ({ root, key: key === undefined ? null : String(key) }));
}

/** A root that is no property of something else, and the key behind it, if that is written out. */
const named = new RegExp(
  String.raw`(?<![\w$])(?<!(?<!\.\.)\.)(${[...roots, 'state'].join('|')})(?![\w$])` +
    String.raw`(?:\s*(?:\?\.|\.)\s*([\p{L}_$][\p{L}\p{N}_$]*)|\s*(?:\?\.)?\[\s*(?:"([^"]*)"|'([^']*)')\s*\])?`,
  'gu',
);

/** Names in code. Those in its texts are found as well, which costs no more than an evaluation that changes nothing. */
function namesInCode(source: string): Name[] {
  return [...source.matchAll(named)].flatMap(([, root = '', name, double, single]) => {
    const known = rootOf(root);
    return known ? [{ root: known, key: name ?? double ?? single ?? null }] : [];
  });
}
