import { AppError } from '#shared/errors.ts';
import { isJsonObject, type Json } from '#shared/json.ts';
import { writeArray } from '../postgresql/values.ts';
import type { Column } from './catalog.ts';

/** Encodes a JSON value as the server reads it for this column; the reverse of the readers in `postgresql/values.ts`. */
export function encode(value: Json, column: Column, field: string): string | null {
  if (value === null) return null;
  if (column.kind !== 'list') return encodeOne(value, { ...column, field });
  if (!Array.isArray(value)) return String(value);
  const { kind = 'plain', delimiter = ',' } = column.element ?? {};
  return writeArray(value, {
    delimiter,
    isOfJson: kind === 'json',
    write: (item) => {
      if (item === null) return null;
      return isJsonObject(item) ? JSON.stringify(item) : encodeOne(item, { ...column, kind, field });
    },
  });
}

type ColumnValue = Pick<Column, 'name' | 'type' | 'kind'> & { field: string };

function encodeOne(value: Json, { name, type, kind, field }: ColumnValue): string {
  if (kind === 'json') return JSON.stringify(value);
  if (kind === 'bytes') return asBytes(value, { name, field });
  if (Array.isArray(value) || isJsonObject(value))
    throw new AppError('VALIDATION_ERROR', `${field}: "${name}" is ${type} and takes one value`);
  return String(value);
}

function asBytes(value: Json, { name, field }: Pick<ColumnValue, 'name' | 'field'>): string {
  if (typeof value === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(value) && value.length % 4 === 0)
    return `\\x${Buffer.from(value, 'base64').toString('hex')}`;
  throw new AppError('VALIDATION_ERROR', `${field}: "${name}" is bytea and takes base64`);
}
