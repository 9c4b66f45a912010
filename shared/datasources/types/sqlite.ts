import { z } from 'zod';
import { FileInfo } from '../fields/file-info.ts';
import { SQLQuery } from '../fields/sql-query.ts';
import { defineDatasource } from './define-datasource.ts';

/** An uploaded SQLite database, read-only: a file never changes. */
export const sqlite = defineDatasource({
  type: 'sqlite',
  label: 'SQLite',
  category: 'database',
  options: z.object({ fileInfo: FileInfo }),
  query: SQLQuery,
  templates: { query: { as: 'statement', dialect: 'sqlite' } },
  // Files are opened for reading.
  writes: () => null,
  defaults: {
    options: { fileInfo: { filePath: 'tenant-files/00000000-0000-0000-0000-000000000000' } },
    query: { queryType: 'query', query: 'select 1' },
  },
});
