import type { JsonObject } from '#shared/json.ts';
import { databaseRoute } from './database-route.ts';
import { exportRows } from './export.ts';
import {
  Changed,
  Drop,
  Metadata,
  OneTable,
  OneTrigger,
  Preview,
  RawSQL,
  RowQuery,
  Rows,
  RowsAdd,
  RowsAdded,
  RowsDelete,
  RowsDeleted,
  RowsUpdate,
  RowsUpdated,
  SchemaCreate,
  SchemaCreated,
  SchemaName,
  Schemas,
  SQLResults,
  Statistics,
  StatisticsQuery,
  TableCreate,
  TableName,
  Tables,
  TableUpdate,
  TenantID,
  TriggerCreate,
  TriggerName,
  Triggers,
} from './schemas.ts';

const SCHEMAS = '/schemas';
const SCHEMA = `${SCHEMAS}/:databaseSchemaName`;
const TABLES = `${SCHEMA}/tables`;
const TABLE = `${TABLES}/:databaseTableName`;
const ROWS = `${TABLE}/rows`;
const TRIGGERS = `${SCHEMA}/triggers`;
const TRIGGER = `${TRIGGERS}/:databaseTableName/:databaseTriggerName`;

export const databaseRoutes = [
  databaseRoute({
    method: 'get',
    path: '/metadata',
    summary: "Everything in the tenant's database, by name",
    permission: 'database.metadata',
    params: TenantID,
    response: Metadata,
    operation: () => ({ kind: 'readMetadata' }),
  }),
  databaseRoute({
    method: 'post',
    path: '/execute-raw-sql',
    summary: "Run SQL in the tenant's database: one statement, or several in one transaction",
    permission: 'database.execute',
    params: TenantID,
    body: RawSQL,
    response: SQLResults,
    operation: ({ body }) => ({ kind: 'executeSQL', ...body }),
  }),

  databaseRoute({
    method: 'get',
    path: SCHEMAS,
    summary: "The schemas of the tenant's database",
    permission: 'database.schemaList',
    params: TenantID,
    response: Schemas,
    operation: () => ({ kind: 'listSchemas' }),
  }),
  databaseRoute({
    method: 'post',
    path: SCHEMAS,
    summary: 'Create a schema; with preview nothing is done, and the status is 201 as well',
    status: 201,
    permission: 'database.schemaCreate',
    params: TenantID,
    query: Preview,
    body: SchemaCreate,
    response: SchemaCreated,
    operation: ({ body: schema, query }) => ({ kind: 'createSchema', schema, ...query }),
  }),
  databaseRoute({
    method: 'delete',
    path: SCHEMA,
    summary: 'Drop a schema; with cascade, everything in it',
    permission: 'database.schemaDelete',
    params: SchemaName,
    query: Drop,
    response: Changed,
    operation: ({ params, query }) => ({ kind: 'dropSchema', ...inSchema(params), ...query }),
  }),

  databaseRoute({
    method: 'get',
    path: TABLES,
    summary: 'The tables and views of a schema',
    permission: 'database.tableList',
    params: SchemaName,
    response: Tables,
    operation: ({ params }) => ({ kind: 'listTables', ...inSchema(params) }),
  }),
  databaseRoute({
    method: 'post',
    path: TABLES,
    summary:
      'Create a table from its columns and constraints; with preview nothing is done, and the status is 201 as well',
    status: 201,
    permission: 'database.tableCreate',
    params: SchemaName,
    query: Preview,
    body: TableCreate,
    response: Changed,
    operation: ({ params, query, body }) => ({ kind: 'createTable', ...inSchema(params), ...query, ...body }),
  }),
  databaseRoute({
    method: 'get',
    path: TABLE,
    summary: 'A table with its columns and constraints',
    permission: 'database.tableRead',
    params: TableName,
    response: OneTable,
    operation: ({ params }) => ({ kind: 'readTable', ...ofTable(params) }),
  }),
  databaseRoute({
    method: 'patch',
    path: TABLE,
    summary: 'Change a table into what is wanted; columns and constraints that are not listed are dropped',
    permission: 'database.tableUpdate',
    params: TableName,
    query: Preview,
    body: TableUpdate,
    response: Changed,
    operation: ({ params, query, body }) => ({ kind: 'updateTable', ...ofTable(params), ...query, ...body }),
  }),
  databaseRoute({
    method: 'delete',
    path: TABLE,
    summary: 'Drop a table or view; with cascade, what depends on it',
    permission: 'database.tableDelete',
    params: TableName,
    query: Drop,
    response: Changed,
    operation: ({ params, query }) => ({ kind: 'dropTable', ...ofTable(params), ...query }),
  }),
  databaseRoute({
    method: 'get',
    path: `${TABLE}/statistics`,
    summary: 'How many rows a table has, or a filter finds, and its size',
    permission: 'database.tableRead',
    params: TableName,
    query: StatisticsQuery,
    response: Statistics,
    operation: ({ params, query: { q } }) => ({ kind: 'readStatistics', ...ofTable(params), ...ofQuery(q) }),
  }),

  databaseRoute({
    method: 'get',
    path: ROWS,
    summary: 'A page of the rows of a table, each with its ctid where it has one',
    permission: 'database.rowList',
    params: TableName,
    query: RowQuery,
    response: Rows,
    operation: ({ params, query: { q, ...query } }) => ({
      kind: 'listRows',
      ...ofTable(params),
      ...query,
      ...ofQuery(q),
    }),
  }),
  databaseRoute({
    method: 'post',
    path: ROWS,
    summary: 'Add rows: all of them or none',
    status: 201,
    permission: 'database.rowCreate',
    params: TableName,
    body: RowsAdd,
    response: RowsAdded,
    operation: ({ params, body }) => ({ kind: 'addRows', ...ofTable(params), rows: body.databaseTableRowData }),
  }),
  databaseRoute({
    method: 'patch',
    path: ROWS,
    summary: 'Update the rows that filters find: all of them or none',
    permission: 'database.rowUpdate',
    params: TableName,
    body: RowsUpdate,
    response: RowsUpdated,
    operation: ({ params, body }) => ({ kind: 'updateRows', ...ofTable(params), changes: body.databaseTableRowData }),
  }),
  databaseRoute({
    method: 'patch',
    path: `${ROWS}/delete`,
    summary: 'Delete the rows that a filter finds',
    permission: 'database.rowDelete',
    params: TableName,
    body: RowsDelete,
    response: RowsDeleted,
    operation: ({ params, body }) => ({ kind: 'deleteRows', ...ofTable(params), ...body }),
  }),
  exportRows,

  databaseRoute({
    method: 'get',
    path: TRIGGERS,
    summary: 'The triggers of a schema',
    permission: 'database.triggerList',
    params: SchemaName,
    response: Triggers,
    operation: ({ params }) => ({ kind: 'listTriggers', ...inSchema(params) }),
  }),
  databaseRoute({
    method: 'post',
    path: TRIGGERS,
    summary: 'Create a trigger on a table or view; with preview nothing is done, and the status is 201 as well',
    status: 201,
    permission: 'database.triggerCreate',
    params: SchemaName,
    query: Preview,
    body: TriggerCreate,
    response: Changed,
    operation: ({ params, query, body }) => ({ kind: 'createTrigger', ...inSchema(params), ...query, ...body }),
  }),
  databaseRoute({
    method: 'get',
    path: TRIGGER,
    summary: 'A trigger',
    permission: 'database.triggerRead',
    params: TriggerName,
    response: OneTrigger,
    operation: ({ params }) => ({ kind: 'readTrigger', ...ofTrigger(params) }),
  }),
  databaseRoute({
    method: 'delete',
    path: TRIGGER,
    summary: 'Drop a trigger',
    permission: 'database.triggerDelete',
    params: TriggerName,
    query: Preview,
    response: Changed,
    operation: ({ params, query }) => ({ kind: 'dropTrigger', ...ofTrigger(params), ...query }),
  }),
];

function ofQuery(q: JsonObject | null) {
  return { filter: q, filterField: 'q' as const };
}

function inSchema({ databaseSchemaName }: { databaseSchemaName: string }) {
  return { schema: databaseSchemaName };
}

function ofTable({ databaseSchemaName, databaseTableName }: { databaseSchemaName: string; databaseTableName: string }) {
  return { schema: databaseSchemaName, table: databaseTableName };
}

function ofTrigger({ databaseTriggerName, ...table }: Parameters<typeof ofTable>[0] & { databaseTriggerName: string }) {
  return { ...ofTable(table), trigger: databaseTriggerName };
}
