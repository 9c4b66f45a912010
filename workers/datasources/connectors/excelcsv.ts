import { AppError } from '#shared/core/errors.ts';
import type { excelcsv } from '#shared/datasources/types/excelcsv.ts';
import type { DatasourceItem, QueryResult } from '../../connections/connection.ts';
import type { ReadableFile, ReadRequest, ReadResult, SheetRequest } from '../files/protocol.ts';
import type { Connector } from './connector.ts';

/** Keeps no file open between calls: each call checks again that the file exists and is the tenant's. */
export const connectExcelcsv: Connector<typeof excelcsv> = ({ fileInfo }, { tenantID, files }) => {
  function readFile(request: (file: ReadableFile) => ReadRequest, signal: AbortSignal): Promise<ReadResult> {
    const filePaths = [fileInfo.filePath];
    return files.read({ tenantID, filePaths, request: ([file = missing]) => request(file), signal });
  }

  function read(part: Omit<SheetRequest, 'kind' | 'file'>, signal: AbortSignal): Promise<QueryResult> {
    return readFile((file) => ({ kind: 'sheet', file, ...part }), signal);
  }

  async function readSheetNames(signal: AbortSignal): Promise<string[]> {
    const { data } = await readFile((file) => ({ kind: 'sheetNames', file }), signal);
    return (data as { name: string }[]).map(({ name }) => name);
  }

  async function readColumns(sheetName: string, signal: AbortSignal): Promise<DatasourceItem[]> {
    const { columns = [] } = await read({ sheetName, headerRow: 1, range: '', maxRows: ROWS_FOR_TYPES }, signal);
    return columns.map(({ name, type }) => ({ name, kind: 'column', isContainer: false, type }));
  }

  return {
    async test(signal) {
      await read({ sheetName: '', headerRow: 1, range: '', maxRows: 1 }, signal);
    },
    execute({ query: { sheetName, headerRow, range, limit } }, { maxRows, signal }) {
      return read({ sheetName, headerRow, range, maxRows: Math.min(limit, maxRows) }, signal);
    },
    async browse(path, signal) {
      const [sheetName] = path;
      const sheets = await readSheetNames(signal);
      // A CSV file has no sheets: its columns are at the root.
      const isDeep = path.length > (sheets.length > 0 ? 1 : 0);
      if (isDeep || (sheetName !== undefined && !sheets.includes(sheetName)))
        throw new AppError('NOT_FOUND', `There is no ${isDeep ? 'column with parts' : `sheet ${sheetName}`}`);
      if (sheetName === undefined && sheets.length > 0)
        return sheets.map((name) => ({ name, kind: 'sheet', isContainer: true }));
      return await readColumns(sheetName ?? '', signal);
    },
    async [Symbol.asyncDispose]() {},
  };
};

/** Number of rows from which the types of columns are inferred. */
const ROWS_FOR_TYPES = 1_000;

/** A default for the compiler only, since `files.read` passes one file for each path. */
const missing = { path: '', fileType: '' };
