import type { Key } from './value.ts';

const NAME = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;
/** Names that no template may read. */
const UNREADABLE: ReadonlySet<Key> = new Set(['__proto__', 'prototype', 'constructor']);

/**
 * How values are named: in templates between braces; as they are in the body of a function and in an expression, both JavaScript; in lists of
 * results by their keys in `ctx` alone, one in each line.
 */
export type Syntax = 'template' | 'code' | 'expression' | 'key';

export function isCode(syntax: Syntax): syntax is 'code' | 'expression' {
  return syntax === 'code' || syntax === 'expression';
}

/** A path as an expression writes it; undefined if none can. */
export function pathText([root = '', ...keys]: readonly Key[], syntax: Syntax): string | undefined {
  if (syntax === 'key') return root === 'ctx' && keys.length === 1 && keys[0] !== 'input' ? String(keys[0]) : undefined;
  const parts = keys.map((key) => keyText(key, syntax));
  return parts.includes(undefined) ? undefined : [root, ...parts].join('');
}

/** A key with what stands before it. */
export function keyText(key: Key, syntax: Syntax): string | undefined {
  if (typeof key === 'number') return `[${key}]`;
  if (NAME.test(key)) return UNREADABLE.has(key) && syntax === 'template' ? undefined : `.${key}`;
  if (isCode(syntax)) return `[${JSON.stringify(key)}]`;
  if (!key.includes('"')) return `["${key}"]`;
  return key.includes("'") ? undefined : `['${key}']`;
}

/** The text that names a value in a field. */
export function expressionText(path: readonly Key[], syntax: Syntax): string | undefined {
  const text = pathText(path, syntax);
  return text !== undefined && syntax === 'template' ? `{{${text}}}` : text;
}

/** An expression that the caret is in: the text between its braces, and whether there are closing ones. */
export interface OpenExpression {
  from: number;
  to: number;
  isClosed: boolean;
}

/** An expression is at most so long. */
const MAX_LENGTH = 1_000;

/** The expression around a caret; undefined if it is in none. */
export function expressionAt(text: string, caret: number): OpenExpression | undefined {
  const start = Math.max(0, caret - MAX_LENGTH);
  const before = text.slice(start, caret);
  const open = before.lastIndexOf('{{');
  if (open < 0 || before.indexOf('}}', open) >= 0) return undefined;
  const from = start + open + 2;
  const after = text.slice(caret, caret + MAX_LENGTH);
  const close = after.indexOf('}}');
  const end = /[\n{]/.exec(after)?.index ?? after.length;
  if (close >= 0 && close <= end) return { from, to: caret + close, isClosed: true };
  const rest = /^[\p{L}\p{N}_$.[\]]*/u.exec(after)?.[0].length ?? 0;
  return { from, to: caret + rest, isClosed: false };
}

export interface Change {
  from: number;
  to: number;
  insert: string;
  /** Where the caret is afterwards. */
  caret: number;
}

/** Puts a value where the selection is; an expression that the caret is in is replaced. */
export function insertion(
  text: string,
  { from, to }: { from: number; to: number },
  path: readonly Key[],
  syntax: Syntax,
): Change | undefined {
  const expression = expressionText(path, syntax);
  if (expression === undefined) return undefined;
  if (syntax === 'key') return insertedLine(text, to, expression);
  const around = syntax === 'template' && from === to ? expressionAt(text, from) : undefined;
  const start = around ? around.from - 2 : from;
  const end = around ? around.to + (around.isClosed ? 2 : 0) : to;
  return { from: start, to: end, insert: expression, caret: start + expression.length };
}

/** Puts a line behind the one that the caret is in. */
function insertedLine(text: string, caret: number, line: string): Change {
  const end = text.indexOf('\n', caret);
  const at = end < 0 ? text.length : end;
  const isEmpty = at === 0 || text[at - 1] === '\n';
  const insert = isEmpty ? line : `\n${line}`;
  return { from: at, to: at, insert, caret: at + insert.length };
}
