import { type Expression, readExpression } from '#shared/workflow/templates/expressions.ts';
import { pathText, type Syntax } from './path.ts';
import { samples } from './samples.ts';
import { type Found, follow, type Key, partsOf, type Value, type Values } from './value.ts';

/** A fault of a part of a text. */
export interface Fault {
  from: number;
  to: number;
  message: string;
}

export interface Written {
  expression: Expression;
  from: number;
  to: number;
}

/** More are not looked at while a person types. */
const MAX_EXPRESSIONS = 200;

/** The expressions of a text, with their braces. */
export function* expressionsIn(text: string, most = MAX_EXPRESSIONS): Generator<Written> {
  let count = 0;
  for (let open = text.indexOf('{{'); open >= 0 && count < most; count += 1) {
    const block = readExpression(text, open + 2);
    if (!block) return;
    yield { expression: block.expression, from: open, to: block.end };
    open = text.indexOf('{{', block.end);
  }
}

export function faultsIn(text: string, values: Values, syntax: Syntax = 'template'): Fault[] {
  if (syntax === 'key') return faultyLines(text, values);
  return [...expressionsIn(text)].flatMap(({ expression, from, to }) => {
    const message = faultOf(expression, values);
    return message === undefined ? [] : [{ from, to, message }];
  });
}

/** The keys of results, one in each line, that are not there. */
function faultyLines(text: string, values: Values): Fault[] {
  return [...text.matchAll(/[^\s].*/g)].flatMap(({ 0: line, index: from }) => {
    const key = line.trimEnd();
    const message = key.includes('{{') ? undefined : faultOfPath(['ctx', key], values);
    return message === undefined ? [] : [{ from, to: from + key.length, message }];
  });
}

/** Why an expression cannot have a value at a step; undefined if it may have one. */
export function faultOf(expression: Expression, values: Values): string | undefined {
  if (values.faultOf) return values.faultOf(expression);
  const { source, root, keys, fault } = expression;
  if (fault !== null) {
    const hint = COMPUTES.test(source)
      ? '. An expression names a value and does not compute: a JavaScript step does'
      : '';
    return `“${shown(source)}” ${fault}${hint}`;
  }
  return faultOfPath([root ?? '', ...keys], values);
}

export function faultOfPath(path: readonly Key[], values: Values): string | undefined {
  const [root = '', ...keys] = path;
  const all = namesAt(values);
  if (!values.roots.includes(String(root)))
    return `“${shown(String(root))}” is no value here: expressions begin with ${values.roots.join(' or ')}.${suggestion(root, all)}`;
  const found = resolvePath(path, values);
  if (found === undefined || found.missing === undefined) return undefined;
  const { missing, value, isSure } = found;
  if (value === undefined) {
    const reason = values.elsewhere.get(`${root}.${keys[0]}`);
    if (reason !== undefined) return `“${shown(String(keys[0]))}” cannot be named here: ${reason}`;
    const what = root === 'vars' ? 'There is no variable' : samples[values.source].none;
    return `${what} “${shown(String(missing))}”.${suggestion(missing, all)}`;
  }
  const parts = namesOf(value).map((part) => ({ name: part.name, value: part }));
  const where = shown(pathText(value.path, 'template') ?? value.name);
  const verb = isSure ? 'has no' : 'had no';
  return `${where} ${verb} “${shown(String(missing))}”${isSure ? '' : ` ${samples[values.source].there}`}.${suggestion(missing, parts)}`;
}

/** Signs of a text that computes. */
const COMPUTES = /[-+*/%<>=!&|?()]/;

function shown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

interface Named {
  name: string;
  value: Value;
}

/** The values of a step by their last names: people know inputs and results without the root before them. */
function namesAt({ input, groups }: Values): Named[] {
  const all = [input, ...groups.flatMap(({ values }) => values)];
  return all.map((value) => ({ name: String(value.path.at(-1)), value }));
}

/** Where a path leads; undefined if that cannot be known. There is no value where even the first key is not there. */
export function resolvePath(path: readonly Key[], { input, groups, open }: Values): Found | undefined {
  const [root = '', first] = path;
  const all = [input, ...groups.flatMap(({ values }) => values)];
  const owner = all.find((one) => one.path.every((key, at) => key === path[at]));
  if (owner) return follow(owner, path.slice(owner.path.length));
  if (first === undefined || open.has(String(root)) || open.has(`${root}.${first}`)) return undefined;
  return { value: undefined, missing: first, isSure: true };
}

/** More names are not compared. */
const MAX_COMPARED = 500;

function namesOf(value: Value): Value[] {
  const found: Value[] = [];
  for (const part of partsOf(value)) {
    if (typeof part.path.at(-1) === 'string') found.push(part);
    if (found.length === MAX_COMPARED) break;
  }
  return found;
}

function suggestion(wanted: Key, names: readonly Named[]): string {
  const best = nearest(String(wanted), names);
  const text = best && pathText(best.path, 'template');
  return text === undefined ? '' : ` Did you mean ${shown(text)}?`;
}

function nearest(wanted: string, names: readonly Named[]): Value | undefined {
  const most = Math.max(1, Math.floor(wanted.length / 3));
  const ranked = names
    .slice(0, MAX_COMPARED)
    .map(({ name, value }) => ({ value, distance: distanceOf(plain(wanted), plain(name), most) }))
    .filter(({ distance }) => distance <= most)
    .sort((one, other) => one.distance - other.distance);
  return ranked[0]?.value;
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[_\-\s]/g, '');
}

/** How many letters differ, counted up to one more than `most`. */
function distanceOf(one: string, other: string, most: number): number {
  if (Math.abs(one.length - other.length) > most) return most + 1;
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1];
    for (let to = 1; to <= other.length; to += 1) {
      const same = (row[to - 1] ?? 0) + (other[to - 1] === letter ? 0 : 1);
      next.push(Math.min(same, (row[to] ?? 0) + 1, (next[to - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? most + 1;
}
