import type { JsonObject } from '#shared/core/json.ts';
import type { DatabaseOperationOf } from '#shared/messaging/queues/tenant-database.ts';
import type { PostgresConnection } from '../../connections/postgresql/connection.ts';
import {
  type Column,
  findTable,
  findTables,
  quoteTable,
  requireSchema,
  type Table,
  type TableName,
} from '../catalog.ts';
import { applyDDL } from './apply-ddl.ts';
import type { Constraint } from './constraints.ts';

export async function listTables(
  connection: PostgresConnection,
  { schema }: DatabaseOperationOf<'listTables'>,
): Promise<JsonObject> {
  await requireSchema(connection, schema);
  const tables = await describe(connection, await findTables(connection, { schema, table: null }));
  return { databaseTables: tables.map(presentTable) };
}

export async function readTable(
  connection: PostgresConnection,
  operation: DatabaseOperationOf<'readTable'>,
): Promise<JsonObject> {
  return { databaseTable: presentTable(await describeTable(connection, operation)) };
}

export async function dropTable(
  connection: PostgresConnection,
  operation: DatabaseOperationOf<'dropTable'>,
): Promise<JsonObject> {
  const table = await findTable(connection, operation);
  const what = kinds[table.kind] ?? 'table';
  const sql = [`drop ${what} ${quoteTable(table)}${operation.cascade ? ' cascade' : ''}`];
  return await applyDDL(connection, sql, { ...operation, done: 'Table dropped' });
}

const kinds: Record<string, string> = { v: 'view', m: 'materialized view', f: 'foreign table' };

export interface TableDescription extends Table {
  constraints: Constraint[];
}

export async function describeTable(connection: PostgresConnection, name: TableName): Promise<TableDescription> {
  const table = await findTable(connection, name);
  const [described] = await describe(connection, [table]);
  return described ?? { ...table, constraints: [] };
}

async function describe(connection: PostgresConnection, tables: readonly Table[]): Promise<TableDescription[]> {
  const ids = tables.map(({ id }) => id);
  const { rows } = await connection.query<Constraint & { tableID: number }>(CONSTRAINTS, [ids]);
  const byTable = Map.groupBy(rows, ({ tableID }) => tableID);
  return tables.map((table) => ({ ...table, constraints: byTable.get(table.id) ?? [] }));
}

const namesOf = (keys: string, of: string) => `
array(select a.attname::text from unnest(${keys}) with ordinality as key(attnum, at)
      join pg_catalog.pg_attribute a on a.attrelid = ${of} and a.attnum = key.attnum order by key.at)`;

const actionOf = (column: string) =>
  `case ${column} when 'r' then 'RESTRICT' when 'c' then 'CASCADE' when 'n' then 'SET NULL' when 'd' then 'SET DEFAULT' else 'NO ACTION' end`;

const CONSTRAINTS = `
select k.conrelid::int8 as "tableID", k.conname as name,
  case k.contype when 'p' then 'PRIMARY KEY' when 'u' then 'UNIQUE' when 'f' then 'FOREIGN KEY' else 'CHECK' end as type,
  ${namesOf('k.conkey', 'k.conrelid')} as columns,
  rn.nspname as "referencedSchema", r.relname as "referencedTable",
  ${namesOf('k.confkey', 'k.confrelid')} as "referencedColumns",
  ${actionOf('k.confupdtype')} as "onUpdate", ${actionOf('k.confdeltype')} as "onDelete",
  pg_get_expr(k.conbin, k.conrelid) as check
from pg_catalog.pg_constraint k
left join pg_catalog.pg_class r on r.oid = k.confrelid
left join pg_catalog.pg_namespace rn on rn.oid = r.relnamespace
where k.conrelid = any($1::oid[]) and k.contype in ('p', 'u', 'f', 'c') order by k.contype = 'p' desc, k.conname`;

const labels: Record<string, string> = {
  r: 'TABLE',
  p: 'PARTITIONED TABLE',
  v: 'VIEW',
  m: 'MATERIALIZED VIEW',
  f: 'FOREIGN TABLE',
};

function presentTable({ schema, table, kind, columns, primaryKey, constraints }: TableDescription): JsonObject {
  return {
    databaseSchemaName: schema,
    databaseTableName: table,
    databaseTableType: labels[kind] ?? 'TABLE',
    primaryKey,
    databaseTableColumns: columns.map((column) => presentColumn(column, primaryKey, constraints)),
    databaseTableConstraints: constraints.map((constraint) => ({
      constraintSchema: schema,
      constraintName: constraint.name ?? '',
      constraintType: constraint.type,
      databaseTableColumns: constraint.columns,
      referencedSchema: constraint.referencedSchema,
      referencedTable: constraint.referencedTable,
      referencedColumns: constraint.referencedColumns,
      onUpdate: constraint.type === 'FOREIGN KEY' ? constraint.onUpdate : null,
      onDelete: constraint.type === 'FOREIGN KEY' ? constraint.onDelete : null,
      check: constraint.check,
    })),
  };
}

function presentColumn(column: Column, primaryKey: readonly string[], constraints: readonly Constraint[]): JsonObject {
  const { name, type, notNull, defaultValue, isGenerated = false, isIdentity = false, enumValues = null } = column;
  const own = constraints.filter(({ columns }) => columns.length === 1 && columns[0] === name);
  return {
    databaseTableColumnName: name,
    databaseTableColumnType: type,
    isList: column.kind === 'list',
    isNullable: !notNull,
    notNull,
    defaultValue,
    isGenerated,
    isIdentity,
    enumValues,
    unique: own.some((constraint) => constraint.type === 'UNIQUE' || constraint.type === 'PRIMARY KEY'),
    primaryKey: primaryKey.includes(name),
    check: own.find((constraint) => constraint.type === 'CHECK')?.check ?? null,
  };
}
