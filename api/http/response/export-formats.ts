import { csvCell, neutralised } from '#shared/core/csv.ts';
import type { Json, JsonObject } from '#shared/core/json.ts';

/** Rows in batches, as they arrive. */
export type Batches = AsyncIterable<readonly JsonObject[]>;

interface ExportFormat {
  type: string;
  /** Limits of this file format. */
  maxRows: number;
  write(columns: readonly Column[], batches: Batches, options: ExportOptions): AsyncIterable<string | Uint8Array>;
}

export interface ExportOptions {
  /** Whether CSV texts that a spreadsheet would read as formulas stay as they are. */
  keepsFormulas: boolean;
  /** Whether CSV begins with a byte order mark, by which Excel knows UTF-8. */
  bom?: boolean;
}

interface Column {
  name: string;
  /** Type name of the server. */
  type: string;
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

async function* writeJSON(_columns: readonly Column[], batches: Batches): AsyncGenerator<string> {
  let before = '[';
  for await (const rows of batches) {
    if (rows.length === 0) continue;
    yield `${before}${rows.map((row) => JSON.stringify(row)).join(',')}`;
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

/** RFC 4180: null is an empty field, an empty text is `""`. */
async function* writeCSV(
  columns: readonly Column[],
  batches: Batches,
  { keepsFormulas, bom = false }: ExportOptions,
): AsyncGenerator<string> {
  const names = columns.map(({ name }) => name);
  const lineOf = (values: readonly Json[]) =>
    `${values.map((value) => csvCell(keepsFormulas ? value : neutralised(value))).join(',')}\r\n`;
  yield `${bom ? '\uFEFF' : ''}${lineOf(names)}`;
  for await (const rows of batches) yield rows.map((row) => lineOf(names.map((name) => row[name] ?? null))).join('');
}

/** Numbers and booleans keep their type, other values are text cells, so that no text is read as a formula. */
async function* writeXLSX(columns: readonly Column[], batches: Batches): AsyncGenerator<Uint8Array> {
  // Loaded with the first workbook: an API process that exports none is 8 MB smaller without it.
  const { writeXlsxStream } = await import('hucre/xlsx');
  async function* rows() {
    for await (const batch of batches)
      for (const row of batch) yield columns.map(({ name, type }) => toCell(row[name] ?? null, type));
  }
  yield* writeXlsxStream(rows(), { name: 'Rows', columns: columns.map(({ name }) => ({ header: name })) });
}

function toCell(value: Json, type: string): string | number | boolean | null {
  if (typeof value === 'string' && /^(?:numeric|bigint)/.test(type)) return asNumber(value);
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}

/** A workbook stores 15 digits: a longer number would change. */
function asNumber(text: string): string | number {
  const digits = text.replace(/^-?0*\.?0*|\./g, '');
  return /^-?\d+(?:\.\d+)?$/.test(text) && digits.length <= 15 ? Number(text) : text;
}
