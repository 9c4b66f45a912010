import type { JsonObject } from '#shared/core/json.ts';
import type { DatabaseOperation } from '#shared/messaging/queues/tenant-database.ts';
import type { PostgresConnection } from '../connections/postgresql/connection.ts';
import type { OperationContext } from './context.ts';
import { readMetadata } from './metadata.ts';
import { executeSQL } from './rows/execute-sql.ts';
import { exportRows } from './rows/export-rows.ts';
import { listRows } from './rows/list-rows.ts';
import { readStatistics } from './rows/statistics.ts';
import { addRows, deleteRows, updateRows } from './rows/write-rows.ts';
import { createTable } from './schema/create-table.ts';
import { createSchema, dropSchema, listSchemas } from './schema/schemas.ts';
import { dropTable, listTables, readTable } from './schema/tables.ts';
import { createTrigger, dropTrigger, listTriggers, readTrigger } from './schema/triggers.ts';
import { updateTable } from './schema/update-table.ts';
import { setStatementTimeout } from './transaction.ts';

type Operate<Kind extends DatabaseOperation['kind']> = (
  connection: PostgresConnection,
  operation: Extract<DatabaseOperation, { kind: Kind }>,
  context: OperationContext,
) => Promise<JsonObject>;

const operations: { [Kind in DatabaseOperation['kind']]: Operate<Kind> } = {
  executeSQL,
  readMetadata,
  listSchemas,
  createSchema,
  dropSchema,
  listTables,
  readTable,
  createTable,
  updateTable,
  dropTable,
  listRows,
  addRows,
  updateRows,
  deleteRows,
  exportRows,
  readStatistics,
  listTriggers,
  readTrigger,
  createTrigger,
  dropTrigger,
};

/** Default time limit of a statement. */
const STATEMENT_MS = 60_000;
const EXPORT_MS = 300_000;

export async function operate(
  connection: PostgresConnection,
  operation: DatabaseOperation,
  context: OperationContext,
): Promise<JsonObject> {
  // Raw SQL has a timeout of its own.
  const timeoutMs = operation.kind === 'exportRows' ? EXPORT_MS : STATEMENT_MS;
  if (operation.kind !== 'executeSQL') await setStatementTimeout(connection, timeoutMs);
  // Safe: the table pairs every kind with its function, and the kind selects the pair.
  return await (operations[operation.kind] as Operate<DatabaseOperation['kind']>)(connection, operation, context);
}
