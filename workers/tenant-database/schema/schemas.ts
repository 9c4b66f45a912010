import type { JsonObject } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { DatabaseOperationOf } from '#shared/messaging/queues/tenant-database.ts';
import type { PostgresConnection } from '../../connections/postgresql/connection.ts';
import { isOwnSchema, requireSchema } from '../catalog.ts';
import { quoteName } from '../quote.ts';
import { applyDDL } from './apply-ddl.ts';

export async function listSchemas(connection: PostgresConnection): Promise<JsonObject> {
  const { rows } = await connection.query<JsonObject>(`
select n.nspname as "databaseSchemaName",
  (select count(*)::int from pg_catalog.pg_class c where c.relnamespace = n.oid and c.relkind in ('r', 'p', 'v', 'm', 'f')) as "tableCount",
  (select coalesce(sum(pg_total_relation_size(c.oid)), 0)::float8 from pg_catalog.pg_class c where c.relnamespace = n.oid and c.relkind in ('r', 'm')) as "sizeBytes"
from pg_catalog.pg_namespace n where ${isOwnSchema} order by 1`);
  return { databaseSchemas: rows };
}

export async function createSchema(
  connection: PostgresConnection,
  { schema, preview }: DatabaseOperationOf<'createSchema'>,
): Promise<JsonObject> {
  if (/^pg_/.test(schema)) throw invalidField('schemaName', 'names that begin with pg_ belong to the server');
  const sql = [`create schema ${quoteName(schema)}`];
  return {
    databaseSchema: { databaseSchemaName: schema },
    ...(await applyDDL(connection, sql, { preview, done: 'Schema created' })),
  };
}

export async function dropSchema(
  connection: PostgresConnection,
  { schema, cascade, preview }: DatabaseOperationOf<'dropSchema'>,
): Promise<JsonObject> {
  await requireSchema(connection, schema);
  const sql = [`drop schema ${quoteName(schema)}${cascade ? ' cascade' : ''}`];
  return await applyDDL(connection, sql, { preview, done: 'Schema dropped' });
}
