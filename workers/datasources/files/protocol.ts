import type { Json } from '#shared/core/json.ts';

export interface ReadableFile {
  /** Path of the copy on the disk of this worker. */
  path: string;
  fileType: string;
}

/** Beginning of the names of files that a reader may write beside the files that it reads: one in UTF-8, while it is read. */
export const DECODED = 'decoded-';

export interface SheetRequest {
  kind: 'sheet';
  file: ReadableFile;
  sheetName: string;
  headerRow: number;
  range: string;
  maxRows: number;
}

/** Asks for the names of a workbook's sheets; other files have none. */
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

/** Asks for the result that a `ready` reply has announced. */
export interface SendRequest {
  kind: 'send';
}

export interface ReadColumn {
  name: string;
  type: string;
}

/** Rows of a file, in the form of a `QueryResult`. */
export interface ReadResult {
  data: Json;
  columns: ReadColumn[];
  rowCount: number;
  truncated: boolean;
}

/** Reply of a reader: the length of the result, the result as JSON, or a fault of the request or the file. */
export type Reply =
  /** The result is complete. The reader sends it after a `SendRequest`. */
  | { kind: 'ready'; length: number }
  | { kind: 'result'; json: string }
  | { kind: 'failed'; message: string; details: Json }
  | { kind: 'invalid'; field: string; message: string };

/** An error of a reader that the client may see. */
export class ReadFailure extends Error {
  readonly details: Json;

  constructor(message: string, details: Json = null) {
    super(message);
    this.details = details;
  }
}

/** A failure because of a field of the query, or of the datasource: `datasourceOptions.files`. */
export class InvalidField extends ReadFailure {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}
