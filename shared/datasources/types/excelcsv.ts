import { z } from 'zod';
import { FileInfo } from '../fields/file-info.ts';
import { defineDatasource } from './define-datasource.ts';

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
      .meta({ title: 'Sheet', description: 'Name of a sheet of the workbook. Empty: the first one' }),
    headerRow: z.int().min(0).max(100_000).default(1).meta({
      title: 'Header row',
      description: 'The row with the names of the columns, counted from 1 within the range. 0: there is none',
    }),
    range: z
      .string()
      .regex(/^(?:[A-Z]{1,3}[1-9]\d{0,6}:[A-Z]{1,3}(?:[1-9]\d{0,6})?)?$/i, 'must be a range such as A1:D100 or A1:D')
      .default('')
      .meta({ title: 'Range', description: 'Cells that are read, such as A1:D100 or A1:D. Empty: the whole sheet' }),
    limit: z.int().min(1).max(100_000).default(100).meta({
      title: 'Rows to read',
      description: 'Reading ends after so many, or after "Rows at most" if that is less',
    }),
  }),
  templates: {},
  // Files are opened for reading.
  writes: () => null,
  defaults: {
    options: { fileInfo: { filePath: 'tenant-files/00000000-0000-0000-0000-000000000000' } },
    query: { sheetName: '', headerRow: 1, range: '', limit: 100 },
  },
});
