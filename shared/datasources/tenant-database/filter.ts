import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts';

/** A condition on rows: `{"AND": […]}`, `{"OR": […]}`, `{"NOT": {…}}`, `{"column": {"operator": value}}`. All keys must hold. */
export type DatabaseFilter =
  | { all: DatabaseFilter[] }
  | { any: DatabaseFilter[] }
  | { not: DatabaseFilter }
  | Condition;

interface Condition {
  column: string;
  operator: Operator;
  value: Json;
  /** Path of the value in the filter, for errors: `AND`, 0, `id`, `=`. */
  path: (string | number)[];
}

const operators = ['=', '!=', '<', '<=', '>', '>=', 'LIKE', 'ILIKE', 'IN', 'NOT IN', 'IS NULL', 'BETWEEN'] as const;
export type Operator = (typeof operators)[number];

const MAX_LEVELS = 20;
const MAX_CONDITIONS = 500;
/** Objects in AND, OR and NOT, which need no condition in them. */
const MAX_OBJECTS = 5_000;
const MAX_FAULTS = 20;

interface Fault {
  path: (string | number)[];
  message: string;
}

/** A filter as clients write it. Not copied: a zod record drops the key `__proto__`, and with it a condition. */
export const DatabaseFilterObject = z
  .custom<JsonObject>(isJsonObject, {
    error: 'must be a filter such as {"id": {"=": 1}}; SQL text is not accepted',
    // Stops after this issue, because the next check needs an object.
    abort: true,
  })
  .superRefine((value, check) => {
    for (const { path, message } of parse(value).faults) check.addIssue({ code: 'custom', path, message });
  })
  .meta({ type: 'object', description: 'AND, OR, NOT, or {column: {operator: value}}' });

/** Parses a value that `DatabaseFilterObject` has accepted. */
export function readFilter(value: JsonObject): DatabaseFilter {
  return parse(value).filter;
}

/** Whether the filter may hold for all rows: no part of it is certain to exclude one. */
export function isEmptyFilter(value: JsonObject | null): boolean {
  return value === null || !narrows(readFilter(value), { isNegated: false });
}

/**
 * Whether the filter excludes rows. A comparison always does. AND does if one of its parts does, OR if all of its parts do; under NOT it is
 * the other way round. The NOT of an empty filter counts as excluding no row, although no row matches it: clients hardly mean that, and a
 * second NOT around it matches all rows again.
 */
function narrows(filter: DatabaseFilter, { isNegated }: { isNegated: boolean }): boolean {
  if ('not' in filter) return narrows(filter.not, { isNegated: !isNegated });
  if (!('all' in filter || 'any' in filter)) return true;
  const parts = 'all' in filter ? filter.all : filter.any;
  const isEnough = (part: DatabaseFilter) => narrows(part, { isNegated });
  return 'all' in filter !== isNegated ? parts.some(isEnough) : parts.length > 0 && parts.every(isEnough);
}

function parse(value: JsonObject): { filter: DatabaseFilter; faults: Fault[] } {
  const faults: Fault[] = [];
  let conditions = 0;
  let objects = 0;
  const refuse = (path: Fault['path'], message: string) => {
    if (faults.length < MAX_FAULTS) faults.push({ path, message });
    return { all: [] };
  };
  /** Reads parts until there are too many of them, or of their faults: a body of five megabytes may have a million. */
  function readEach<Part>(parts: readonly Part[], read: (part: Part, at: number) => DatabaseFilter): DatabaseFilter[] {
    const filters: DatabaseFilter[] = [];
    for (const [at, part] of parts.entries()) {
      if (conditions > MAX_CONDITIONS || objects > MAX_OBJECTS || faults.length === MAX_FAULTS) break;
      filters.push(read(part, at));
    }
    return filters;
  }

  function readObject(from: Json, path: Fault['path']): DatabaseFilter {
    if (!isJsonObject(from)) return refuse(path, 'must be an object');
    if (path.length > MAX_LEVELS) return refuse(path, `must not be nested deeper than ${MAX_LEVELS} levels`);
    objects += 1;
    if (objects > MAX_OBJECTS) return refuse(path, `must be one of at most ${MAX_OBJECTS} objects`);
    return { all: readEach(Object.keys(from), (key) => readEntry(key, from[key] ?? null, [...path, key])) };
  }

  function readEntry(key: string, inner: Json, path: Fault['path']): DatabaseFilter {
    if (key === 'NOT') return { not: readObject(inner, path) };
    if (key !== 'AND' && key !== 'OR') return readColumn(key, inner, path);
    if (!Array.isArray(inner) || inner.length === 0) return refuse(path, 'must be a list of at least one filter');
    const parts = readEach(inner, (part, at) => readObject(part, [...path, at]));
    return key === 'AND' ? { all: parts } : { any: parts };
  }

  function readColumn(column: string, inner: Json, path: Fault['path']): DatabaseFilter {
    if (!isJsonObject(inner) || Object.keys(inner).length === 0)
      return refuse(path, `must be {operator: value} with an operator of ${operators.join(', ')}`);
    return {
      all: readEach(Object.keys(inner), (name) => {
        const value = inner[name] ?? null;
        conditions += 1;
        if (conditions > MAX_CONDITIONS) return refuse(path, `must be one of at most ${MAX_CONDITIONS} conditions`);
        const operator = operators.find((known) => known === name.toUpperCase());
        if (!operator) return refuse([...path, name], `is not an operator; expected one of ${operators.join(', ')}`);
        const fault = faultOf(operator, value);
        return fault ? refuse([...path, name], fault) : { column, operator, value, path: [...path, name] };
      }),
    };
  }

  return { filter: readObject(value, []), faults };
}

const isText = (value: Json) => typeof value === 'string';
const isListOf = (value: Json, minLength: number, maxLength: number) =>
  Array.isArray(value) && value.length >= minLength && value.length <= maxLength && !value.includes(null);
const list = {
  accepts: (value: Json) => isListOf(value, 1, 1_000),
  expected: 'must be a list of 1 to 1000 values without null',
};
const text = { accepts: isText, expected: 'must be a text' };

/** Operands that operators accept; the other operators accept all values but null. */
const operands: Partial<Record<Operator, { accepts(value: Json): boolean; expected: string }>> = {
  '=': { accepts: () => true, expected: '' },
  '!=': { accepts: () => true, expected: '' },
  LIKE: text,
  ILIKE: text,
  IN: list,
  'NOT IN': list,
  'IS NULL': { accepts: (value) => typeof value === 'boolean', expected: 'must be true or false' },
  BETWEEN: { accepts: (value) => isListOf(value, 2, 2), expected: 'must be a list of two values without null' },
};

function faultOf(operator: Operator, value: Json): string | undefined {
  const operand = operands[operator] ?? { accepts: (one: Json) => one !== null, expected: 'must not be null' };
  return operand.accepts(value) ? undefined : operand.expected;
}
