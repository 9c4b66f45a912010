import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from './json.ts';

/** Which rows: `{"AND": […]}`, `{"OR": […]}`, `{"NOT": {…}}`, `{"column": {"operator": value}}`; several keys of one object must all hold. */
export type DatabaseFilter =
  | { all: DatabaseFilter[] }
  | { any: DatabaseFilter[] }
  | { not: DatabaseFilter }
  | { column: string; operator: Operator; value: Json };

const operators = ['=', '!=', '<', '<=', '>', '>=', 'LIKE', 'ILIKE', 'IN', 'NOT IN', 'IS NULL', 'BETWEEN'] as const;
export type Operator = (typeof operators)[number];

const MAX_LEVELS = 20;
const MAX_CONDITIONS = 500;

interface Fault {
  path: (string | number)[];
  message: string;
}

/**
 * A filter as clients write it. It stays as it was written; `readFilter` says what it means. It is looked at and not copied: a
 * record of zod leaves out the key `__proto__`, and with it a condition.
 */
export const DatabaseFilterObject = z
  .custom<JsonObject>(isJsonObject, {
    error: 'must be a filter such as {"id": {"=": 1}}; SQL text is not taken',
    // What is no object cannot be read.
    abort: true,
  })
  .superRefine((value, check) => {
    for (const { path, message } of read(value).faults) check.addIssue({ code: 'custom', path, message });
  })
  .meta({ type: 'object', description: 'AND, OR, NOT, or {column: {operator: value}}' });

/** Of what `DatabaseFilterObject` has let through. */
export function readFilter(value: JsonObject): DatabaseFilter {
  return read(value).filter;
}

/** Whether nothing in it can be shown to leave a row out: it may hold for every row there is. */
export function isEmptyFilter(value: JsonObject | null): boolean {
  return value === null || !narrows(readFilter(value), { isNegated: false });
}

/**
 * A comparison narrows, whatever it compares. Where all parts must hold, one that narrows is enough; where any may, each has to.
 * Under `not` the two change places, and what is empty narrows nothing there either: `not` of everything is no row, but who
 * writes it has hardly meant that, and two of them are everything again.
 */
function narrows(filter: DatabaseFilter, { isNegated }: { isNegated: boolean }): boolean {
  if ('not' in filter) return narrows(filter.not, { isNegated: !isNegated });
  if (!('all' in filter || 'any' in filter)) return true;
  const parts = 'all' in filter ? filter.all : filter.any;
  const isEnough = (part: DatabaseFilter) => narrows(part, { isNegated });
  return 'all' in filter !== isNegated ? parts.some(isEnough) : parts.length > 0 && parts.every(isEnough);
}

function read(value: JsonObject): { filter: DatabaseFilter; faults: Fault[] } {
  const faults: Fault[] = [];
  let conditions = 0;
  const refuse = (path: Fault['path'], message: string) => {
    if (faults.length < 20) faults.push({ path, message });
    return { all: [] };
  };

  function object(from: Json, path: Fault['path']): DatabaseFilter {
    if (!isJsonObject(from)) return refuse(path, 'must be an object');
    if (path.length > MAX_LEVELS) return refuse(path, 'is nested too deeply');
    return { all: Object.entries(from).map(([key, inner]) => entry(key, inner, [...path, key])) };
  }

  function entry(key: string, inner: Json, path: Fault['path']): DatabaseFilter {
    if (key === 'NOT') return { not: object(inner, path) };
    if (key !== 'AND' && key !== 'OR') return ofColumn(key, inner, path);
    if (!Array.isArray(inner) || inner.length === 0) return refuse(path, 'must be a list of filters, at least one');
    const parts = inner.map((part, at) => object(part, [...path, at]));
    return key === 'AND' ? { all: parts } : { any: parts };
  }

  function ofColumn(column: string, inner: Json, path: Fault['path']): DatabaseFilter {
    if (!isJsonObject(inner) || Object.keys(inner).length === 0)
      return refuse(path, `must be {operator: value} with an operator of ${operators.join(', ')}`);
    return {
      all: Object.entries(inner).map(([name, value]) => {
        conditions += 1;
        if (conditions === MAX_CONDITIONS) refuse(path, `is one of more than ${MAX_CONDITIONS} conditions`);
        const operator = operators.find((known) => known === name.toUpperCase());
        if (!operator) return refuse([...path, name], `is no operator; known are ${operators.join(', ')}`);
        const fault = faultOf(operator, value);
        return fault ? refuse([...path, name], fault) : { column, operator, value };
      }),
    };
  }

  return { filter: object(value, []), faults };
}

const isText = (value: Json) => typeof value === 'string';
const isListOf = (value: Json, min: number, max: number) =>
  Array.isArray(value) && value.length >= min && value.length <= max && !value.includes(null);
const list = { fits: (value: Json) => isListOf(value, 1, 1_000), wants: 'must be 1 to 1000 values, none of them null' };
const text = { fits: isText, wants: 'must be a text' };

/** What an operator takes; the others take anything but null. */
const operands: Partial<Record<Operator, { fits(value: Json): boolean; wants: string }>> = {
  '=': { fits: () => true, wants: '' },
  '!=': { fits: () => true, wants: '' },
  LIKE: text,
  ILIKE: text,
  IN: list,
  'NOT IN': list,
  'IS NULL': { fits: (value) => typeof value === 'boolean', wants: 'must be true or false' },
  BETWEEN: { fits: (value) => isListOf(value, 2, 2), wants: 'must be two values, neither of them null' },
};

function faultOf(operator: Operator, value: Json): string | undefined {
  const operand = operands[operator] ?? { fits: (one: Json) => one !== null, wants: 'must not be null' };
  return operand.fits(value) ? undefined : operand.wants;
}
