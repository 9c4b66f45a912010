import { pathText } from './path.ts';
import { hasParts, type Key, partsOf, type Value, type Values } from './value.ts';

/** A row of the tree of values. */
export interface Row {
  key: string;
  level: number;
  /** The heading of a group, or the name of a value. */
  name: string;
  value?: Value;
  /** Undefined: nothing lies in it. */
  isOpen?: boolean;
  /** How many parts are not shown. */
  more?: number;
}

/** Parts of a value that are shown at once; others are searched for. */
export const SHOWN_PARTS = 50;
/** Groups with more values begin closed. */
const MAX_OPEN = 12;

/** The rows of the tree. Groups are open unless they are large, values closed but for those that begin open; what was toggled is the other way round. */
export function rowsOf({ groups }: Values, toggled: ReadonlySet<string>): Row[] {
  return groups.flatMap(({ title, values }) => {
    const key = `# ${title}`;
    const isOpen = values.length <= MAX_OPEN !== toggled.has(key);
    const head: Row = { key, level: 1, name: title, isOpen };
    return isOpen ? [head, ...values.flatMap((value) => rowsOfValue(value, 2, toggled))] : [head];
  });
}

function rowsOfValue(value: Value, level: number, toggled: ReadonlySet<string>): Row[] {
  const key = keyOf(value.path);
  const own: Row = { key, level, name: value.name, value };
  if (!hasParts(value)) return [own];
  const isOpen = (value.isOpen === true) !== toggled.has(key);
  if (!isOpen || value.omittedAt !== undefined) return [{ ...own, isOpen }];
  const shown = partsOf(value).take(SHOWN_PARTS).toArray();
  const more = countOfParts(value) - shown.length;
  const rows = shown.flatMap((part) => rowsOfValue(part, level + 1, toggled));
  const rest: Row[] = more > 0 ? [{ key: `${key} more`, level: level + 1, name: '', more }] : [];
  return [{ ...own, isOpen }, ...rows, ...rest];
}

function countOfParts({ sample, shape }: Value): number {
  if (typeof sample === 'object' && sample !== null)
    return Array.isArray(sample) ? sample.length : Object.keys(sample).length;
  return Object.keys(shape.fields ?? {}).length;
}

export function keyOf(path: readonly Key[]): string {
  return JSON.stringify(path);
}

/** Values that are looked at in a search, and those that are shown. */
const MAX_VISITED = 60_000;
const MAX_FOUND = 50;

/** The values whose paths or contents have a text in them, those of fewer keys first. */
export function searched(values: Values, text: string): { rows: Row[]; isCut: boolean } {
  const wanted = text.trim().toLowerCase();
  const rows: Row[] = [];
  let visited = 0;
  for (const value of breadthFirst(values)) {
    visited += 1;
    if (visited > MAX_VISITED || rows.length === MAX_FOUND) return { rows, isCut: true };
    if (!isFound(value, wanted)) continue;
    rows.push({ key: keyOf(value.path), level: 1, name: pathText(value.path, 'code') ?? value.name, value });
  }
  return { rows, isCut: false };
}

function* breadthFirst({ groups }: Values): Generator<Value> {
  let level = groups.flatMap(({ values }) => [...values]);
  while (level.length > 0) {
    yield* level;
    const next: Value[] = [];
    for (const value of level)
      if (hasParts(value)) for (const part of partsOf(value).take(MAX_VISITED - next.length)) next.push(part);
    level = next;
  }
}

function isFound({ path, name, sample, note }: Value, wanted: string): boolean {
  // A whole path is written for few values alone: for those of the first level, and where a path is searched for.
  const isByPath = path.length <= 3 || /[.[]/.test(wanted);
  const own = isByPath ? (pathText(path, 'code') ?? name) : name;
  if (own.toLowerCase().includes(wanted) || note?.toLowerCase().includes(wanted)) return true;
  if (typeof sample === 'string') return sample.slice(0, MAX_TEXT).toLowerCase().includes(wanted);
  return typeof sample === 'number' && String(sample).includes(wanted);
}

/** The rest of a longer text is not searched. */
const MAX_TEXT = 200;
