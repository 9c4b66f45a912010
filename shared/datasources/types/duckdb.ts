import { z } from 'zod';
import { FileInfo } from '../fields/file-info.ts';
import { SQLQuery } from '../fields/sql-query.ts';
import { defineDatasource } from './define-datasource.ts';

const NamedFile = z.object({
  name: z
    .string()
    .regex(/^[\p{L}_][\p{L}\p{N}_]{0,62}$/u, 'must be a word: letters, digits and _')
    .meta({ title: 'Table', description: 'Name of the table in SQL, such as orders' }),
  fileInfo: FileInfo,
});

/** SQL over uploaded files: each is a table of a database in memory. */
export const duckdb = defineDatasource({
  type: 'duckdb',
  label: 'DuckDB (SQL over files)',
  category: 'file',
  options: z.object({
    files: z
      .array(NamedFile)
      .min(1)
      .max(10)
      .refine((files) => new Set(files.map(({ name }) => name.toLowerCase())).size === files.length, {
        message: 'must have different names',
      })
      .meta({
        title: 'Files',
        description: 'Uploaded files, of which each is a table in SQL: CSV, TSV, JSON or Parquet',
      }),
  }),
  query: SQLQuery,
  templates: { query: { as: 'statement', dialect: 'duckdb' } },
  // Files are opened for reading.
  writes: () => null,
  defaults: {
    options: {
      files: [{ name: 'orders', fileInfo: { filePath: 'tenant-files/00000000-0000-0000-0000-000000000000' } }],
    },
    query: { queryType: 'query', query: 'select * from orders limit 100' },
  },
});
