import type { JsonObject } from '#shared/core/json.ts';
import { invalidField } from '#shared/core/schema/issues.ts';
import type { DatabaseColumn } from '#shared/datasources/tenant-database/table.ts';
import type { DatabaseOperationOf } from '#shared/messaging/queues/tenant-database.ts';
import type { PostgresConnection } from '../../connections/postgresql/connection.ts';
import { quoteTable, requireSchema } from '../catalog.ts';
import { quoteName } from '../quote.ts';
import { applyDDL } from './apply-ddl.ts';
import { findColumnType } from './column-type.ts';
import { constraintSQL, constraintsOfFlags, readConstraint, requireChecks, requireReferenced } from './constraints.ts';
import { defaultOf } from './default-value.ts';

export async function createTable(
  connection: PostgresConnection,
  operation: DatabaseOperationOf<'createTable'>,
): Promise<JsonObject> {
  const { schema, columns, ifNotExists, preview } = operation;
  await requireSchema(connection, schema);
  requireDistinct(columns);
  await requireChecks(operation.constraints, columns);
  const listed = operation.constraints.map((given, at) => readConstraint(given, operation, `constraints.${at}`));
  await requireReferenced(connection, operation, listed);
  const flags = constraintsOfFlags(columns);
  const keyIsListed = listed.some(({ type }) => type === 'PRIMARY KEY');
  const constraints = [...flags.filter(({ type }) => !(keyIsListed && type === 'PRIMARY KEY')), ...listed];
  const parts = [];
  for (const [at, column] of columns.entries()) parts.push(await definitionOf(connection, column, `columns.${at}`));
  parts.push(...constraints.map(constraintSQL));
  const body = parts.map((part) => `\n  ${part}`).join(',');
  const sql = [`create table ${ifNotExists ? 'if not exists ' : ''}${quoteTable(operation)} (${body}\n)`];
  return await applyDDL(connection, sql, { preview, done: 'Table created' });
}

export function requireDistinct(columns: readonly DatabaseColumn[]): void {
  const seen = new Set<string>();
  for (const [at, { databaseTableColumnName: name }] of columns.entries()) {
    if (seen.has(name)) throw invalidField(`columns.${at}.databaseTableColumnName`, `there are two columns "${name}"`);
    seen.add(name);
  }
}

/** Writes the definition of the column itself; its flags of uniqueness become constraints of the table. */
export async function definitionOf(
  connection: PostgresConnection,
  column: DatabaseColumn,
  field: string,
): Promise<string> {
  const {
    databaseTableColumnName: name,
    databaseTableColumnType: type,
    isList = false,
    defaultValue,
    notNull,
  } = column;
  const found = await findColumnType(connection, { type, isList, field: `${field}.databaseTableColumnType` });
  const defaultClause =
    defaultValue === undefined || defaultValue === null
      ? ''
      : ` default ${defaultOf(defaultValue, `${field}.defaultValue`)}`;
  return `${quoteName(name)} ${found.sql}${defaultClause}${notNull ? ' not null' : ''}`;
}
