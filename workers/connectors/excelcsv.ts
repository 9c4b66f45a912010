import type { excelcsv } from '#shared/datasources/excelcsv.ts';
import type { Connector, QueryResult } from '../define.ts';
import type { SheetQuestion } from '../files/protocol.ts';

/** Nothing is open between questions: whose file it is, and whether it is still there, each asks anew. */
export const connectExcelcsv: Connector<typeof excelcsv> = ({ fileInfo }, { tenantID, files }) => {
  function read(asked: Omit<SheetQuestion, 'kind' | 'file'>, signal: AbortSignal): Promise<QueryResult> {
    return files.read({
      tenantID,
      filePaths: [fileInfo.filePath],
      question([file = missing]) {
        return { kind: 'sheet', file, ...asked };
      },
      signal,
    });
  }

  return {
    async test(signal) {
      await read({ sheetName: '', headerRow: 1, range: '', maxRows: 1 }, signal);
    },
    run({ query: { sheetName, headerRow, range, limit } }, { maxRows, signal }) {
      return read({ sheetName, headerRow, range, maxRows: Math.min(limit, maxRows) }, signal);
    },
    async [Symbol.asyncDispose]() {},
  };
};

/** No path, no type: the reader refuses it. There is a file for every path. */
const missing = { path: '', fileType: '' };
