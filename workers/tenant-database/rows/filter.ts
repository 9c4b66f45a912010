import type { Json, JsonObject } from '#shared/core/json.ts';
import { invalid, type Path } from '#shared/core/schema/issues.ts';
import { type DatabaseFilter, type Operator, readFilter } from '#shared/datasources/tenant-database/filter.ts';
import { type Column, columnOf, type Table } from '../catalog.ts';
import { quoteName } from '../quote.ts';
import { encode } from './encode.ts';
import type { Value } from './values.ts';

/** Writes a filter as the condition of a statement; adds its values to those of the statement. Errors call the filter `where`. */
export function conditionOf({ filter }: { filter: JsonObject | null }, table: Table, values: Value[]): string {
  return filter
    ? compile(readFilter(filter), { table, values, isInOneTable: table.position !== 'tableoid and ctid' })
    : 'true';
}

interface FilterContext {
  table: Table;
  values: Value[];
  /** Whether the conditions around this one leave the rows of one table, so that a `ctid` names one of them. */
  isInOneTable: boolean;
}

function compile(filter: DatabaseFilter, context: FilterContext): string {
  const joined = (parts: DatabaseFilter[], word: string, none: string) =>
    parts.length === 0 ? none : `(${parts.map((part) => compile(part, context)).join(` ${word} `)})`;
  if ('all' in filter && !context.isInOneTable && namesTable(filter))
    return compile(filter, { ...context, isInOneTable: true });
  if ('all' in filter) return joined(filter.all, 'and', 'true');
  if ('any' in filter) return joined(filter.any, 'or', 'false');
  if ('not' in filter) return `(not ${compile(filter.not, context)})`;
  const { column, operator, value } = filter;
  const path = ['where', ...filter.path];
  const found = columnOf(context.table, column, { path: path.slice(0, -1) });
  if (found.name === 'ctid' && !context.isInOneTable)
    throw invalid([{ path: path.slice(0, -1), message: CTID_OF_SEVERAL }]);
  return compare(found, operator, { value, path, values: context.values });
}

const CTID_OF_SEVERAL =
  'names a row in each of several tables: add "tableoid": {"=": …} to it, as the row shows it, or use the primary key';

function namesTable(filter: DatabaseFilter): boolean {
  if ('all' in filter) return filter.all.some(namesTable);
  return 'column' in filter && filter.column === 'tableoid' && filter.operator === '=' && filter.value !== null;
}

interface Operand {
  value: Json;
  path: Path;
  values: Value[];
}

/** The server infers the type of each value from the column beside it. */
function compare(column: Column, operator: Operator, { value, path, values }: Operand): string {
  const name = quoteName(column.name);
  const bind = (item: Json) => {
    values.push({ text: encode(item, column, path), column, path });
    if (values.length > MAX_VALUES)
      throw invalid([{ path: ['where'], message: `must contain at most ${MAX_VALUES} values` }]);
    return placeholder(values.length, column);
  };
  const list = () => (value as Json[]).map(bind);
  if (operator === 'IS NULL') return `${name} is ${value ? '' : 'not '}null`;
  if (value === null) return `${name} is ${operator === '=' ? '' : 'not '}null`;
  if (operator === 'IN') return `${name} in (${list().join(', ')})`;
  if (operator === 'NOT IN') return `${name} not in (${list().join(', ')})`;
  if (operator === 'BETWEEN') return `${name} between ${list().join(' and ')}`;
  if (operator === 'LIKE' || operator === 'ILIKE') {
    values.push({ text: patternOf(String(value)), column, path });
    return `${name}::text ${operator.toLowerCase()} $${values.length}`;
  }
  return `${name} ${operator === '!=' ? '<>' : operator} ${bind(value)}`;
}

const MAX_VALUES = 20_000;

/** A parameter beside a column to compare with. Of a composite type the server infers only that it is a record, which it cannot read. */
export function placeholder(number: number, { kind, type }: Column): string {
  return kind === 'composite' ? `$${number}::${type}` : `$${number}`;
}

/** Without a `%` the pattern finds the text anywhere, literally. */
function patternOf(text: string): string {
  return text.includes('%') ? text : `%${text.replace(/[\\_]/g, '\\$&')}%`;
}
