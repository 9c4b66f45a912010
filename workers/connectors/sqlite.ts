import type { sqlite } from '#shared/datasources/sqlite.ts';
import type { Connector } from '../define.ts';
import { openFileDatabase } from './file-sql.ts';

export const connectSqlite: Connector<typeof sqlite> = ({ fileInfo: { filePath } }, context) =>
  openFileDatabase(
    {
      kind: 'sqlite',
      files: [{ name: 'main', filePath }],
      placeholder: () => '?',
      testSql: 'select count(*) from sqlite_schema',
      explain: 'explain query plan',
    },
    context,
  );
