import { AppError } from '#shared/errors.ts';
import type { JsonObject } from '#shared/json.ts';
import type { DatabaseOperationOf } from '#shared/queues/tenant-database.ts';
import type { PostgresClient } from '../postgresql/session.ts';
import { applyDDL } from './apply-ddl.ts';
import { isOwnSchema, requireSchema } from './catalog.ts';
import { quoteName } from './quote.ts';

export async function listSchemas(client: PostgresClient): Promise<JsonObject> {
  const { rows } = await client.query<JsonObject>(`
select n.nspname as "databaseSchemaName",
  (select count(*)::int from pg_catalog.pg_class c where c.relnamespace = n.oid and c.relkind in ('r', 'p', 'v', 'm', 'f')) as "tableCount",
  (select coalesce(sum(pg_total_relation_size(c.oid)), 0)::float8 from pg_catalog.pg_class c where c.relnamespace = n.oid and c.relkind in ('r', 'm')) as "sizeBytes"
from pg_catalog.pg_namespace n where ${isOwnSchema} order by 1`);
  return { databaseSchemas: rows };
}

export async function createSchema(
  client: PostgresClient,
  { schema, preview }: DatabaseOperationOf<'createSchema'>,
): Promise<JsonObject> {
  if (/^pg_/.test(schema))
    throw new AppError('VALIDATION_ERROR', 'schemaName: names that begin with pg_ belong to the server');
  const sql = [`create schema ${quoteName(schema)}`];
  return {
    databaseSchema: { databaseSchemaName: schema },
    ...(await applyDDL(client, sql, { preview, done: 'Schema created' })),
  };
}

export async function dropSchema(
  client: PostgresClient,
  { schema, cascade, preview }: DatabaseOperationOf<'dropSchema'>,
): Promise<JsonObject> {
  await requireSchema(client, schema);
  const sql = [`drop schema ${quoteName(schema)}${cascade ? ' cascade' : ''}`];
  return await applyDDL(client, sql, { preview, done: 'Schema dropped' });
}
