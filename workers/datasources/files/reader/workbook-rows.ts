import { readFile } from 'node:fs/promises';
import { unzipSync } from 'fflate';
import { type CellValue, HucreError } from 'hucre';
import { readXlsx, streamXlsxRows } from 'hucre/xlsx';
import { isUnsafeInteger } from '#shared/core/exact-number.ts';
import type { Json } from '#shared/core/json.ts';
import { InvalidField, ReadFailure } from '../protocol.ts';
import { type TimeAt, timeCells } from './time-cells.ts';
import { writtenIntegers } from './written-integers.ts';

const MAX_UNPACKED = 150 * 1024 * 1024;
const MAX_ROWS = 1_048_576;

/** Yields the rows of one sheet: values, and for formulas their values when the file was saved. */
export async function* workbookRows(path: string, sheetName: string): AsyncGenerator<Json[]> {
  const bytes = await readBytes(path);
  const integerAt = writtenIntegers(bytes);
  let timeAt: TimeAt | undefined;
  let next = 0;
  try {
    for await (const { index, values } of streamXlsxRows(bytes, { sheet: sheetName || 0 })) {
      if (index >= MAX_ROWS) throw unreadable();
      // Rows without cells are not in the file.
      for (; next < index; next += 1) yield [];
      yield values.map((value, column) => {
        if (isUnsafeInteger(value)) return integerAt({ row: index, column, value });
        if (!(value instanceof Date)) return toJSON(value);
        timeAt ??= timeCells(bytes, sheetName);
        return timeAt(index, column) ?? timeOf(value);
      });
      next += 1;
    }
  } catch (error) {
    throw explain(error);
  }
  if (next === 0 && sheetName !== '' && !(await namesIn(bytes)).includes(sheetName))
    throw new InvalidField('sheetName', `there is no sheet "${sheetName}"`);
}

export async function sheetNames(path: string): Promise<string[]> {
  return await namesIn(await readBytes(path));
}

/** Reads only the names, not the sheets. */
async function namesIn(bytes: Buffer): Promise<string[]> {
  const names: string[] = [];
  try {
    await readXlsx(bytes, {
      sheets({ name }) {
        names.push(name);
        return false;
      },
    });
  } catch (error) {
    throw explain(error);
  }
  return names;
}

async function readBytes(path: string): Promise<Buffer> {
  const bytes = await readFile(path);
  if (unpackedSize(bytes) > MAX_UNPACKED) throw new ReadFailure('The workbook is too large: more than 150 MB unpacked');
  return bytes;
}

/** Unpacked size, as the archive declares it. hucre unpacks no more of an entry than was declared for it. */
function unpackedSize(bytes: Buffer): number {
  let size = 0;
  try {
    unzipSync(bytes, {
      filter({ originalSize }) {
        size += originalSize;
        return false;
      },
    });
  } catch {
    throw unreadable();
  }
  return size;
}

function explain(error: unknown): unknown {
  // A TypeError with a code is zlib's error for bytes that it cannot inflate.
  const isAboutTheFile = error instanceof HucreError || (error instanceof TypeError && 'code' in error);
  return isAboutTheFile ? unreadable() : error;
}

function unreadable(): ReadFailure {
  return new ReadFailure('The file is not a readable workbook');
}

/** A cell with an error (`#N/A`, `#DIV/0!` …) has no value. */
function toJSON(value: CellValue): Json {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'string') return value === '' || errors.has(value) ? null : value;
  return typeof value === 'boolean' ? value : null;
}

/** Names of errors, which hucre returns as texts. */
const errors: ReadonlySet<string> = new Set([
  '#NULL!',
  '#DIV/0!',
  '#VALUE!',
  '#REF!',
  '#NAME?',
  '#NUM!',
  '#N/A',
  '#GETTING_DATA',
  '#SPILL!',
  '#CALC!',
]);

/** Writes the time that the cell shows, without a zone; a day without a time. */
function timeOf(date: Date): string | null {
  if (Number.isNaN(date.getTime())) return null;
  const text = date.toISOString().replace(/(?:\.000)?Z$/, '');
  return text.endsWith('T00:00:00') ? text.slice(0, -'T00:00:00'.length) : text;
}
