import { AppError } from '#shared/core/errors.ts';
import type { Json } from '#shared/core/json.ts';
import type { DatasourceItem } from '../../../connections/connection.ts';
import type { MySQLConnection } from './connection.ts';
import { executeStatement } from './query.ts';

const MAX_ITEMS = 10_000;

/** Lists the databases; below a database its tables and views; below a table or view its columns. */
export async function browse(connection: MySQLConnection, path: readonly string[]): Promise<DatasourceItem[]> {
  const level = levels[path.length];
  if (!level) throw new AppError('NOT_FOUND', 'There is nothing below a column');
  const { rows } = await executeStatement(connection, { sql: level.sql, params: path, maxRows: MAX_ITEMS });
  if (rows.length === 0 && path.length > 0) await mustExist(connection, path);
  return rows.map((row) => level.present(row.map(String), row));
}

/** An unknown database is an error, an empty one is not. */
async function mustExist(connection: MySQLConnection, path: readonly string[]): Promise<void> {
  const sql =
    path.length === 1
      ? 'select 1 from information_schema.schemata where schema_name = ?'
      : 'select 1 from information_schema.tables where table_schema = ? and table_name = ?';
  const { rows } = await executeStatement(connection, { sql, params: path, maxRows: 1 });
  if (rows.length === 0)
    throw new AppError('NOT_FOUND', `There is no ${path.length === 1 ? 'database' : 'table'} ${path.join('.')}`);
}

interface Level {
  sql: string;
  present(texts: readonly string[], row: readonly unknown[]): DatasourceItem;
}

const DATABASES = `
select schema_name from information_schema.schemata
 order by schema_name in ('information_schema', 'performance_schema', 'mysql', 'sys'), schema_name`;

const TABLES = `
select table_name, table_type, table_rows, table_comment from information_schema.tables
 where table_schema = ? order by table_name`;

const COLUMNS = `
select c.column_name, c.column_type, c.is_nullable, c.column_default, c.column_key, c.extra, c.column_comment,
       k.referenced_table_schema, k.referenced_table_name, k.referenced_column_name
  from information_schema.columns c
  left join information_schema.key_column_usage k
    on k.table_schema = c.table_schema and k.table_name = c.table_name and k.column_name = c.column_name
   and k.referenced_table_name is not null
 where c.table_schema = ? and c.table_name = ?
 order by c.ordinal_position`;

/** Statements by the length of the path. */
const levels: readonly Level[] = [
  { sql: DATABASES, present: ([name = '']) => ({ name, kind: 'database', isContainer: true }) },
  {
    sql: TABLES,
    present: ([name = '', type = '', , comment = ''], [, , rows]) => ({
      name,
      kind: /view/i.test(type) ? 'view' : 'table',
      isContainer: true,
      details: { estimatedRows: rows == null ? null : Number(rows), comment: comment || null },
    }),
  },
  {
    sql: COLUMNS,
    present: (texts, row) => {
      const [name = '', type = '', isNullable, , key, extra = '', comment = '', schema, table, column] = texts;
      const references: Json =
        row[8] == null ? null : { schema: schema ?? '', table: table ?? '', column: column ?? '' };
      return {
        name,
        kind: 'column',
        isContainer: false,
        type,
        details: {
          isNullable: isNullable === 'YES',
          default: row[3] == null ? null : String(row[3]),
          isPrimaryKey: key === 'PRI',
          isUnique: key === 'PRI' || key === 'UNI',
          references,
          extra: extra || null,
          comment: comment || null,
        },
      };
    },
  },
];
