import type { JsonObject } from '#shared/core/json.ts';
import type { PostgresConnection } from '../connections/postgresql/connection.ts';
import { estimatedRowCount, isOwnSchema, sizeBytes } from './catalog.ts';

/** Reads the names of all schemas, tables, columns, views and enums, for completion in an editor. */
export async function readMetadata(connection: PostgresConnection): Promise<JsonObject> {
  const { rows } = await connection.query<JsonObject>(METADATA);
  return { databaseMetadata: { metadata: rows } };
}

const COLUMNS = `
coalesce((
  select json_agg(json_build_object('databaseTableColumnName', a.attname,
                                    'databaseTableColumnType', format_type(a.atttypid, a.atttypmod)) order by a.attnum)
  from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped), '[]')`;

const KEYS = `
coalesce((
  select json_agg(json_build_object('constraintName', k.conname, 'constraintType',
    case k.contype when 'p' then 'PRIMARY KEY' when 'u' then 'UNIQUE' else 'FOREIGN KEY' end) order by k.conname)
  from pg_catalog.pg_constraint k where k.conrelid = c.oid and k.contype in ('p', 'u', 'f')), '[]')`;

const INDEXES = `
coalesce((
  select json_agg(json_build_object('indexName', x.relname, 'indexDefinition', pg_get_indexdef(i.indexrelid)) order by x.relname)
  from pg_catalog.pg_index i join pg_catalog.pg_class x on x.oid = i.indexrelid where i.indrelid = c.oid), '[]')`;

const METADATA = `
select n.nspname as "databaseSchemaName",
  coalesce((
    select json_agg(json_build_object(
      'databaseTableName', c.relname, 'databaseTableColumns', ${COLUMNS}, 'keys', ${KEYS}, 'indexes', ${INDEXES},
      'estimatedRowCount', ${estimatedRowCount},
      'sizeBytes', ${sizeBytes}
    ) order by c.relname)
    from pg_catalog.pg_class c where c.relnamespace = n.oid and c.relkind in ('r', 'p', 'f')), '[]') as tables,
  array(select c.relname::text from pg_catalog.pg_class c
        where c.relnamespace = n.oid and c.relkind in ('v', 'm') order by 1) as views,
  coalesce((
    select json_agg(json_build_object('enum_name', t.typname, 'values',
      array(select e.enumlabel::text from pg_catalog.pg_enum e where e.enumtypid = t.oid order by e.enumsortorder)) order by t.typname)
    from pg_catalog.pg_type t where t.typnamespace = n.oid and t.typtype = 'e'), '[]') as enums
from pg_catalog.pg_namespace n where ${isOwnSchema} order by 1`;
