import { numberIn } from '#shared/core/exact-number.ts';
import { parseExact } from '#shared/core/lossless-json.ts';
import type { Schemas } from '../client/types.ts';

export type TableColumn = Schemas['DatabaseTable']['databaseTableColumns'][number];
export type CellKind = 'text' | 'other' | 'number' | 'boolean' | 'enum' | 'date' | 'time' | 'json';

/** The kind of field in which a value of a column is entered. */
export function kindOf({ databaseTableColumnType: type, isList, enumValues }: TableColumn): CellKind {
  if (isList) return 'json';
  if (enumValues) return 'enum';
  if (type === 'boolean') return 'boolean';
  if (type === 'date') return 'date';
  if (/^timestamp\b.* with time zone$/.test(type)) return 'time';
  if (/^(?:json|jsonb|bytea)$/.test(type)) return 'json';
  if (/^(?:smallint|integer|bigint|real|double precision|numeric)\b/.test(type)) return 'number';
  // An empty text is a value of texts alone.
  return /^(?:text|citext|character|name)\b/.test(type) ? 'text' : 'other';
}

/** The content of a field: a text, or null; undefined while nothing was. */
export type Entry = string | null | undefined;

/** A value as its field shows it. */
export function entryOf(column: TableColumn, value: unknown): Entry {
  if (value === null || value === undefined) return null;
  if (kindOf(column) === 'json') return JSON.stringify(value, null, 2);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The value to send. Throws where a text is not what the column takes. */
export function valueOfEntry(column: TableColumn, entry: string | null): unknown {
  if (entry === null) return null;
  const kind = kindOf(column);
  const name = column.databaseTableColumnName;
  if (kind === 'boolean') return entry === 'true';
  if (kind === 'json') return parsed(name, entry);
  if (kind !== 'number') return entry;
  const number = numberIn(entry);
  // A number of PostgreSQL may also be `NaN` or `Infinity`, which JSON has as texts.
  return number === undefined ? entry.trim() : number;
}

function parsed(name: string, text: string): unknown {
  try {
    return parseExact(text);
  } catch (error) {
    throw new Error(`${name}: ${(error as Error).message}`);
  }
}

/** The value that a column gets, in words, if nothing is entered for a new row. */
export function usualWords({ defaultValue, isIdentity, isNullable }: TableColumn): string {
  if (isIdentity || /^nextval\(/.test(defaultValue ?? '')) return 'leave it empty: the database numbers the rows';
  if (defaultValue !== null) return `default: ${defaultValue}`;
  return isNullable ? 'optional' : 'required';
}

/** Whether a new row needs a value. */
export function isNeeded({ defaultValue, isIdentity, isNullable }: TableColumn): boolean {
  return defaultValue === null && !isIdentity && !isNullable;
}

/** Whether a new row without a value has null. */
export function isUsuallyNull({ defaultValue, isIdentity }: TableColumn): boolean {
  return defaultValue === null && !isIdentity;
}
