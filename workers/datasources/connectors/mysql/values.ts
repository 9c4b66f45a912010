import type { FieldPacket } from 'mysql2';
import type { Json } from '#shared/core/json.ts';
import { numberOrText, parseJson } from '../../../connections/rows.ts';

/** Numbers of column types in the protocol. */
const FLOAT = 4;
const TIMESTAMP = 7;
const DATETIME = 12;
const BIT = 16;
const JSON_TYPE = 245;

const names: Readonly<Record<number, string>> = {
  0: 'decimal',
  1: 'tinyint',
  2: 'smallint',
  3: 'int',
  [FLOAT]: 'float',
  5: 'double',
  6: 'null',
  [TIMESTAMP]: 'timestamp',
  8: 'bigint',
  9: 'mediumint',
  10: 'date',
  11: 'time',
  [DATETIME]: 'datetime',
  13: 'year',
  [BIT]: 'bit',
  242: 'vector',
  [JSON_TYPE]: 'json',
  246: 'decimal',
  255: 'geometry',
};

/** Types that are text or bytes, depending on their character set. */
const ambiguous: Readonly<Record<number, readonly [text: string, bytes: string]>> = {
  249: ['tinytext', 'tinyblob'],
  250: ['mediumtext', 'mediumblob'],
  251: ['longtext', 'longblob'],
  252: ['text', 'blob'],
  253: ['varchar', 'varbinary'],
  254: ['char', 'binary'],
};

/** Number of the character set `binary`. */
const BYTES = 63;
/** Flags of a column in the protocol. */
const UNSIGNED = 32;
const ENUM = 256;
const SET = 2048;

/** SQL name of a column's type. */
export function typeName(field: FieldPacket): string {
  const { columnType = 0, characterSet, extendedTypeName, extendedFormat } = field;
  const flags = Number(field.flags);
  const extended = extendedFormat ?? extendedTypeName;
  if (extended !== undefined) return extended;
  if ((flags & ENUM) !== 0) return 'enum';
  if ((flags & SET) !== 0) return 'set';
  const known = ambiguous[columnType];
  if (known) return known[characterSet === BYTES ? 1 : 0];
  return `${names[columnType] ?? columnType}${isWhole(columnType) && (flags & UNSIGNED) !== 0 ? ' unsigned' : ''}`;
}

function isWhole(type: number): boolean {
  return (type >= 1 && type <= 3) || type === 8 || type === 9;
}

/** Converts a value of the driver to JSON. */
export function readerOf({ columnType, extendedFormat }: FieldPacket): (value: unknown) => Json {
  if (columnType === JSON_TYPE || extendedFormat === 'json') return (value) => whenText(value, parseJson);
  if (columnType === TIMESTAMP) return (value) => whenText(value, (text) => isoTime(text, 'Z'));
  if (columnType === DATETIME) return (value) => whenText(value, (text) => isoTime(text, ''));
  if (columnType === BIT) return (value) => (Buffer.isBuffer(value) ? numberOfBits(value) : asJson(value));
  if (columnType === FLOAT) return (value) => (typeof value === 'number' ? shortest(value) : asJson(value));
  return asJson;
}

function whenText(value: unknown, read: (text: string) => Json): Json {
  return typeof value === 'string' ? read(value) : asJson(value);
}

/** A zero date is no date, and stays text. */
function isoTime(text: string, zone: string): string {
  return text.startsWith('0000-00-00') ? text : text.replace(' ', 'T') + zone;
}

/** The bits as a number, which is what a statement gives back to the column; as base64 its characters would be taken for bits. */
function numberOfBits(bits: Buffer): Json {
  const number = BigInt(`0x${bits.toString('hex') || '0'}`);
  return number <= Number.MAX_SAFE_INTEGER ? Number(number) : String(number);
}

/** Shortest digits of a 32-bit float; as a double it would print many more. */
function shortest(value: number): Json {
  for (let digits = 6; digits < 9; digits += 1) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return numberOrText(value);
}

/** Bytes become base64; geometries are objects of the driver, which are JSON already. */
function asJson(value: unknown): Json {
  if (Buffer.isBuffer(value)) return value.toString('base64');
  if (typeof value === 'number') return numberOrText(value);
  return (value ?? null) as Json;
}
