import type { duckdb } from '#shared/datasources/types/duckdb.ts';
import { openFileDatabase } from '../files/sql-connection.ts';
import type { Connector } from './connector.ts';

export const connectDuckdb: Connector<typeof duckdb> = ({ files }, context) =>
  openFileDatabase(
    {
      kind: 'duckdb',
      files: files.map(({ name, fileInfo: { filePath } }) => ({ name, filePath })),
      placeholder: (index) => `$${index}`,
      testSql: 'select 1',
      explain: 'explain',
      tablesSql: "select table_name as name, 'table' as kind from duckdb_tables() order by table_name",
      columnsSql: `select column_name as name, data_type as type, is_nullable as "isNullable"
        from duckdb_columns() where table_name = $1 order by column_index`,
    },
    context,
  );
