import { unzipSync } from 'fflate';
import { columnName } from './range.ts';

interface IntegerCell {
  /** Row and column are counted from 0. */
  row: number;
  column: number;
  value: number;
}

/**
 * Finds the digits of integers that a double cannot represent. hucre reads every number into a double, which is all that Excel
 * writes; other programs write identifiers of 16 and more digits, which would be returned as other identifiers.
 */
export function writtenIntegers(bytes: Uint8Array): (cell: IntegerCell) => string {
  let found: Map<string, Set<string>> | undefined;
  return ({ row, column, value }) => {
    found ??= findIntegers(bytes);
    const written = found.get(`${columnName(column)}${row + 1}`) ?? new Set();
    // All sheets are searched, so another sheet may have another number in the same cell.
    const [digits, ...others] = [...written].filter((text) => Number(text) === value);
    return digits !== undefined && others.length === 0 ? digits : String(value);
  };
}

/** Finds long integers, by the names of their cells. */
function findIntegers(bytes: Uint8Array): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  const sheets = unzipSync(bytes, { filter: ({ name }) => /^xl\/worksheets\/[^/]+\.xml$/i.test(name) });
  for (const sheet of Object.values(sheets)) {
    const text = Buffer.from(sheet.buffer, sheet.byteOffset, sheet.byteLength).toString('latin1');
    for (const { 1: digits = '', index } of text.matchAll(/<(?:\w+:)?v>(-?\d{16,})</g)) {
      const cell = /^ r="([A-Z]+\d+)"/.exec(text.slice(text.lastIndexOf(' r="', index), index))?.[1] ?? '';
      found.set(cell, (found.get(cell) ?? new Set()).add(digits));
    }
  }
  return found;
}
