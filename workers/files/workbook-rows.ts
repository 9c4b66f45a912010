import { readFile } from 'node:fs/promises';
import { unzipSync } from 'fflate';
import readWorkbook, {
  InvalidInputError,
  InvalidSpreadsheetError,
  readSheet,
  SheetNotFoundError,
} from 'read-excel-file/node';
import type { Json } from '#shared/json.ts';
import { ReadFailure } from './protocol.ts';

const MAX_UNPACKED = 150 * 1024 * 1024;

/** The rows of one sheet: values, and of formulas what they had come to when the file was saved. */
export async function* workbookRows(path: string, sheetName: string): AsyncGenerator<Json[]> {
  const bytes = await readBytes(path);
  try {
    const rows = await readSheet(bytes, sheetName || 1, { parseNumber, trim: false });
    for (const row of rows) yield row.map(toJSON);
  } catch (error) {
    if (error instanceof SheetNotFoundError)
      throw new ReadFailure('VALIDATION_ERROR', `sheetName: there is no sheet "${sheetName}"`);
    throw explain(error);
  }
}

export async function sheetNames(path: string): Promise<string[]> {
  const bytes = await readBytes(path);
  try {
    return (await readWorkbook(bytes)).map(({ sheet }) => sheet);
  } catch (error) {
    throw explain(error);
  }
}

async function readBytes(path: string): Promise<Buffer> {
  const bytes = await readFile(path);
  if (unpackedSize(bytes) > MAX_UNPACKED)
    throw new ReadFailure('DB_ERROR', 'The workbook is too large once it is unpacked: more than 150 MB');
  return bytes;
}

function explain(error: unknown): unknown {
  // It names the cell.
  if (error instanceof InvalidSpreadsheetError) return unreadable(`: ${error.message}`);
  return error instanceof InvalidInputError ? unreadable() : error;
}

/** As the archive says it. One that lies is ended by the limit on the memory of the process it is read in. */
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

function unreadable(why = ''): ReadFailure {
  return new ReadFailure('DB_ERROR', `The file is not a workbook that can be read${why}`);
}

/** A workbook has doubles; of an integer that a double cannot hold somebody has written the digits. */
function parseNumber(text: string): number | string {
  const number = Number(text);
  return Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number)) ? number : text;
}

function toJSON(value: unknown): Json {
  if (value instanceof Date) return timeOf(value);
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null;
}

/** What a cell shows has no zone; a day has no time. */
function timeOf(date: Date): string | null {
  if (Number.isNaN(date.getTime())) return null;
  const text = date.toISOString().replace(/(?:\.000)?Z$/, '');
  return text.endsWith('T00:00:00') ? text.slice(0, -'T00:00:00'.length) : text;
}
