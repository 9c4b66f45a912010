import { AppError } from '#shared/core/errors.ts';
import { invalid, type Path } from '#shared/core/schema/issues.ts';
import type { PostgresConnection } from '../connections/postgresql/connection.ts';
import { estimatedRows, sumOverParts } from '../connections/postgresql/table-parts.ts';
import { quoteName } from './quote.ts';

export interface TableName {
  schema: string;
  table: string;
}

export interface Column {
  name: string;
  /** As written in a statement. */
  type: string;
  /** How its values are encoded. */
  kind: 'json' | 'bytes' | 'composite' | 'list' | 'plain';
  /** Element of a list. */
  element: { kind: 'json' | 'bytes' | 'composite' | 'plain'; delimiter: string } | null;
  notNull: boolean;
  defaultValue: string | null;
  /** Whether the server always writes it: a generated column, or an identity that takes no value. */
  isGenerated?: boolean;
  /** Whether the server counts its values where none is given. */
  isIdentity?: boolean;
  /** The values of an enum, in their order. */
  enumValues?: string[] | null;
}

export interface Table extends TableName {
  id: number;
  /** As in `pg_class`: r, p, v, m or f. */
  kind: string;
  columns: Column[];
  primaryKey: string[];
  /**
   * System columns that tell the rows apart. A table with partitions or with tables that inherit from it shows the rows of several
   * tables, each with positions of its own; a foreign table, also among them, has none.
   */
  position: 'none' | 'ctid' | 'tableoid and ctid';
}

/** Excludes the schemas of the server itself, which tenants do not manage. */
export const isOwnSchema = `n.nspname !~ '^pg_' and n.nspname <> 'information_schema'`;

/** Figures of the table `c` of `pg_class`, with those of its partitions and of the tables that inherit from it. */
export const estimatedRowCount = `coalesce(${estimatedRows}, 0)::float8`;
export const sizeBytes = `coalesce(${sumOverParts(
  `case when part.relkind <> 'f' then pg_total_relation_size(part.oid) end`,
)}, 0)::float8`;

export async function requireSchema(connection: PostgresConnection, schema: string): Promise<void> {
  const { rowCount } = await connection.query(
    `select from pg_catalog.pg_namespace n where n.nspname = $1 and ${isOwnSchema}`,
    [schema],
  );
  if (rowCount === 0) throw new AppError('NOT_FOUND', 'Schema not found');
}

export async function findTable(connection: PostgresConnection, { schema, table }: TableName): Promise<Table> {
  const [found] = await findTables(connection, { schema, table });
  if (!found) throw new AppError('NOT_FOUND', 'Table not found');
  return found;
}

/** All tables of the schema if `table` is null. */
export async function findTables(
  connection: PostgresConnection,
  { schema, table }: { schema: string; table: string | null },
): Promise<Table[]> {
  const { rows } = await connection.query<Table>(FIND_TABLES, [schema, table]);
  return rows;
}

/** A domain has the kind of its base type. */
const kindOf = (type: string) => `
  case coalesce(nullif(${type}.typbasetype, 0), ${type}.oid)
    when 'json'::regtype then 'json' when 'jsonb'::regtype then 'json' when 'bytea'::regtype then 'bytes'
    else (select case b.typtype when 'c' then 'composite' else 'plain' end from pg_catalog.pg_type b
          where b.oid = coalesce(nullif(${type}.typbasetype, 0), ${type}.oid)) end`;

const FIND_TABLES = `
select n.nspname as schema, c.relname as table, c.oid::int8 as id, c.relkind::text as kind,
  coalesce((
    select json_agg(json_build_object(
      'name', a.attname, 'type', format_type(a.atttypid, a.atttypmod), 'notNull', a.attnotnull,
      'defaultValue', pg_get_expr(d.adbin, d.adrelid),
      'isGenerated', a.attgenerated <> '' or a.attidentity = 'a', 'isIdentity', a.attidentity <> '',
      'enumValues', (
        select json_agg(v.enumlabel order by v.enumsortorder) from pg_catalog.pg_enum v
        where v.enumtypid = coalesce(nullif(t.typbasetype, 0), t.oid)),
      'kind', case when t.typcategory = 'A' then 'list'
                   else ${kindOf('t')} end,
      'element', case when e.oid is not null then json_build_object('kind', ${kindOf('e')}, 'delimiter', e.typdelim) end
    ) order by a.attnum)
    from pg_catalog.pg_attribute a
    join pg_catalog.pg_type t on t.oid = a.atttypid
    left join pg_catalog.pg_type l on l.oid = coalesce(nullif(t.typbasetype, 0), t.oid) and t.typcategory = 'A'
    left join pg_catalog.pg_type e on e.oid = l.typelem
    left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped), '[]') as columns,
  array(
    select a.attname::text from pg_catalog.pg_index i
    cross join unnest(i.indkey::int2[]) with ordinality as k(attnum, at)
    join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
    where i.indrelid = c.oid and i.indisprimary order by k.at) as "primaryKey",
  (with recursive below as (
     select h.inhrelid from pg_catalog.pg_inherits h where h.inhparent = c.oid
     union
     select h.inhrelid from pg_catalog.pg_inherits h join below b on h.inhparent = b.inhrelid)
   select case
     when c.relkind in ('v', 'f') then 'none'
     when exists (select from below b join pg_catalog.pg_class f on f.oid = b.inhrelid where f.relkind = 'f') then 'none'
     when c.relkind = 'p' or exists (select from below) then 'tableoid and ctid'
     else 'ctid' end) as position
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = $1 and ($2::text is null or c.relname = $2) and c.relkind in ('r', 'p', 'v', 'm', 'f') and ${isOwnSchema}
order by c.relname`;

const system = { kind: 'plain', element: null, notNull: true, defaultValue: null } as const;
const positions: Readonly<Record<Table['position'], readonly Column[]>> = {
  none: [],
  ctid: [{ ...system, name: 'ctid', type: 'tid' }],
  'tableoid and ctid': [
    { ...system, name: 'tableoid', type: 'oid' },
    { ...system, name: 'ctid', type: 'tid' },
  ],
};

/** The system columns that name a row until it is written. */
export function positionColumns({ position }: Table): readonly Column[] {
  return positions[position];
}

/** Finds a column by the name that a client has sent at `path`; system columns may be read but not written. */
export function columnOf(table: Table, name: string, { path, isWritten = false }: ColumnUse): Column {
  const column = table.columns.find((known) => known.name === name);
  if (column) return column;
  const position = isWritten ? undefined : positionColumns(table).find((known) => known.name === name);
  if (position) return position;
  throw invalid([{ path: [...path], message: `there is no column "${name}" in "${table.table}"` }]);
}

interface ColumnUse {
  path: Path;
  isWritten?: boolean;
}

export function quoteTable({ schema, table }: TableName): string {
  return quoteName(schema, table);
}
