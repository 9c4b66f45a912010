import { writeXlsxStream } from 'hucre/xlsx';
import type { Json, JsonObject } from '#shared/json.ts';

/** Rows in portions, as they come. */
export type Portions = AsyncIterable<readonly JsonObject[]>;

interface ExportFormat {
  type: string;
  /** What a file of this kind can hold. */
  maxRows: number;
  write(names: readonly string[], portions: Portions): AsyncIterable<string | Uint8Array>;
}

export const exportFormats = {
  json: { type: 'application/json', maxRows: Infinity, write: writeJSON },
  csv: { type: 'text/csv', maxRows: Infinity, write: writeCSV },
  xlsx: {
    type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    maxRows: 1_048_575,
    write: writeXLSX,
  },
} as const satisfies Record<string, ExportFormat>;

async function* writeJSON(_names: readonly string[], portions: Portions): AsyncGenerator<string> {
  let before = '[';
  for await (const rows of portions) {
    if (rows.length === 0) continue;
    yield `${before}${rows.map((row) => JSON.stringify(row)).join(',')}`;
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

/** RFC 4180: a null is nothing, an empty text is `""`. */
async function* writeCSV(names: readonly string[], portions: Portions): AsyncGenerator<string> {
  yield lineOf(names);
  for await (const rows of portions) yield rows.map((row) => lineOf(names.map((name) => row[name] ?? null))).join('');
}

function lineOf(values: readonly Json[]): string {
  return `${values.map(asCell).join(',')}\r\n`;
}

function asCell(value: Json): string {
  if (value === null) return '';
  const text = asText(value);
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function asText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Numbers and booleans are themselves, all else is text: a text that looks like a formula is a text. */
function writeXLSX(names: readonly string[], portions: Portions): AsyncIterable<Uint8Array> {
  async function* rows() {
    for await (const portion of portions)
      for (const row of portion) yield names.map((name) => toCell(row[name] ?? null));
  }
  return writeXlsxStream(rows(), { name: 'Rows', columns: names.map((header) => ({ header })) });
}

function toCell(value: Json): string | number | boolean | null {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}
