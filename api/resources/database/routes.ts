import {
  Changed,
  Metadata,
  OneTable,
  OneTrigger,
  Rows,
  RowsAdded,
  RowsDeleted,
  RowsUpdated,
  SchemaCreated,
  Schemas,
  SQLResults,
  Statistics,
  Tables,
  Triggers,
} from './answers.ts';
import { databaseRoute } from './database-route.ts';
import { exportRows } from './export.ts';
import {
  Drop,
  filterAliases,
  Preview,
  RawSQL,
  RowQuery,
  RowsAdd,
  RowsDelete,
  RowsUpdate,
  rowChangeAliases,
  rowQueryAliases,
  SchemaCreate,
  SchemaName,
  StatisticsQuery,
  schemaAliases,
  sqlAliases,
  TableCreate,
  TableName,
  TableUpdate,
  TenantID,
  TriggerName,
  tableAliases,
} from './schemas.ts';
import { TriggerCreate } from './trigger-schemas.ts';

const SCHEMAS = '/schemas';
const SCHEMA = `${SCHEMAS}/:databaseSchemaName`;
const TABLES = `${SCHEMA}/tables`;
const TABLE = `${TABLES}/:databaseTableName`;
const ROWS = `${TABLE}/rows`;
const TRIGGERS = `${SCHEMA}/triggers`;
const TRIGGER = `${TRIGGERS}/:databaseTableName/:databaseTriggerName`;

export const databaseRoutes = [
  databaseRoute({
    name: 'getDatabaseMetadata',
    method: 'get',
    path: '/metadata',
    summary: 'Get the metadata of the database',
    description:
      "Returns the names of all schemas, tables, views, columns, keys, indexes and enums of the tenant's database.",
    permission: 'database.metadata',
    params: TenantID,
    response: Metadata,
    operation: () => ({ kind: 'readMetadata' }),
  }),
  databaseRoute({
    name: 'executeRawSql',
    method: 'post',
    path: '/execute-raw-sql',
    summary: 'Execute SQL',
    description: "Runs SQL in the tenant's database: one statement, or several in one transaction.",
    permission: 'database.execute',
    params: TenantID,
    takesData: true,
    body: RawSQL,
    aliases: sqlAliases,
    response: SQLResults,
    operation: ({ body }) => ({ kind: 'executeSQL', ...body }),
  }),

  databaseRoute({
    name: 'listSchemas',
    method: 'get',
    path: SCHEMAS,
    summary: 'List schemas',
    description: "Returns the schemas of the tenant's database.",
    permission: 'database.schemaList',
    params: TenantID,
    response: Schemas,
    operation: () => ({ kind: 'listSchemas' }),
  }),
  databaseRoute({
    name: 'createSchema',
    method: 'post',
    path: SCHEMAS,
    summary: 'Create a schema',
    description:
      "Creates a schema in the tenant's database. With `preview`, it returns the SQL and runs nothing; the status is 201 as well.",
    status: 201,
    permission: 'database.schemaCreate',
    params: TenantID,
    query: Preview,
    body: SchemaCreate,
    aliases: schemaAliases,
    response: SchemaCreated,
    operation: ({ body: schema, query }) => ({ kind: 'createSchema', schema, ...query }),
  }),
  databaseRoute({
    name: 'deleteSchema',
    method: 'delete',
    path: SCHEMA,
    summary: 'Delete a schema',
    description:
      'Drops a schema; with `cascade`, everything in it too. With `preview`, it returns the SQL and runs nothing.',
    permission: 'database.schemaDelete',
    params: SchemaName,
    query: Drop,
    response: Changed,
    operation: ({ params, query }) => ({ kind: 'dropSchema', ...inSchema(params), ...query }),
  }),

  databaseRoute({
    name: 'listTables',
    method: 'get',
    path: TABLES,
    summary: 'List tables',
    description: 'Returns the tables and views of a schema, with their columns and constraints.',
    permission: 'database.tableList',
    params: SchemaName,
    response: Tables,
    operation: ({ params }) => ({ kind: 'listTables', ...inSchema(params) }),
  }),
  databaseRoute({
    name: 'createTable',
    method: 'post',
    path: TABLES,
    summary: 'Create a table',
    description:
      'Creates a table from its columns and constraints. With `preview`, it returns the SQL and runs nothing; the status is 201 as well.',
    status: 201,
    permission: 'database.tableCreate',
    params: SchemaName,
    query: Preview,
    body: TableCreate,
    aliases: tableAliases,
    response: Changed,
    operation: ({ params, query, body }) => ({ kind: 'createTable', ...inSchema(params), ...query, ...body }),
  }),
  databaseRoute({
    name: 'getTable',
    method: 'get',
    path: TABLE,
    summary: 'Get a table',
    description: 'Returns a table or view with its columns and constraints.',
    permission: 'database.tableRead',
    params: TableName,
    response: OneTable,
    operation: ({ params }) => ({ kind: 'readTable', ...ofTable(params) }),
  }),
  databaseRoute({
    name: 'updateTable',
    method: 'patch',
    path: TABLE,
    summary: 'Update a table',
    description:
      'Changes a table into the wanted state. A list that is given is complete: columns and constraints that it does not have are dropped. With `preview`, it returns the SQL and runs nothing.',
    permission: 'database.tableUpdate',
    params: TableName,
    query: Preview,
    body: TableUpdate,
    aliases: tableAliases,
    response: Changed,
    operation: ({ params, query, body }) => ({ kind: 'updateTable', ...ofTable(params), ...query, ...body }),
  }),
  databaseRoute({
    name: 'deleteTable',
    method: 'delete',
    path: TABLE,
    summary: 'Delete a table',
    description:
      'Drops a table or view; with `cascade`, the objects that depend on it too. With `preview`, it returns the SQL and runs nothing.',
    permission: 'database.tableDelete',
    params: TableName,
    query: Drop,
    response: Changed,
    operation: ({ params, query }) => ({ kind: 'dropTable', ...ofTable(params), ...query }),
  }),
  databaseRoute({
    name: 'getTableStatistics',
    method: 'get',
    path: `${TABLE}/statistics`,
    summary: 'Get the statistics of a table',
    description: 'Returns the size of a table and its number of rows, or the number that a filter finds.',
    permission: 'database.tableRead',
    params: TableName,
    query: StatisticsQuery,
    aliases: rowQueryAliases,
    response: Statistics,
    operation: ({ params, query }) => ({ kind: 'readStatistics', ...ofTable(params), ...query }),
  }),

  databaseRoute({
    name: 'listRows',
    method: 'get',
    path: ROWS,
    summary: 'List rows',
    description:
      'Returns a page of the rows of a table or view. Each row of a table has its `ctid`, and its `tableoid` where the table has partitions or others inherit from it.',
    permission: 'database.rowList',
    params: TableName,
    query: RowQuery,
    aliases: rowQueryAliases,
    response: Rows,
    operation: ({ params, query }) => ({
      kind: 'listRows',
      ...ofTable(params),
      ...query,
    }),
  }),
  databaseRoute({
    name: 'addRows',
    method: 'post',
    path: ROWS,
    summary: 'Add rows',
    description: 'Adds rows to a table: all of them or none.',
    status: 201,
    permission: 'database.rowCreate',
    params: TableName,
    takesData: true,
    body: RowsAdd,
    response: RowsAdded,
    operation: ({ params, body }) => ({ kind: 'addRows', ...ofTable(params), rows: body.databaseTableRowData }),
  }),
  databaseRoute({
    name: 'updateRows',
    method: 'patch',
    path: ROWS,
    summary: 'Update rows',
    description:
      'Updates the rows that filters find, and rows by their primary key: all of them or none. A row by its key, or with `single`, must be there, or the answer is 409 with `details.errors[].currentRows`. A change of every row needs `all: true`.',
    permission: 'database.rowUpdate',
    params: TableName,
    takesData: true,
    body: RowsUpdate,
    aliases: rowChangeAliases,
    response: RowsUpdated,
    operation: ({ params, body }) => ({ kind: 'updateRows', ...ofTable(params), changes: body.databaseTableRowData }),
  }),
  databaseRoute({
    name: 'deleteRows',
    method: 'patch',
    path: `${ROWS}/delete`,
    summary: 'Delete rows',
    description:
      'Deletes the rows that a filter finds. With `single` it must find one, or the answer is 409 with `details.currentRows`. To delete every row needs `all: true`.',
    permission: 'database.rowDelete',
    params: TableName,
    takesData: true,
    body: RowsDelete,
    aliases: filterAliases,
    response: RowsDeleted,
    operation: ({ params, body }) => ({ kind: 'deleteRows', ...ofTable(params), ...body }),
  }),
  exportRows,

  databaseRoute({
    name: 'listTriggers',
    method: 'get',
    path: TRIGGERS,
    summary: 'List triggers',
    description: 'Returns the triggers of the tables and views of a schema.',
    permission: 'database.triggerList',
    params: SchemaName,
    response: Triggers,
    operation: ({ params }) => ({ kind: 'listTriggers', ...inSchema(params) }),
  }),
  databaseRoute({
    name: 'createTrigger',
    method: 'post',
    path: TRIGGERS,
    summary: 'Create a trigger',
    description:
      'Creates a trigger on a table or view. With `preview`, it returns the SQL and runs nothing; the status is 201 as well.',
    status: 201,
    permission: 'database.triggerCreate',
    params: SchemaName,
    query: Preview,
    body: TriggerCreate,
    response: Changed,
    operation: ({ params, query, body: { routine, ...body } }) => {
      const { schema } = inSchema(params);
      // The schema is named, so that the worker does not look on the search path.
      const called = routine ?? { schema, name: body.trigger, isDefault: true };
      return { kind: 'createTrigger', schema, ...query, ...body, routine: called };
    },
  }),
  databaseRoute({
    name: 'getTrigger',
    method: 'get',
    path: TRIGGER,
    summary: 'Get a trigger',
    description: 'Returns a trigger with its definition.',
    permission: 'database.triggerRead',
    params: TriggerName,
    response: OneTrigger,
    operation: ({ params }) => ({ kind: 'readTrigger', ...ofTrigger(params) }),
  }),
  databaseRoute({
    name: 'deleteTrigger',
    method: 'delete',
    path: TRIGGER,
    summary: 'Delete a trigger',
    description: 'Drops a trigger. With `preview`, it returns the SQL and runs nothing.',
    permission: 'database.triggerDelete',
    params: TriggerName,
    query: Preview,
    response: Changed,
    operation: ({ params, query }) => ({ kind: 'dropTrigger', ...ofTrigger(params), ...query }),
  }),
];

function inSchema({ databaseSchemaName }: { databaseSchemaName: string }) {
  return { schema: databaseSchemaName };
}

function ofTable({ databaseSchemaName, databaseTableName }: { databaseSchemaName: string; databaseTableName: string }) {
  return { schema: databaseSchemaName, table: databaseTableName };
}

function ofTrigger({ databaseTriggerName, ...table }: Parameters<typeof ofTable>[0] & { databaseTriggerName: string }) {
  return { ...ofTable(table), trigger: databaseTriggerName };
}
