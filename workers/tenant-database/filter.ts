import { type DatabaseFilter, type Operator, readFilter } from '#shared/database-filter.ts';
import { AppError } from '#shared/errors.ts';
import type { Json, JsonObject } from '#shared/json.ts';
import { type Column, columnOf, type Table } from './catalog.ts';
import { encode } from './encode.ts';
import { quoteName } from './quote.ts';
import type { Value } from './values.ts';

/** A filter, and the name of its field in the request. */
export interface Filtered {
  filter: JsonObject | null;
  filterField: string;
}

/** Writes a filter as the condition of a statement; adds its values to those of the statement. */
export function conditionOf({ filter, filterField }: Filtered, table: Table, values: Value[]): string {
  return filter ? compile(readFilter(filter), { table, values, field: filterField }) : 'true';
}

interface FilterContext {
  table: Table;
  values: Value[];
  field: string;
}

function compile(filter: DatabaseFilter, context: FilterContext): string {
  const joined = (parts: DatabaseFilter[], word: string, none: string) =>
    parts.length === 0 ? none : `(${parts.map((part) => compile(part, context)).join(` ${word} `)})`;
  if ('all' in filter) return joined(filter.all, 'and', 'true');
  if ('any' in filter) return joined(filter.any, 'or', 'false');
  if ('not' in filter) return `(not ${compile(filter.not, context)})`;
  const { column, operator, value } = filter;
  return compare(columnOf(context.table, column, context.field), operator, { value, ...context });
}

/** The server infers the type of each value from the column beside it. */
function compare(
  column: Column,
  operator: Operator,
  { value, values, field }: FilterContext & { value: Json },
): string {
  const name = quoteName(column.name);
  const bind = (one: Json) => {
    values.push({ text: encode(one, column, field), column, field });
    if (values.length > MAX_VALUES)
      throw new AppError('VALIDATION_ERROR', `${field}: must contain at most ${MAX_VALUES} values`);
    return `$${values.length}`;
  };
  const list = () => (value as Json[]).map(bind);
  if (operator === 'IS NULL') return `${name} is ${value ? '' : 'not '}null`;
  if (value === null) return `${name} is ${operator === '=' ? '' : 'not '}null`;
  if (operator === 'IN') return `${name} in (${list().join(', ')})`;
  if (operator === 'NOT IN') return `${name} not in (${list().join(', ')})`;
  if (operator === 'BETWEEN') return `${name} between ${list().join(' and ')}`;
  if (operator === 'LIKE' || operator === 'ILIKE') {
    values.push({ text: patternOf(String(value)), column, field });
    return `${name}::text ${operator.toLowerCase()} $${values.length}`;
  }
  return `${name} ${operator === '!=' ? '<>' : operator} ${bind(value)}`;
}

const MAX_VALUES = 20_000;

/** Without a `%` the pattern finds the text anywhere, literally. */
function patternOf(text: string): string {
  return text.includes('%') ? text : `%${text.replace(/[\\_]/g, '\\$&')}%`;
}
