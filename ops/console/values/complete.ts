import { readExpression } from '#shared/workflow/templates/expressions.ts';
import { expressionAt, keyText, type OpenExpression, pathText } from './path.ts';
import { follow, hasParts, type Key, partsOf, type Value, type Values } from './value.ts';

/** A value that may stand where the caret is. */
export interface Completion {
  label: string;
  value: Value;
  /** The text in place of that from `from` to `to`. */
  insert: string;
  /** Where the caret is afterwards, from `from` on. */
  caret: number;
}

export interface Completions {
  from: number;
  to: number;
  options: Completion[];
}

/** More are not offered at once. */
const MAX_OFFERED = 12;
/** More parts of a value are not compared. */
const MAX_LOOKED_AT = 2_000;

/** The values whose names begin with, or contain, what is typed in the expression around the caret; null outside of one. */
export function completionsAt(text: string, caret: number, values: Values): Completions | null {
  const expression = expressionAt(text, caret);
  if (!expression) return null;
  if (values.faultOf) return completionsInCode(text, caret, expression, values);
  const { from, to, isClosed } = expression;
  const typed = text.slice(from, caret);
  const lead = typed.length - typed.trimStart().length;
  const options = valuesFor(typed.trimStart(), values).flatMap(({ label, value }) => {
    const path = pathText(value.path, 'template');
    if (path === undefined) return [];
    // The caret stays before the braces where a part may follow.
    return { label, value, insert: isClosed ? path : `${path}}}`, caret: path.length + (hasParts(value) ? 0 : 2) };
  });
  return options.length > 0 ? { from: from + lead, to, options: options.slice(0, MAX_OFFERED) } : null;
}

const PATH_BEFORE = /[\p{L}_$][\p{L}\p{N}_$]*(?:\??\.[\p{L}\p{N}_$]*|\[\d*\]?|\["[^"]*"?\]?)*$/u;
const PATH_BEHIND = /^[\p{L}\p{N}_$]*/u;

/** Where an expression is more than a path: completions of the path that ends at the caret. */
function completionsInCode(text: string, caret: number, around: OpenExpression, values: Values): Completions | null {
  const before = text.slice(around.from, caret);
  const typed = PATH_BEFORE.exec(before)?.[0] ?? '';
  const isFirst = before.slice(0, before.length - typed.length).trim() === '';
  if (typed === '' && !isFirst) return null;
  const options = valuesFor(typed, values).flatMap(({ label, value }) => {
    const path = pathText(value.path, 'template');
    if (path === undefined) return [];
    const closes = isFirst && !around.isClosed;
    const isBehind = around.isClosed && isFirst && text.slice(caret, around.to).trim() === '';
    return {
      ...{ label, value, insert: closes ? `${path}}}` : path },
      caret: path.length + ((closes || isBehind) && !hasParts(value) ? 2 : 0),
    };
  });
  const to = caret + (PATH_BEHIND.exec(text.slice(caret))?.[0].length ?? 0);
  return options.length > 0 ? { from: caret - typed.length, to, options: options.slice(0, MAX_OFFERED) } : null;
}

interface Labelled {
  label: string;
  value: Value;
}

function valuesFor(typed: string, values: Values): Labelled[] {
  const all = [values.input, ...values.groups.flatMap((group) => group.values)];
  const { path, rest } = splitTyped(typed);
  const parts = path && partsUnder(path, all, rest);
  if (parts) return parts;
  const wanted = typed.toLowerCase();
  const labelled = all.flatMap((value) => {
    const label = pathText(value.path, 'template');
    return label === undefined ? [] : [{ label, value }];
  });
  return ranked(labelled, ({ label }) => label.toLowerCase(), wanted);
}

/** The values in that to which a path leads, whose names have the rest in them. */
function partsUnder(path: readonly Key[], all: readonly Value[], rest: string): Labelled[] | undefined {
  const owner = all.find((one) => one.path.length <= path.length && one.path.every((key, at) => key === path[at]));
  const found = owner && follow(owner, path.slice(owner.path.length));
  if (!found || found.missing !== undefined) return undefined;
  const wanted = rest.toLowerCase();
  const parts: Labelled[] = [];
  for (const part of partsOf(found.value)) {
    const key = keyText(part.path.at(-1) ?? '', 'template');
    if (key !== undefined) parts.push({ label: key.replace(/^\./, ''), value: part });
    if (parts.length === MAX_LOOKED_AT) break;
  }
  return ranked(parts, ({ label }) => label.replace(/^\[["']?/, '').toLowerCase(), wanted);
}

/** Those that begin with the text before those that contain it. */
function ranked<T>(all: readonly T[], nameOf: (one: T) => string, wanted: string): T[] {
  const { begins = [], contains = [] } = Object.groupBy(all, (one) => {
    const name = nameOf(one);
    return name.startsWith(wanted) ? 'begins' : name.includes(wanted) ? 'contains' : 'others';
  });
  return [...begins, ...contains];
}

/** A path that ends with a dot or a bracket, and what is typed behind it. */
function splitTyped(typed: string): { path: Key[] | undefined; rest: string } {
  const [, before = '', rest = ''] = /^(.*?)(?:\.|\[["']?)([^.[\]"']*)$/s.exec(typed) ?? [];
  const block = before === '' ? undefined : readExpression(`${before}}}`, 0);
  if (!block || block.expression.root === null) return { path: undefined, rest: typed };
  return { path: [block.expression.root, ...block.expression.keys], rest };
}
