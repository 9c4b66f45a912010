import type { sqlite } from '#shared/datasources/types/sqlite.ts';
import { openFileDatabase } from '../files/sql-connection.ts';
import type { Connector } from './connector.ts';

export const connectSqlite: Connector<typeof sqlite> = ({ fileInfo: { filePath } }, context) =>
  openFileDatabase(
    {
      kind: 'sqlite',
      files: [{ name: 'main', filePath }],
      placeholder: () => '?',
      testSql: 'select count(*) from sqlite_schema',
      explain: 'explain query plan',
      tablesSql: `select name, type as kind from sqlite_schema
        where type in ('table', 'view') and name not like 'sqlite!_%' escape '!' order by name`,
      columnsSql: 'select name, type, "notnull" = 0 as isNullable from pragma_table_xinfo(?) order by cid',
    },
    context,
  );
