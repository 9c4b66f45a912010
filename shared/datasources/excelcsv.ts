import { z } from 'zod';
import { defineDatasource } from './define-datasource.ts';
import { FileInfo } from './file-info.ts';

/** The rows of an uploaded table: CSV, TSV or a sheet of an Excel workbook (.xlsx). */
export const excelcsv = defineDatasource({
  type: 'excelcsv',
  label: 'Excel / CSV',
  category: 'file',
  options: z.object({ fileInfo: FileInfo }),
  query: z.object({
    sheetName: z
      .string()
      .max(255)
      .default('')
      .meta({ title: 'Sheet', description: 'Sheet of a workbook; empty: the first' }),
    headerRow: z
      .int()
      .min(0)
      .max(100_000)
      .default(1)
      .meta({ title: 'Header row', description: 'Row of the range, counted from 1; 0: no header' }),
    range: z
      .string()
      .regex(/^(?:[A-Z]{1,3}[1-9]\d{0,6}:[A-Z]{1,3}(?:[1-9]\d{0,6})?)?$/i, 'must be a range such as A1:D100 or A1:D')
      .default('')
      .meta({ title: 'Range', description: 'A1:D100; empty: the whole sheet' }),
    limit: z.int().min(1).max(100_000).default(100).meta({ title: 'Rows at most' }),
  }),
  templates: {},
  // Files are opened for reading.
  writes: () => null,
  defaults: {
    options: { fileInfo: { filePath: 'tenant-files/00000000-0000-0000-0000-000000000000' } },
    query: { sheetName: '', headerRow: 1, range: '', limit: 100 },
  },
});
