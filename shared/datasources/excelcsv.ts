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
      .meta({ title: 'Sheet', description: 'Of a workbook; the first when empty' }),
    headerRow: z
      .int()
      .min(0)
      .max(100_000)
      .default(1)
      .meta({ title: 'Header row', description: 'Counted from the top of the range; 0 when there is none' }),
    range: z
      .string()
      .regex(/^(?:[A-Z]{1,3}[1-9]\d{0,6}:[A-Z]{1,3}(?:[1-9]\d{0,6})?)?$/i, 'must be like A1:D100 or A1:D')
      .default('')
      .meta({ title: 'Range', description: 'A1:D100; everything when empty' }),
    limit: z.int().min(1).max(100_000).default(100).meta({ title: 'Rows at most' }),
  }),
  defaults: {
    options: { fileInfo: { filePath: 'tenant-files/00000000-0000-0000-0000-000000000000' } },
    query: { sheetName: '', headerRow: 1, range: '', limit: 100 },
  },
});
