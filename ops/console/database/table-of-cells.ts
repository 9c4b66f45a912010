import { numberIn } from '#shared/core/exact-number.ts';
import type { TableColumn } from './cells.ts';
import { readCSV, rowOf } from './csv.ts';

export interface ColumnOfCells {
  name: string;
  type: string;
  primaryKey: boolean;
  /** Its position in a line of the cells. */
  from: number;
}

export interface TableOfCells {
  columns: ColumnOfCells[];
  lines: string[][];
}

/** The columns of a table for cells whose first line names them, with the types that all their values have. */
export function tableOfCells(text: string): TableOfCells {
  const [names, ...lines] = readCSV(text);
  if (!names) throw new Error('There are no rows');
  const taken = new Set<string>();
  const columns = names.map((given, from): ColumnOfCells => {
    const values = lines.map((cells) => cells[from] ?? '').filter((cell) => cell !== '');
    const name = freeName(given, from, taken);
    const type = typeOf(values);
    const isKey = name === 'id' && values.length === lines.length && new Set(values).size === values.length;
    return { name, type, primaryKey: isKey, from };
  });
  return { columns, lines };
}

/** The rows of cells by the names and types that the columns have got meanwhile. */
export function rowsOfCells(
  lines: readonly string[][],
  columns: readonly { name: string; type: string; from?: number | undefined }[],
): Record<string, unknown>[] {
  const count = Math.max(0, ...lines.map((cells) => cells.length));
  const byPosition = Array.from({ length: count }, (_none, position) => {
    const column = columns.find(({ from }) => from === position);
    return column && ({ databaseTableColumnName: column.name, databaseTableColumnType: column.type } as TableColumn);
  });
  return lines.map((cells, index) => rowOf(cells, byPosition, index + 2));
}

/** A name that SQL takes without quotation marks. */
function freeName(given: string, position: number, taken: Set<string>): string {
  const plain = given
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^\p{L}\p{N}]+/gu, '_')
    .replace(/^_+|_+$/g, '');
  const base = plain === '' ? `column_${position + 1}` : plain;
  let name = base;
  for (let next = 2; taken.has(name); next += 1) name = `${base}_${next}`;
  taken.add(name);
  return name;
}

const types: readonly [string, (cell: string) => boolean][] = [
  // A number with a zero before it is a code, such as that of a place.
  ['bigint', (cell) => /^-?(?:0|[1-9]\d{0,17})$/.test(cell)],
  ['numeric', (cell) => !/^-?0\d/.test(cell) && numberIn(cell) !== undefined],
  ['boolean', (cell) => /^(?:true|false|yes|no)$/i.test(cell)],
  ['date', (cell) => /^\d{4}-\d\d-\d\d$/.test(cell)],
  ['timestamptz', (cell) => /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/.test(cell)],
];

function typeOf(values: readonly string[]): string {
  if (values.length === 0) return 'text';
  return types.find(([, fits]) => values.every((cell) => fits(cell.trim())))?.[0] ?? 'text';
}
