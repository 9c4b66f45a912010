import type { JsonObject } from '#shared/core/json.ts';
import type { DatabaseOperationOf } from '#shared/messaging/queues/tenant-database.ts';
import type { PostgresConnection } from '../../connections/postgresql/connection.ts';
import { estimatedRowCount, findTable, sizeBytes } from '../catalog.ts';
import { countRows } from './list-rows.ts';

export async function readStatistics(
  connection: PostgresConnection,
  operation: DatabaseOperationOf<'readStatistics'>,
): Promise<JsonObject> {
  const table = await findTable(connection, operation);
  const { rows } = await connection.query<{ bytes: number; estimate: number }>(
    `select ${sizeBytes} as bytes, ${estimatedRowCount} as estimate
     from pg_catalog.pg_class c where c.oid = $1::oid`,
    [table.id],
  );
  return {
    databaseTableStatistics: {
      databaseTableRowCount: await countRows(connection, table, operation),
      estimatedRowCount: rows[0]?.estimate ?? 0,
      sizeBytes: rows[0]?.bytes ?? 0,
    },
  };
}
