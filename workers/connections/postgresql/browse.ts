import { AppError } from '#shared/core/errors.ts';
import type { JsonObject } from '#shared/core/json.ts';
import type { DatasourceItem } from '../connection.ts';
import type { PostgresConnection } from './connection.ts';
import { estimatedRows } from './table-parts.ts';

/** Lists the schemas; below a schema its tables and views; below a table or view its columns. */
export async function browse(connection: PostgresConnection, path: readonly string[]): Promise<DatasourceItem[]> {
  const statement = statements[path.length];
  if (!statement) throw new AppError('NOT_FOUND', 'There is nothing below a column');
  const { rows } = await connection.query<Row>(statement, [...path]);
  if (rows.length === 0 && path.length > 0) await mustExist(connection, path);
  return rows.map(({ name, kind, type, details }) => ({
    name,
    kind,
    isContainer: kind !== 'column',
    ...(type !== null && { type }),
    ...(details !== null && { details }),
  }));
}

interface Row {
  name: string;
  kind: string;
  type: string | null;
  details: JsonObject | null;
}

/** An unknown schema is an error, an empty one is not. */
async function mustExist(connection: PostgresConnection, path: readonly string[]): Promise<void> {
  const [schema, table] = path;
  const { rowCount } =
    table === undefined
      ? await connection.query('select from pg_catalog.pg_namespace where nspname = $1', [schema])
      : await connection.query(
          `select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
            where n.nspname = $1 and c.relname = $2 and c.relkind = any('{r,p,v,m,f}')`,
          [schema, table],
        );
  if (rowCount === 0)
    throw new AppError('NOT_FOUND', `There is no ${path.length === 1 ? 'schema' : 'table'} ${path.join('.')}`);
}

const SCHEMAS = `
select nspname as name, 'schema' as kind, null as type, null as details
  from pg_catalog.pg_namespace
 where nspname !~ '^pg_(toast|temp)' and pg_catalog.has_schema_privilege(oid, 'usage')
 order by nspname in ('pg_catalog', 'information_schema'), nspname limit 10000`;

const TABLES = `
select c.relname as name, null as type,
       case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table' else 'table' end as kind,
       pg_catalog.json_build_object('estimatedRows', ${estimatedRows}, 'comment', pg_catalog.obj_description(c.oid, 'pg_class')) as details
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
 where n.nspname = $1 and c.relkind = any('{r,p,v,m,f}') and not c.relispartition
 order by c.relname limit 10000`;

const COLUMNS = `
select a.attname as name, 'column' as kind, pg_catalog.format_type(a.atttypid, a.atttypmod) as type,
       pg_catalog.json_build_object(
         'isNullable', not a.attnotnull,
         'default', pg_catalog.pg_get_expr(d.adbin, d.adrelid),
         'isPrimaryKey', exists (
           select from pg_catalog.pg_constraint k where k.conrelid = c.oid and k.contype = 'p' and a.attnum = any(k.conkey)),
         'isUnique', exists (
           select from pg_catalog.pg_constraint k
            where k.conrelid = c.oid and k.contype = any('{p,u}') and k.conkey = array[a.attnum]),
         'references', (
           select pg_catalog.json_build_object('schema', fn.nspname, 'table', f.relname, 'column', fa.attname)
             from pg_catalog.pg_constraint k
             join pg_catalog.pg_class f on f.oid = k.confrelid
             join pg_catalog.pg_namespace fn on fn.oid = f.relnamespace
             join pg_catalog.pg_attribute fa
               on fa.attrelid = f.oid and fa.attnum = k.confkey[pg_catalog.array_position(k.conkey, a.attnum)]
            where k.conrelid = c.oid and k.contype = 'f' and a.attnum = any(k.conkey) limit 1),
         'comment', pg_catalog.col_description(c.oid, a.attnum)) as details
  from pg_catalog.pg_attribute a
  join pg_catalog.pg_class c on c.oid = a.attrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
 where n.nspname = $1 and c.relname = $2 and c.relkind = any('{r,p,v,m,f}') and a.attnum > 0 and not a.attisdropped
 order by a.attnum`;

/** Statements by the length of the path. */
const statements: readonly string[] = [SCHEMAS, TABLES, COLUMNS];
