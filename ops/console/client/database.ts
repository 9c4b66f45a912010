import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { APIError, body, rest } from './rest.ts';
import type { Schemas } from './types.ts';

const DATABASE = '/api/v1/tenants/{tenantID}/database';
const TABLES = `${DATABASE}/schemas/{databaseSchemaName}/tables` as const;
const TABLE = `${TABLES}/{databaseTableName}` as const;
const ROWS = `${TABLE}/rows` as const;
export const PAGE = 50;
/** Names that are completed may be older than those of the server. */
const NAMES_MS = 60_000;

interface Column {
  name: string;
  type: string;
}

export interface TableIDs {
  tenantID: string;
  databaseSchemaName: string;
  databaseTableName: string;
}

export type SchemaIDs = Omit<TableIDs, 'databaseTableName'>;
export type Row = Readonly<Record<string, unknown>>;
export type DatabaseTable = Schemas['DatabaseTable'];

export function schemasRead(tenantID: string) {
  return queryOptions({
    queryKey: ['database', tenantID, 'schemas'],
    queryFn: async () =>
      (await body(rest.GET(`${DATABASE}/schemas`, { params: { path: { tenantID } } }))).databaseSchemas,
  });
}

export function tablesRead(path: SchemaIDs) {
  return queryOptions({
    queryKey: ['database', path.tenantID, 'tables', path],
    queryFn: async () => (await body(rest.GET(TABLES, { params: { path } }))).databaseTables,
  });
}

/** The columns by table, by schema. */
export function tableNamesRead(tenantID: string) {
  return queryOptions({
    queryKey: ['database', tenantID, 'names'],
    queryFn: async () => {
      const { databaseMetadata } = await body(rest.GET(`${DATABASE}/metadata`, { params: { path: { tenantID } } }));
      return Object.fromEntries(
        databaseMetadata.metadata.map(({ databaseSchemaName, tables, views }) => {
          const named = tables.map(({ databaseTableName, databaseTableColumns }): [string, Column[]] => [
            databaseTableName,
            databaseTableColumns.map((one) => ({
              name: one.databaseTableColumnName,
              type: one.databaseTableColumnType,
            })),
          ]);
          const all = [...views.map((name): [string, Column[]] => [name, []]), ...named];
          return [databaseSchemaName, Object.fromEntries(all)] as const;
        }),
      );
    },
    staleTime: NAMES_MS,
  });
}

/** Rows are not counted: that would read the whole table. */
export function rowsRead(path: TableIDs, page: number, filter: string | undefined) {
  return queryOptions({
    queryKey: ['database', path.tenantID, 'rows', path, page, filter ?? ''],
    queryFn: () =>
      body(rest.GET(ROWS, { params: { path, query: { page, pageSize: PAGE, ...(filter && { q: filter }) } } })),
    placeholderData: keepPreviousData,
  });
}

export async function countRows(path: TableIDs, filter: string | undefined): Promise<number> {
  const query = filter ? { q: filter } : {};
  const { databaseTableStatistics } = await body(rest.GET(`${TABLE}/statistics`, { params: { path, query } }));
  return databaseTableStatistics.databaseTableRowCount;
}

/** How many rows one request adds. */
export const MAX_ADDED = 1_000;

/** Adds all of them or none. */
export async function addRows(path: TableIDs, rows: readonly Row[]): Promise<void> {
  const given = { databaseTableRowData: rows } as Schemas['DatabaseRowsAdd'];
  await body(rest.POST(ROWS, { params: { path }, body: given }));
}

/** The primary key of a row, and the table that the row is in where tables inherit: the key of one says nothing about the others. */
export function keyOf({ primaryKey, databaseTableType }: DatabaseTable, row: Row): Row {
  const isOfSeveral = 'tableoid' in row && databaseTableType !== 'PARTITIONED TABLE';
  const names = isOfSeveral ? ['tableoid', ...primaryKey] : primaryKey;
  return Object.fromEntries(names.map((name) => [name, row[name]]));
}

/** Changes the one row that has this key, which may be changed itself. Fails if there is none. */
export async function changeRow(path: TableIDs, key: Row, change: Row): Promise<void> {
  const one = { data: change, where: isEqualTo(key), single: true };
  const given = { databaseTableRowData: [one] } as Schemas['DatabaseRowsUpdate'];
  await body(rest.PATCH(ROWS, { params: { path }, body: given }));
}

export async function deleteRow(path: TableIDs, key: Row): Promise<void> {
  const given = { where: isEqualTo(key), single: true } as Schemas['DatabaseRowsDelete'];
  await body(rest.PATCH(`${ROWS}/delete`, { params: { path }, body: given }));
}

function isEqualTo(key: Row): Row {
  return Object.fromEntries(Object.entries(key).map(([name, value]) => [name, { '=': value }]));
}

/** The rows that a change of one row has found in the place of it; undefined for other errors. */
export function currentRowsOf(error: Error): readonly Row[] | undefined {
  if (!(error instanceof APIError)) return undefined;
  const { currentRows, errors = [] } = error.details as {
    currentRows?: readonly Row[];
    errors?: readonly { currentRows?: readonly Row[] }[];
  };
  return currentRows ?? errors[0]?.currentRows;
}

/** The statements that are run or, with `preview`, would be. */
export async function createTable(
  path: SchemaIDs,
  table: Schemas['DatabaseTableCreate'],
  preview: boolean,
): Promise<readonly string[]> {
  return (
    await body(rest.POST(TABLES, { params: { path, query: { preview: preview ? 'true' : 'false' } }, body: table }))
  ).sql;
}

export async function dropTable(path: TableIDs, preview: boolean): Promise<readonly string[]> {
  return (await body(rest.DELETE(TABLE, { params: { path, query: { preview: preview ? 'true' : 'false' } } }))).sql;
}

export async function changeTable(
  path: TableIDs,
  wanted: Schemas['DatabaseTableUpdate'],
  preview: boolean,
): Promise<readonly string[]> {
  const query = { preview: preview ? ('true' as const) : ('false' as const) };
  return (await body(rest.PATCH(TABLE, { params: { path, query }, body: wanted }))).sql;
}

export async function createSchema(tenantID: string, name: string, preview: boolean): Promise<readonly string[]> {
  const params = { path: { tenantID }, query: { preview: preview ? ('true' as const) : ('false' as const) } };
  return (await body(rest.POST(`${DATABASE}/schemas`, { params, body: { databaseSchemaName: name } }))).sql;
}

export async function dropSchema(path: SchemaIDs, preview: boolean): Promise<readonly string[]> {
  const query = { preview: preview ? ('true' as const) : ('false' as const) };
  return (await body(rest.DELETE(`${DATABASE}/schemas/{databaseSchemaName}`, { params: { path, query } }))).sql;
}

export type RowsFormat = NonNullable<Schemas['DatabaseRowsExport']['exportFormat']>;

/** All rows that a filter finds, as a file. */
export async function exportRows(path: TableIDs, filter: string | undefined, format: RowsFormat): Promise<Blob> {
  const where = (filter === undefined ? null : JSON.parse(filter)) as Schemas['DatabaseRowsExport']['where'];
  const given = { exportFormat: format, ...(where && { where }) };
  // Excel opens what a person downloads, and reads no umlauts in CSV without the mark.
  const query = { bom: 'true' as const };
  return body<Blob>(rest.PATCH(`${ROWS}/export`, { params: { path, query }, body: given, parseAs: 'blob' }));
}

export type StatementResult = Omit<Schemas['SqlResult'], 'rows'> & { rows: readonly Row[] };

/** The result of each statement, in their order. */
export async function executeSQL(tenantID: string, sql: string): Promise<readonly StatementResult[]> {
  const params = { path: { tenantID } };
  const given = { sql } as Schemas['RawSql'];
  const { results, result } = await body(rest.POST(`${DATABASE}/execute-raw-sql`, { params, body: given }));
  // The rows of the last one are not sent twice.
  return results.map((one, index) =>
    index === results.length - 1 ? { ...one, rows: result as Row[] } : one,
  ) as StatementResult[];
}
