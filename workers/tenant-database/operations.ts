import type { JsonObject } from '#shared/json.ts';
import type { DatabaseOperation } from '#shared/queues/tenant-database.ts';
import { executeSQL } from './execute-sql.ts';
import type { TenantClient } from './open.ts';

type Operate<Kind extends DatabaseOperation['kind']> = (
  client: TenantClient,
  operation: Extract<DatabaseOperation, { kind: Kind }>,
) => Promise<JsonObject>;

const operations: { [Kind in DatabaseOperation['kind']]: Operate<Kind> } = {
  executeSQL,
};

export function operate(client: TenantClient, operation: DatabaseOperation): Promise<JsonObject> {
  // The table pairs every kind with what does it; picking by kind keeps the pair.
  return (operations[operation.kind] as Operate<DatabaseOperation['kind']>)(client, operation);
}
