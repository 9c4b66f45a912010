import { type Now, rootsOf, valueNow } from './now.ts';
import type { Value, Values } from './value.ts';

/** The body of a function, the names of its arguments and their values, as the engine gives them. */
export interface CodeJob {
  body: string;
  args: Readonly<Record<string, unknown>>;
}

export type CodeNow = Now | { state: 'job'; job: CodeJob };

/** The run that tells the value of JavaScript, or why that cannot be told; undefined if there is no code. */
export function codeNow(value: unknown, syntax: 'code' | 'expression', values: Values): CodeNow | undefined {
  if (value === undefined || value === '') return undefined;
  if (syntax === 'code') return typeof value === 'string' ? jobOf(value, value, values) : undefined;
  // Templates of an expression are filled before it runs, and what is no text then is its value.
  const filled = valueNow(value, values) ?? ({ state: 'value', value } as const);
  if (filled.state !== 'value') return filled;
  const text = filled.value;
  if (typeof text !== 'string') return { state: 'value', value: Boolean(text) };
  return text.trim() === '' ? undefined : jobOf(text, `return Boolean((\n${text}\n));`, values);
}

/** Those of the names of expressions that code has, too. */
const ROOTS: readonly string[] = ['ctx', 'vars', 'event'];

function jobOf(text: string, body: string, values: Values): CodeNow {
  const roots = values.roots.filter((root) => ROOTS.includes(root) && wordOf(root).test(text));
  const named = roots.flatMap((root) => namedOf(root, text, values));
  const omitted = named.flatMap(({ omittedAt }) => omittedAt ?? []);
  if (omitted.length > 0) return { state: 'read', steps: [...new Set(omitted)] };
  const unknown = named.filter(({ sample }) => sample === undefined);
  if (unknown.length > 0) return { state: 'later', of: [...new Set(unknown.map(({ path }) => path.join('.')))] };
  const known: Readonly<Record<string, unknown>> = rootsOf(values);
  const args = roots.map((root) => {
    const keys = new Set(named.map(({ path }) => String(path[1])));
    const all = Object.entries(known[root] ?? {});
    return [root, Object.fromEntries(root === 'event' ? all : all.filter(([key]) => keys.has(key)))];
  });
  return { state: 'job', job: { body, args: Object.fromEntries(args) } };
}

type Named = Pick<Value, 'path' | 'sample' | 'omittedAt'>;

/** The values below a root that code reads. Those that are not there have none in a run either. */
function namedOf(root: string, text: string, { input, groups, open }: Values): Named[] {
  if (input.path.length === 1) return [input];
  const known = [input, ...groups.flatMap((group) => group.values)].filter(
    ({ path }) => path[0] === root && path.length === 2,
  );
  const keys = keysNamed(root, text);
  if (keys === 'all') return open.has(root) ? [...known, { path: [root], sample: undefined }] : known;
  return [...keys].flatMap((key): Named[] => {
    const found = known.find(({ path }) => path[1] === key);
    if (found) return [found];
    return open.has(root) || open.has(`${root}.${key}`) ? [{ path: [root, key], sample: undefined }] : [];
  });
}

/** The keys behind a name; all of them if it occurs without one. Comments and texts count as well, which does no harm. */
function keysNamed(root: string, text: string): ReadonlySet<string> | 'all' {
  const keys = new Set<string>();
  for (const { index } of text.matchAll(new RegExp(wordOf(root), 'g'))) {
    KEY.lastIndex = index + root.length;
    const [, word, double, single] = KEY.exec(text) ?? [];
    const key = word ?? double ?? single;
    if (key === undefined) return 'all';
    keys.add(key);
  }
  return keys;
}

const KEY = /\s*(?:(?:\?\.|\.)\s*([\p{L}_$][\p{L}\p{N}_$]*)|(?:\?\.)?\s*\[\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*\])/uy;

function wordOf(root: string): RegExp {
  return new RegExp(`(?<![\\w$])${root}(?![\\w$])`);
}
