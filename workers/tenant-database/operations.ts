import type { JsonObject } from '#shared/json.ts';
import type { DatabaseOperation } from '#shared/queues/tenant-database.ts';
import { createTable } from './create-table.ts';
import { executeSQL } from './execute-sql.ts';
import { exportRows, readStatistics } from './export-rows.ts';
import { listRows } from './list-rows.ts';
import { readMetadata } from './metadata.ts';
import type { TenantClient } from './open.ts';
import { createSchema, dropSchema, listSchemas } from './schemas.ts';
import { dropTable, listTables, readTable } from './tables.ts';
import { createTrigger, dropTrigger, listTriggers, readTrigger } from './triggers.ts';
import { updateTable } from './update-table.ts';
import { addRows, deleteRows, updateRows } from './write-rows.ts';

type Operate<Kind extends DatabaseOperation['kind']> = (
  client: TenantClient,
  operation: Extract<DatabaseOperation, { kind: Kind }>,
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

export function operate(client: TenantClient, operation: DatabaseOperation): Promise<JsonObject> {
  // The table pairs every kind with what does it; picking by kind keeps the pair.
  return (operations[operation.kind] as Operate<DatabaseOperation['kind']>)(client, operation);
}
