import { isNeeded, kindOf, type TableColumn, valueOfEntry } from './cells.ts';

type Row = Readonly<Record<string, unknown>>;

/** The rows of a CSV file as texts, with the separator that its first line has: a comma, a semicolon or a tab. */
export function readCSV(text: string): string[][] {
  const source = text.replace(/^\uFEFF/, '');
  const separator = separatorOf(source);
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at < source.length) {
    const cell = cellAt(source, at, separator);
    row.push(cell.text);
    at = cell.end;
    const isLast = source[at] !== separator;
    if (isLast) {
      rows.push(row);
      row = [];
    }
    if (source[at] === '\r' && source[at + 1] === '\n') at += 1;
    at += 1;
    // A separator at the very end has an empty cell behind it.
    if (!isLast && at === source.length) rows.push([...row, '']);
  }
  // A line without any text is no row.
  return rows.filter((cells) => cells.some((cell) => cell !== ''));
}

function separatorOf(source: string): string {
  const [line = ''] = source.replace(/"[^"]*"/g, '').split(/[\r\n]/, 1);
  const counts = [',', ';', '\t'].map((one) => ({ one, count: line.split(one).length }));
  return counts.toSorted((a, b) => b.count - a.count)[0]?.one ?? ',';
}

/** The cell that begins at this place, and the place of the separator or the line's end behind it. */
function cellAt(source: string, from: number, separator: string): { text: string; end: number } {
  if (source[from] !== '"') {
    const end = endOf(source, from, separator);
    return { text: source.slice(from, end), end };
  }
  let text = '';
  let at = from + 1;
  for (;;) {
    const quote = source.indexOf('"', at);
    if (quote === -1) throw new Error('A quotation mark is not closed');
    text += source.slice(at, quote);
    at = quote + 1;
    if (source[at] !== '"') {
      const end = endOf(source, at, separator);
      return { text: text + source.slice(at, end), end };
    }
    // Two of them in a quoted text are one.
    text += '"';
    at += 1;
  }
}

function endOf(source: string, from: number, separator: string): number {
  let end = from;
  while (end < source.length && source[end] !== separator && source[end] !== '\n' && source[end] !== '\r') end += 1;
  return end;
}

export interface Matched {
  /** The rows to add, in the order of the file. */
  rows: Row[];
  columns: string[];
  /** Names in the first line that the table does not have. */
  leftOut: string[];
}

/** The rows of a file whose first line names columns of the table. An empty cell gives no value. Throws where a cell does not fit. */
export function rowsOfFile(text: string, columns: readonly TableColumn[]): Matched {
  const [names, ...lines] = readCSV(text);
  if (!names) throw new Error('There are no rows');
  const byName = new Map(columns.map((column) => [column.databaseTableColumnName.toLowerCase(), column]));
  const found = names.map((name) => byName.get(name.trim().toLowerCase()));
  const known = found.filter((column) => column !== undefined);
  if (known.length === 0)
    throw new Error(`The first line must name columns of the table; it has ${names.slice(0, 5).join(', ')}`);
  if (new Set(known).size < known.length) throw new Error('The first line names a column twice');
  const missing = columns.filter((column) => isNeeded(column) && !known.includes(column));
  if (missing.length > 0)
    throw new Error(
      `The first line lacks columns that the table requires: ${missing.map((one) => one.databaseTableColumnName).join(', ')}`,
    );
  return {
    rows: lines.map((cells, index) => rowOf(cells, found, index + 2)),
    columns: known.map((column) => column.databaseTableColumnName),
    leftOut: names.filter((_name, index) => !found[index]),
  };
}

/** A line as a row. An empty cell gives no value; undefined: a column that is left out. */
export function rowOf(cells: readonly string[], columns: readonly (TableColumn | undefined)[], line: number): Row {
  if (cells.length > columns.length)
    throw new Error(`Row ${line} has ${cells.length} cells, and the first line ${columns.length}`);
  return Object.fromEntries(
    cells.flatMap((cell, index): [string, unknown][] => {
      const column = columns[index];
      if (!column || cell === '') return [];
      try {
        return [[column.databaseTableColumnName, cellValue(column, cell)]];
      } catch (error) {
        throw new Error(`Row ${line}: ${(error as Error).message}`);
      }
    }),
  );
}

const truths: Readonly<Record<string, boolean>> = {
  ...{ true: true, t: true, yes: true, y: true, 1: true },
  ...{ false: false, f: false, no: false, n: false, 0: false },
};

function cellValue(column: TableColumn, cell: string): unknown {
  if (kindOf(column) !== 'boolean') return valueOfEntry(column, cell);
  const value = Object.entries(truths).find(([word]) => word === cell.trim().toLowerCase())?.[1];
  if (value === undefined)
    throw new Error(
      `${column.databaseTableColumnName}: expected true or false, or yes or no, and not “${cell.slice(0, 40)}”`,
    );
  return value;
}
