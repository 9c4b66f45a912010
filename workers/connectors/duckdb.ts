import type { duckdb } from '#shared/datasources/duckdb.ts';
import type { Connector } from '../define.ts';
import { openFileDatabase } from './file-sql.ts';

export const connectDuckdb: Connector<typeof duckdb> = ({ files }, context) =>
  openFileDatabase(
    {
      kind: 'duckdb',
      files: files.map(({ name, fileInfo: { filePath } }) => ({ name, filePath })),
      placeholder: (index) => `$${index}`,
      testSql: 'select 1',
      explain: 'explain',
    },
    context,
  );
