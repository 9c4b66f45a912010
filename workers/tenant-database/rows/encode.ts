import { isJsonObject, type Json } from '#shared/core/json.ts';
import { invalid, type Path } from '#shared/core/schema/issues.ts';
import { writeArray } from '../../connections/postgresql/values.ts';
import type { Column } from '../catalog.ts';

/**
 * Encodes a JSON value as the server reads it for this column; the reverse of the readers in `postgresql/values.ts`. `path` is the path
 * of the value in the request.
 */
export function encode(value: Json, column: Column, path: Path): string | null {
  if (value === null) return null;
  if (column.kind !== 'list') return encodeOne(value, { ...column, path });
  if (!Array.isArray(value)) return String(value);
  const { kind = 'plain', delimiter = ',' } = column.element ?? {};
  return writeArray(value, {
    delimiter,
    isOfJson: kind === 'json',
    write: (item) => {
      if (item === null) return null;
      return isJsonObject(item) ? JSON.stringify(item) : encodeOne(item, { ...column, kind, path });
    },
  });
}

type ColumnValue = Pick<Column, 'type' | 'kind'> & { path: Path };

function encodeOne(value: Json, { type, kind, path }: ColumnValue): string {
  if (kind === 'json') return JSON.stringify(value);
  if (kind === 'bytes') return asBytes(value, path);
  if (Array.isArray(value) || isJsonObject(value))
    throw invalid([
      { path: [...path], message: `must be one ${type}, received ${Array.isArray(value) ? 'a list' : 'an object'}` },
    ]);
  return String(value);
}

function asBytes(value: Json, path: Path): string {
  if (typeof value === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(value) && value.length % 4 === 0)
    return `\\x${Buffer.from(value, 'base64').toString('hex')}`;
  throw invalid([{ path: [...path], message: 'must be base64, because the column is bytea' }]);
}
