import type { Json } from '#shared/json.ts';

export interface ReadableFile {
  /** On the disk of this worker. */
  path: string;
  fileType: string;
}

export interface SheetRequest {
  kind: 'sheet';
  file: ReadableFile;
  sheetName: string;
  headerRow: number;
  range: string;
  maxRows: number;
}

/** What the sheets of a workbook are called; a file without sheets has none. */
export interface SheetNamesRequest {
  kind: 'sheetNames';
  file: ReadableFile;
}

export interface SqlRequest {
  kind: 'sqlite' | 'duckdb';
  files: (ReadableFile & { name: string })[];
  sql: string;
  params: Json[];
  maxRows: number;
}

export type ReadRequest = SheetRequest | SheetNamesRequest | SqlRequest;

export interface ReadColumn {
  name: string;
  type: string;
}

/** The rows that were asked for: a `QueryResult` with all that a file can say. */
export interface ReadResult {
  data: Json;
  columns: ReadColumn[];
  rowCount: number;
  truncated: boolean;
}

/** What a reader says of a question: the result as JSON, or what is wrong with the question or the file. */
export type Reply =
  | { kind: 'result'; json: string }
  | { kind: 'failed'; code: 'DB_ERROR' | 'VALIDATION_ERROR'; message: string; details: Json };

/** What a reader throws for its caller to see. */
export class ReadFailure extends Error {
  readonly code: 'DB_ERROR' | 'VALIDATION_ERROR';
  readonly details: Json;

  constructor(code: 'DB_ERROR' | 'VALIDATION_ERROR', message: string, details: Json = null) {
    super(message);
    this.code = code;
    this.details = details;
  }
}
