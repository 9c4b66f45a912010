import { type DatabaseFilter, type Operator, readFilter } from '#shared/database-filter.ts';
import { AppError } from '#shared/errors.ts';
import type { Json, JsonObject } from '#shared/json.ts';
import { type Column, columnOf, type Table } from './catalog.ts';
import { encode } from './encode.ts';
import { quoteName } from './quote.ts';

/** Of a statement, as the server reads them. */
export type Values = (string | null)[];

/** The condition of a statement, with its values among those of the statement. */
export function conditionOf(filter: JsonObject | null, table: Table, values: Values): string {
  return filter ? compile(readFilter(filter), table, values) : 'true';
}

function compile(filter: DatabaseFilter, table: Table, values: Values): string {
  const joined = (parts: DatabaseFilter[], word: string, none: string) =>
    parts.length === 0 ? none : `(${parts.map((part) => compile(part, table, values)).join(` ${word} `)})`;
  if ('all' in filter) return joined(filter.all, 'and', 'true');
  if ('any' in filter) return joined(filter.any, 'or', 'false');
  if ('not' in filter) return `(not ${compile(filter.not, table, values)})`;
  const { column, operator, value } = filter;
  return compare(columnOf(table, column, 'filter'), operator, { value, values });
}

/** The server takes the type of each value from the column beside it. */
function compare(column: Column, operator: Operator, { value, values }: { value: Json; values: Values }): string {
  const name = quoteName(column.name);
  const bind = (one: Json) => {
    values.push(encode(one, column, 'filter'));
    if (values.length > MOST_VALUES)
      throw new AppError('VALIDATION_ERROR', `filter: holds more than ${MOST_VALUES} values`);
    return `$${values.length}`;
  };
  const list = () => (value as Json[]).map(bind);
  if (operator === 'IS NULL') return `${name} is ${value ? '' : 'not '}null`;
  if (value === null) return `${name} is ${operator === '=' ? '' : 'not '}null`;
  if (operator === 'IN') return `${name} in (${list().join(', ')})`;
  if (operator === 'NOT IN') return `${name} not in (${list().join(', ')})`;
  if (operator === 'BETWEEN') return `${name} between ${list().join(' and ')}`;
  if (operator === 'LIKE' || operator === 'ILIKE') {
    values.push(patternOf(String(value)));
    return `${name}::text ${operator.toLowerCase()} $${values.length}`;
  }
  return `${name} ${operator === '!=' ? '<>' : operator} ${bind(value)}`;
}

const MOST_VALUES = 20_000;

/** Without a `%` the text is looked for anywhere, as it is. */
function patternOf(text: string): string {
  return text.includes('%') ? text : `%${text.replace(/[\\_]/g, '\\$&')}%`;
}
