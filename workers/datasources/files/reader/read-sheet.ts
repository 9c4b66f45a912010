import type { Json } from '#shared/core/json.ts';
import { fileTypes } from '#shared/datasources/files/types.ts';
import { InvalidField, type SheetNamesRequest, type SheetRequest } from '../protocol.ts';
import { csvRows } from './csv-rows.ts';
import { columnName, parseRange, type Range } from './range.ts';
import { collectRows, uniqueNames } from './rows.ts';
import { TextColumn } from './text-column.ts';
import { sheetNames, workbookRows } from './workbook-rows.ts';

/** Reads a CSV file or a sheet of a workbook as a table, whose columns are named by the header row. */
export async function readSheet(request: SheetRequest): Promise<string> {
  const { file, sheetName, headerRow, maxRows } = request;
  const range = parseRange(request.range);
  if (file.fileType === fileTypes.csv || file.fileType === fileTypes.tsv) {
    const table = await takeTable(csvRows(file), { range, headerRow, maxRows });
    const columns = table.names.map((_name, index) => new TextColumn(index));
    for (const row of table.rows) for (const column of columns) column.see(row[column.index]);
    return present(
      table,
      columns.map((column) => column.type),
      (value, index) => columns[index]?.read(value) ?? null,
    );
  }
  if (file.fileType !== fileTypes.xlsx)
    throw new InvalidField('datasourceOptions.fileInfo', 'must be CSV, TSV or Excel (.xlsx)');
  const table = await takeTable(workbookRows(file.path, sheetName), { range, headerRow, maxRows });
  const types = table.names.map((_name, index) => typeOf(table.rows.map((row) => row[index] ?? null)));
  return present(table, types, (value) => value ?? null);
}

export async function readSheetNames({ file }: SheetNamesRequest): Promise<string> {
  const names = file.fileType === fileTypes.xlsx ? await sheetNames(file.path) : [];
  const rows = collectRows(['name'], MAX_SHEETS);
  for (const name of names) rows.add([name]);
  return rows.toJSON([{ name: 'name', type: 'text' }]);
}

const MAX_SHEETS = 10_000;

interface Table {
  names: string[];
  rows: Json[][];
  maxRows: number;
}

/** Reads one row more than `maxRows`, which shows whether there are more. */
async function takeTable(
  source: AsyncIterable<Json[]>,
  { range, headerRow, maxRows }: { range: Range; headerRow: number; maxRows: number },
): Promise<Table> {
  const rows: Json[][] = [];
  let header: Json[] | undefined;
  let width = 0;
  let number = 0;
  for await (const cells of source) {
    number += 1;
    if (number < range.top) continue;
    if (number > range.bottom || rows.length > maxRows) break;
    const inside = cells.slice(range.left, range.right);
    const position = number - range.top + 1;
    if (position === headerRow) header = inside;
    if (position <= headerRow || inside.every((cell) => cell === null || cell === '')) continue;
    width = Math.max(width, inside.length);
    rows.push(inside);
  }
  width = Math.max(width, header?.length ?? 0);
  const names = Array.from({ length: width }, (_none, index) => {
    const title = String(header?.[index] ?? '').trim();
    return title || columnName(range.left + index);
  });
  return { names: uniqueNames(names), rows, maxRows };
}

function present(
  table: Table,
  types: readonly string[],
  read: (value: Json | undefined, index: number) => Json,
): string {
  const rows = collectRows(table.names, table.maxRows);
  for (const row of table.rows) if (!rows.add(table.names.map((_name, index) => read(row[index], index)))) break;
  return rows.toJSON(table.names.map((name, index) => ({ name, type: types[index] ?? 'text' })));
}

function typeOf(values: readonly Json[]): string {
  const kinds = new Set(values.filter((value) => value !== null).map(kindOf));
  const [only] = kinds;
  return kinds.size === 1 && only ? only : 'text';
}

function kindOf(value: Json): string {
  if (typeof value !== 'string') return typeof value;
  return /^\d{4}-\d\d-\d\d(T|$)/.test(value) ? 'date' : 'text';
}
