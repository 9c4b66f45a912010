import type { JsonObject } from '#shared/json.ts';
import type { DatabaseOperationOf } from '#shared/queues/tenant-database.ts';
import type { PostgresClient } from '../postgresql/session.ts';
import { findTable } from './catalog.ts';
import { countRows } from './list-rows.ts';

export async function readStatistics(
  client: PostgresClient,
  operation: DatabaseOperationOf<'readStatistics'>,
): Promise<JsonObject> {
  const table = await findTable(client, operation);
  const { rows } = await client.query<{ bytes: number; estimate: number }>(
    `select coalesce(pg_total_relation_size($1::oid), 0)::float8 as bytes, c.reltuples::float8 as estimate
     from pg_catalog.pg_class c where c.oid = $1::oid`,
    [table.id],
  );
  return {
    databaseTableStatistics: {
      databaseTableRowCount: await countRows(client, table, operation),
      estimatedRowCount: Math.max(rows[0]?.estimate ?? 0, 0),
      sizeBytes: rows[0]?.bytes ?? 0,
    },
  };
}
