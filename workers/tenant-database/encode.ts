import { AppError } from '#shared/errors.ts';
import { isJsonObject, type Json } from '#shared/json.ts';
import type { Column } from './catalog.ts';

/** A value of JSON as the server reads it for this column: the other way round of what `values.ts` makes. */
export function encode(value: Json, column: Column, field: string): unknown {
  if (value === null) return null;
  if (column.kind === 'json') return JSON.stringify(value);
  if (column.kind === 'bytes') return asBytes(value, column, field);
  if (column.kind === 'list') return Array.isArray(value) ? value : String(value);
  if (Array.isArray(value) || isJsonObject(value))
    throw new AppError('VALIDATION_ERROR', `${field}: "${column.name}" is ${column.type} and takes one value`);
  return String(value);
}

function asBytes(value: Json, column: Column, field: string): Buffer {
  if (typeof value === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(value) && value.length % 4 === 0)
    return Buffer.from(value, 'base64');
  throw new AppError('VALIDATION_ERROR', `${field}: "${column.name}" is bytea and takes base64`);
}
